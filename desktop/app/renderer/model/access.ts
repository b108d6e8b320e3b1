/** The access policy as it is chosen, typed and shown. */
import {
  ALLOW_MAX,
  NETWORK_RULE,
  PASSWORD_MAX_LENGTH,
  PASSWORD_MIN_LENGTH,
  PASSWORD_RULE,
  SIGN_IN_MAX,
  SIGN_IN_RULE,
  TOKEN_NAME_MAX_LENGTH,
  TOKEN_NAME_RULE,
} from '../../../../shared/access.ts';
import type {
  AgentView,
  AccessKind,
  AccessPart,
  LinkView,
  TunnelAccess,
  TunnelAccessView,
} from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { isRaw } from './address.ts';
import { agoText } from './request.ts';
import { type Choice, leftWords, wholeChoice } from './time-left.ts';

const MINUTE_MS = 60_000;

/** In the order of the form. */
export const ACCESS_KINDS: readonly AccessKind[] = [
  'anyone',
  'password',
  'signIn',
  'links',
  'tokens',
  'agents',
  'addresses',
  'knock',
];

/** The choices for a tunnel. In front of a TLS or TCP tunnel, the relay knows only a visitor's address. */
export function accessKinds(tunnel: { readonly url: string }): readonly AccessKind[] {
  return isRaw(tunnel) ? ['anyone', 'addresses'] : ACCESS_KINDS;
}

/** The label of a choice, and a hint that describes who may visit. */
export function accessChoice(kind: AccessKind): { label: string; hint: string } {
  return { label: t(`lock.kind.${kind}`), hint: t(`lock.kind.${kind}.hint`) };
}

/** An access policy as it is chosen and typed. Input for one kind is kept while the user looks at others. */
export interface AccessDraft {
  readonly kind: AccessKind;
  readonly password: string;
  /** separated by spaces, commas or lines */
  readonly addresses: string;
  /** who may sign in, separated by commas or lines */
  readonly signIn: string;
  /** name of the first token; `undefined` if the tunnel has tokens */
  readonly token: string | undefined;
}

/** Name of a first token. */
const FIRST_TOKEN = 'agent';

export const OPEN_DRAFT: AccessDraft = {
  kind: 'anyone',
  password: '',
  addresses: '',
  signIn: '',
  token: FIRST_TOKEN,
};

/** The draft that keeps an access policy. A policy that cannot be chosen here starts as `anyone`. */
export function accessDraft(lock: TunnelAccessView): AccessDraft {
  switch (lock.kind) {
    case 'password':
      return { ...OPEN_DRAFT, kind: 'password', password: lock.password ?? '' };
    case 'addresses':
      return { ...OPEN_DRAFT, kind: 'addresses', addresses: lock.allow.join(', ') };
    case 'signIn':
      return { ...OPEN_DRAFT, kind: 'signIn', signIn: lock.rules.join(', ') };
    case 'tokens':
      return { ...OPEN_DRAFT, kind: 'tokens', token: undefined };
    case 'other':
      return OPEN_DRAFT;
    case 'anyone':
    case 'links':
    case 'knock':
    case 'agents':
      return { ...OPEN_DRAFT, kind: lock.kind };
  }
}

/** @returns the request for main, or what to change in the field of the chosen kind */
export function readAccessDraft(draft: AccessDraft): { lock: TunnelAccess } | { problem: string } {
  switch (draft.kind) {
    case 'password':
      return PASSWORD_RULE.accepts(draft.password)
        ? { lock: { kind: 'password', password: draft.password } }
        : { problem: t('lock.givePassword', { min: PASSWORD_MIN_LENGTH, max: PASSWORD_MAX_LENGTH }) };
    case 'addresses':
      return readAddresses(draft.addresses);
    case 'signIn':
      return readSignIn(draft.signIn);
    case 'tokens': {
      const name = (draft.token ?? FIRST_TOKEN).trim();
      return TOKEN_NAME_RULE.accepts(name) ? { lock: { kind: 'tokens', name } } : { problem: tokenProblem() };
    }
    case 'anyone':
    case 'links':
    case 'knock':
    case 'agents':
      return { lock: { kind: draft.kind } };
  }
}

