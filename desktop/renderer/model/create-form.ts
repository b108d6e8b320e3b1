/** The create form as it is typed, and how it is read. */
import { t } from '../../i18n/translate.ts';
import { HOST_HEADER_RULE } from '../../../shared/value-rules.ts';
import type { CreateForm, TunnelForm } from '../../shared/ipc.ts';
import type { AccountView, PortView, TunnelView } from '../../shared/snapshot.ts';
import { type DomainDraft, NO_DOMAIN, readDomainDraft } from './domain.ts';
import { defaultChoice, readLifetime } from './lifetime.ts';
import { type LockDraft, OPEN_DRAFT, readLock } from './lock.ts';
import { nameProblem } from './name-rules.ts';
import { freePorts, readPort } from './ports.ts';
import { isLive } from './tunnel-state.ts';

/** Value of the choice for a lifetime that is typed. */
export const CUSTOM = 'custom';

export interface FormDraft {
  /** `undefined` until the user edits it: until then it shows the likeliest port */
  readonly port: string | undefined;
  readonly name: string;
  /** duration string, {@link CUSTOM}, or `undefined` for the relay's default */
  readonly ttl: string | undefined;
  readonly customTtl: string;
  readonly idle: boolean;
  readonly host: 'keep' | 'local' | typeof CUSTOM;
  readonly customHost: string;
  readonly lock: LockDraft;
  readonly domain: DomainDraft;
}

/** `lockDetail` is the field that the chosen lock has. */
export type FormField = keyof CreateForm | 'lockDetail';
export type FormProblems = Partial<Record<FormField, string>>;

/** What the form is checked against. */
export interface FormContext {
  readonly account: AccountView;
  readonly ports: readonly PortView[];
  readonly tunnels: readonly TunnelView[];
}

export const EMPTY_DRAFT: FormDraft = {
  port: undefined,
  name: '',
  ttl: undefined,
  customTtl: '',
  idle: false,
  host: 'keep',
  customHost: '',
  lock: OPEN_DRAFT,
  domain: NO_DOMAIN,
};

/** What the port field shows: the typed text, or the likeliest port until something is typed. */
export function draftPort(draft: FormDraft, { ports, tunnels }: FormContext): string {
  return draft.port ?? String(freePorts(ports, tunnels)[0]?.port ?? '');
}

/** The problem of the name, shown while it is typed. */
export function draftNameProblem(draft: FormDraft, { tunnels }: FormContext): string | undefined {
  return nameProblem(draft.name, new Set(tunnels.filter(isLive).map(({ slug }) => slug)));
}

/** @returns what to ask main for, or the problem of each field that has one */
export function readDraft(
  draft: FormDraft,
  context: FormContext,
): { form: CreateForm } | { problems: FormProblems } {
  const { account } = context;
  const port = readPort(draftPort(draft, context));
  const name = account.allowsNames ? draft.name : '';
  const nameIssue = draftNameProblem({ ...draft, name }, context);
  const ttl = draftTtl(draft, account);
  const lock = readLock(draft.lock);
  const domain = readDomainDraft(draft.domain);
  const hostHeader = draft.host === CUSTOM ? draft.customHost.trim() : draft.host;
  const problems: FormProblems = {
    ...(typeof port === 'string' ? { port } : {}),
    ...(nameIssue === undefined ? {} : { name: nameIssue }),
    ...('problem' in lock ? { lockDetail: lock.problem } : {}),
    ...('problem' in domain ? { domain: domain.problem } : {}),
    ...('problem' in ttl ? { ttl: ttl.problem } : {}),
    ...(HOST_HEADER_RULE.accepts(hostHeader) ? {} : { hostHeader: t('options.giveHost') }),
  };
  if (typeof port === 'string' || 'problem' in ttl || 'problem' in lock) return { problems };
  if ('problem' in domain || Object.keys(problems).length > 0) return { problems };
  const own = domain.domain === '' ? {} : { domain: domain.domain };
  return { form: { port, name, ttl: ttl.ttl, idle: draft.idle, hostHeader, lock: lock.lock, ...own } };
}

/** A draft from what a link or the tray asked for. */
export function draftFrom(form: Partial<TunnelForm>): FormDraft {
  const { port, name, ttl, idle, hostHeader } = form;
  return {
    ...EMPTY_DRAFT,
    ...(port === undefined ? {} : { port: String(port) }),
    ...(name === undefined ? {} : { name }),
    ...(ttl === undefined || ttl === '' ? {} : { ttl: CUSTOM, customTtl: ttl }),
    ...(idle === undefined ? {} : { idle }),
    ...(hostHeader === undefined ? {} : hostDraft(hostHeader)),
  };
}

/** Whether a draft sets anything that is among the options. */
export function hasOptions(draft: FormDraft): boolean {
  return (
    draft.name !== '' ||
    draft.ttl !== undefined ||
    draft.idle ||
    draft.host !== 'keep' ||
    draft.lock.kind !== 'anyone' ||
    draft.domain.choice !== ''
  );
}

function draftTtl(draft: FormDraft, account: AccountView): { ttl: string } | { problem: string } {
  if (draft.ttl === CUSTOM) return readLifetime(draft.customTtl, account.maxTtl);
  return { ttl: draft.ttl ?? defaultChoice(account.defaultTtl) };
}

function hostDraft(hostHeader: string): Pick<FormDraft, 'host' | 'customHost'> {
  return hostHeader === 'keep' || hostHeader === 'local'
    ? { host: hostHeader, customHost: '' }
    : { host: CUSTOM, customHost: hostHeader };
}
