/** Who may come in, as it is chosen, typed and shown. */
import { ALLOW_MAX } from '../../../shared/access.ts';
import { NETWORK_RULE, PASSWORD_RULE } from '../../../shared/access-rules.ts';
import type { Lock, LockKind, LockPart, LockView } from '../../shared/lock.ts';

export interface LockChoice {
  readonly kind: LockKind;
  readonly label: string;
  /** who that is, in a sentence */
  readonly hint: string;
}

export const LOCK_CHOICES: readonly LockChoice[] = [
  { kind: 'anyone', label: 'Anyone', hint: 'Whoever has the address.' },
  { kind: 'password', label: 'Password', hint: 'Visitors type it into a page. Scripts cannot.' },
  {
    kind: 'links',
    label: 'Only with a link',
    hint: 'Whoever has one of the links that you make. You can revoke each of them.',
  },
  {
    kind: 'addresses',
    label: 'These addresses',
    hint: 'Only from these places; all others are turned away.',
  },
  {
    kind: 'knock',
    label: 'Ask me',
    hint: 'Visitors wait until you let them in. While Culvert is closed, nobody new comes in.',
  },
];

/** A lock as it is chosen and typed. What was typed for one kind is kept while others are looked at. */
export interface LockDraft {
  readonly kind: LockKind;
  readonly password: string;
  /** separated by spaces, commas or lines */
  readonly addresses: string;
}

export const OPEN_DRAFT: LockDraft = { kind: 'anyone', password: '', addresses: '' };

/** The draft that leaves a lock as it is; one that cannot be chosen here begins as `anyone`. */
export function lockDraft(lock: LockView): LockDraft {
  switch (lock.kind) {
    case 'password':
      return { ...OPEN_DRAFT, kind: 'password', password: lock.password ?? '' };
    case 'addresses':
      return { ...OPEN_DRAFT, kind: 'addresses', addresses: lock.allow.join(', ') };
    case 'other':
      return OPEN_DRAFT;
    case 'anyone':
    case 'links':
    case 'knock':
      return { ...OPEN_DRAFT, kind: lock.kind };
  }
}

/** @returns what to ask main for, or what to change in the field of the chosen kind */
export function readLock(draft: LockDraft): { lock: Lock } | { problem: string } {
  switch (draft.kind) {
    case 'password':
      return PASSWORD_RULE.accepts(draft.password)
        ? { lock: { kind: 'password', password: draft.password } }
        : { problem: `Give a password of ${PASSWORD_RULE.accepted}.` };
    case 'addresses':
      return readAddresses(draft.addresses);
    case 'anyone':
    case 'links':
    case 'knock':
      return { lock: { kind: draft.kind } };
  }
}

/** Whether a draft would leave the lock as it is. */
export function isSameLock(draft: LockDraft, lock: LockView): boolean {
  const read = readLock(draft);
  if ('problem' in read || read.lock.kind !== lock.kind) return false;
  if (read.lock.kind === 'password') return read.lock.password === passwordOf(lock);
  if (read.lock.kind !== 'addresses' || lock.kind !== 'addresses') return true;
  return read.lock.allow.join(' ') === lock.allow.join(' ');
}

function passwordOf(lock: LockView): string | undefined {
  return lock.kind === 'password' ? lock.password : undefined;
}

function readAddresses(text: string): { lock: Lock } | { problem: string } {
  const given = text.split(/[\s,;]+/).filter((part) => part !== '');
  const allow = [...new Set(given)];
  if (allow.length === 0)
    return { problem: 'Give an address such as 203.0.113.7, or a network such as 10.0.0.0/8.' };
  const wrong = allow.find((address) => !NETWORK_RULE.accepts(address));
  if (wrong !== undefined) return { problem: addressProblem(wrong) };
  if (allow.length > ALLOW_MAX) return { problem: `Give at most ${ALLOW_MAX} addresses and networks.` };
  return { lock: { kind: 'addresses', allow } };
}

function addressProblem(text: string): string {
  const [address = '', bits] = text.split('/');
  if (bits !== undefined && NETWORK_RULE.accepts(address))
    return `“${text}”: after the slash comes a number up to ${address.includes(':') ? 128 : 32}.`;
  if (/[g-z]/i.test(address)) return `“${text}” is a name. Give its IP address instead.`;
  return `“${text}” is not an IP address or network. Give such as 203.0.113.7 or 10.0.0.0/8.`;
}

const PART_WORDS: Readonly<Record<LockPart, string>> = {
  addresses: 'Addresses',
  users: 'Users',
  password: 'Password',
  links: 'Links',
  knock: 'Ask me',
};

/** The lock in a few words, as a card and its button say it. */
export function lockWords(lock: LockView): string {
  if (lock.kind === 'other') return lock.parts.map((part) => PART_WORDS[part]).join(' · ');
  return LOCK_CHOICES.find(({ kind }) => kind === lock.kind)?.label ?? '';
}

/** The same on a card of its own line, with what it is: both may be read as one sentence. */
export function lockLine(lock: Exclude<LockView, { kind: 'anyone' }>): { label: string; value: string } {
  switch (lock.kind) {
    case 'password':
      return lock.password === undefined
        ? { label: 'Password, not set in this app', value: '' }
        : { label: 'Password', value: lock.password };
    case 'links':
      return { label: 'Only with a link', value: '' };
    case 'addresses': {
      const [first = '', ...others] = lock.allow;
      const [second] = others;
      if (second === undefined) return { label: 'Only from', value: first };
      const rest = others.length === 1 ? second : `${others.length} more`;
      return { label: 'Only from', value: `${first} and ${rest}` };
    }
    case 'knock':
      return { label: 'You are asked who may come in', value: '' };
    case 'other':
      return { label: `${lockWords(lock)}, not set in this app`, value: '' };
  }
}

/** What whoever scans the code of the address is asked for; `undefined` if nothing is. */
export function scanWords(lock: LockView): string | undefined {
  switch (lock.kind) {
    case 'anyone':
      return undefined;
    case 'password':
      return lock.password === undefined
        ? 'Opens after the password.'
        : `Opens after the password: ${lock.password}`;
    case 'links':
      return 'This address alone lets nobody in: only your links do.';
    case 'addresses':
      return 'Opens only from the addresses that you allow.';
    case 'knock':
      return 'Whoever opens it waits until you let them in.';
    case 'other':
      return 'Not everybody may come in.';
  }
}