/** Whether a draft would keep the access policy. */
export function isSameAccess(draft: AccessDraft, lock: TunnelAccessView): boolean {
  const read = readAccessDraft(draft);
  if ('problem' in read || read.lock.kind !== lock.kind) return false;
  if (read.lock.kind === 'password') return read.lock.password === passwordOf(lock);
  return itemsOf(read.lock).join('\n') === itemsOf(lock).join('\n');
}

/** What to change in the name of a token. */
export function tokenProblem(): string {
  return t('tokens.giveName', { max: TOKEN_NAME_MAX_LENGTH });
}

function itemsOf(lock: TunnelAccess | TunnelAccessView): readonly string[] {
  if (lock.kind === 'addresses') return lock.allow;
  return lock.kind === 'signIn' ? lock.rules : [];
}

function passwordOf(lock: TunnelAccessView): string | undefined {
  return lock.kind === 'password' ? lock.password : undefined;
}

function readAddresses(text: string): { lock: TunnelAccess } | { problem: string } {
  const given = text.split(/[\s,;]+/).filter((part) => part !== '');
  const allow = [...new Set(given)];
  if (allow.length === 0) return { problem: t('lock.giveAddress') };
  const wrong = allow.find((address) => !NETWORK_RULE.accepts(address));
  if (wrong !== undefined) return { problem: addressProblem(wrong) };
  if (allow.length > ALLOW_MAX) return { problem: t('lock.tooMany', { max: ALLOW_MAX }) };
  return { lock: { kind: 'addresses', allow } };
}

function readSignIn(text: string): { lock: TunnelAccess } | { problem: string } {
  const given = text.split(/[,;\n]/).map((part) => part.trim());
  const rules = [...new Set(given)].filter((part) => part !== '');
  if (rules.length === 0) return { problem: t('lock.giveSignIn') };
  const wrong = rules.find((rule) => !SIGN_IN_RULE.accepts(rule));
  if (wrong !== undefined) return { problem: t('lock.notSignIn', { text: wrong }) };
  if (rules.length > SIGN_IN_MAX) return { problem: t('lock.tooManySignIn', { max: SIGN_IN_MAX }) };
  return { lock: { kind: 'signIn', rules } };
}

function addressProblem(text: string): string {
  const [address = '', bits] = text.split('/');
  if (bits !== undefined && NETWORK_RULE.accepts(address))
    return t('lock.badPrefix', { text, max: address.includes(':') ? 128 : 32 });
  if (/[g-z]/i.test(address)) return t('lock.isName', { text });
  return t('lock.notAddress', { text });
}

/** The access policy in a few words, for a card and its button. */
export function accessWords(lock: TunnelAccessView): string {
  if (lock.kind === 'other') return lock.parts.map(partWords).join(' · ');
  return accessChoice(lock.kind).label;
}

function partWords(part: AccessPart): string {
  return t(`lock.part.${part}`);
}

/** Parts of a policy that have a list of their own in the panel. */
export type ListedPart = 'links' | 'knock' | 'tokens' | 'agents';

/** Whether visitors may need a link, an approval or a token. */
export function asksFor(lock: TunnelAccessView, part: ListedPart): boolean {
  return lock.kind === 'other' ? lock.parts.includes(part) : lock.kind === part;
}

/** The same for a line of a card, with its kind, so that both can be read as one sentence. */
export function accessLine(lock: Exclude<TunnelAccessView, { kind: 'anyone' }>): {
  label: string;
  value: string;
} {
  switch (lock.kind) {
    case 'password':
      return lock.password === undefined
        ? { label: t('lock.passwordElsewhere'), value: '' }
        : { label: t('lock.kindPassword'), value: lock.password };
    case 'links':
      return { label: t('lock.onlyLink'), value: '' };
    case 'addresses':
      return { label: t('lock.onlyFrom'), value: firstAndRest(lock.allow) };
    case 'signIn':
      return { label: t('lock.onlySignIn'), value: firstAndRest(lock.rules) };
    case 'agents':
      return { label: t('lock.onlyAgents'), value: '' };
    case 'knock':
      return { label: t('lock.youAreAsked'), value: '' };
    case 'tokens':
      return { label: t('lock.onlyTokens'), value: '' };
    case 'other':
      return { label: t('lock.elsewhere', { lock: accessWords(lock) }), value: lock.password ?? '' };
  }
}

function firstAndRest([first = '', ...others]: readonly string[]): string {
  const [second] = others;
  if (second === undefined) return first;
  const rest = others.length === 1 ? second : t('lock.moreAddresses', { count: others.length });
  return t('lock.firstAndRest', { first, rest });
}

/** What visitors who scan the code of the address are asked for; `undefined` for nothing. */
export function scanWords(lock: TunnelAccessView): string | undefined {
  switch (lock.kind) {
    case 'anyone':
      return undefined;
    case 'password':
      return lock.password === undefined
        ? t('lock.shareAfterPassword')
        : t('lock.shareWithPassword', { password: lock.password });
    case 'links':
      return t('lock.shareLinks');
    case 'addresses':
      return t('lock.shareAddresses');
    case 'knock':
      return t('lock.shareKnock');
    case 'tokens':
      return t('lock.shareTokens');
    case 'signIn':
      return t('lock.shareSignIn');
    case 'agents':
      return t('lock.shareAgents');
    case 'other':
      return t('lock.shareOther');
  }
}

/* Signed links, as they are created and listed. */

/** The choices for how long a link is valid. */
export function linkChoices(): readonly Choice[] {
  return ['1h', '24h', '168h'].map(wholeChoice);
}

/** The relay's default. */
export const LINK_DEFAULT_TTL = '24h';

/** The name of a link in the list. */
export function linkName({ note }: LinkView): string {
  return note === '' ? t('links.withoutNote') : note;
}

/** `23 h 59 min left`. @param now wall-clock ms */
export function linkEnd({ expiresAt }: LinkView, now: number): string {
  const left = expiresAt - now;
  return left <= 0 ? t('links.ended') : leftWords(left);
}

/** Whether the one device that the link is for has opened it. @param now wall-clock ms */
export function linkUse(usedAt: number | undefined, now: number): string {
  if (usedAt === undefined) return t('links.notOpened');
  return now - usedAt < MINUTE_MS ? t('links.openedNow') : t('links.opened', { ago: agoText(usedAt, now) });
}

/** When a token was last used, to within a minute. @param now wall-clock ms */
export function tokenUse(usedAt: number | undefined, now: number): string {
  if (usedAt === undefined) return t('tokens.neverUsed');
  return now - usedAt < MINUTE_MS ? t('tokens.usedNow') : t('tokens.used', { ago: agoText(usedAt, now) });
}

/** Where an agent returns to, and what it calls itself. */
export function agentHint(name: string, returnsTo: string): string {
  return name === '' ? t('knocks.returnsTo', { returnsTo }) : t('knocks.callsItself', { name, returnsTo });
}

/** Since when an agent has access, and when it last used it. @param now wall-clock ms */
export function agentUse({ since, usedAt }: AgentView, now: number): string {
  const isNew = now - since < MINUTE_MS;
  const approved = isNew ? t('agents.sinceNow') : t('agents.since', { ago: agoText(since, now) });
  return `${approved}, ${tokenUse(usedAt, now)}`;
}

/* How long an approval lasts. */

export const APPROVAL_CHOICES = ['hour', 'today', 'week'] as const;
export type ApprovalChoice = (typeof APPROVAL_CHOICES)[number];

/**
 * @param now wall-clock ms; today ends at midnight in the user's time zone
 * @returns a duration string
 */
export function approvalTtl(choice: ApprovalChoice, now: number): string {
  switch (choice) {
    case 'hour':
      return '1h';
    case 'today':
      return `${Math.max(1, Math.ceil((midnightAfter(now) - now) / MINUTE_MS))}m`;
    case 'week':
      return '168h';
  }
}

function midnightAfter(now: number): number {
  const day = new Date(now);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime();
}
