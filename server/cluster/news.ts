/** What relays tell each other through Redis, as texts: words with single spaces between them. */
import { UUID_PATTERN } from '../../shared/control.ts';
import type { DomainNews, EndReason, TunnelNews } from '../tunnels/peers.ts';
import { RELAY_NUMBER_MAX } from './connection-id.ts';

/** The channel that all relays listen to. */
export const ALL_CHANNEL = 'culvert:all';

/** The channel of one relay. */
export function channelOf(incarnation: string): string {
  return `culvert:to:${incarnation}`;
}

export type News =
  /** to one relay: announce the connection that waits elsewhere */
  | { readonly kind: 'announce'; readonly tunnelId: string; readonly connectionId: string }
  /** to one relay: another one has a control socket with this fencing number */
  | { readonly kind: 'replaced'; readonly tunnelId: string; readonly fence: number }
  /** to all: a client has come to one of them, with this fencing number */
  | { readonly kind: 'online'; readonly tunnelId: string; readonly fence: number }
  /** to all: a client has left one of them, with the code that its control socket was closed with */
  | { readonly kind: 'offline'; readonly tunnelId: string; readonly code: number }
  /** to all: a relay has come */
  | {
      readonly kind: 'relay';
      readonly number: number;
      readonly incarnation: string;
      /** where it is, with its proof: member-record.ts */
      readonly record: string;
    }
  /** to all: a relay is shutting down, and data sockets should not pass through it longer than they must */
  | { readonly kind: 'leaving'; readonly incarnation: string }
  /** to all: one of them could not tell what happened to tunnels */
  | { readonly kind: 'missed' }
  | TunnelNews
  | DomainNews;

/** Makes every relay check for itself. */
export const MISSED = 'missed';

/** Says that a relay is shutting down. */
export function writeLeaving(incarnation: string): string {
  return `leaving ${incarnation}`;
}

export function writeNews(news: TunnelNews | DomainNews): string {
  switch (news.kind) {
    case 'created':
      return `created ${news.slug} ${news.domain}`;
    case 'domain':
      return `domain ${news.domain}`;
    case 'access':
      return `access ${news.id}`;
    case 'extended':
      return `extended ${news.id} ${news.expiresAt}`;
    case 'ended':
      return `ended ${news.id} ${news.reason}`;
  }
}

/** Characters of the longest news: a tunnel's name, a domain and a word before them. */
const NEWS_MAX_LENGTH = 1024;
const LABEL = /^[a-z0-9-]{1,63}$/;
const NAME = /^[a-z0-9*._-]{1,253}$/i;
const INCARNATION = /^[\w-]{1,64}$/;
/** What member-record.ts writes; whether it is true is found out there. */
const RECORD = /^[\w.:[\]%-]{1,300}~[0-9a-f]{64}$/;

/**
 * Reads news: Redis may be shared with programs that are no relays.
 *
 * @returns `undefined` for news that this version does not know, because a newer one may run beside it, and for what no
 *   relay writes
 */
export function readNews(text: string): News | undefined {
  if (text.length > NEWS_MAX_LENGTH) return undefined;
  const [kind = '', first = '', second = '', third = ''] = text.split(' ');
  const number = readNumber(second);
  switch (kind) {
    case 'announce':
      return isId(first) && isId(second) ? { kind, tunnelId: first, connectionId: second } : undefined;
    case 'replaced':
    case 'online':
      return isId(first) && number !== undefined ? { kind, tunnelId: first, fence: number } : undefined;
    case 'offline':
      return isId(first) && number !== undefined ? { kind, tunnelId: first, code: number } : undefined;
    case 'relay':
      return readRelay(readNumber(first), second, third);
    case 'leaving':
      return INCARNATION.test(first) ? { kind, incarnation: first } : undefined;
    case MISSED:
      return { kind };
    case 'created':
      return LABEL.test(first) && (second === '' || NAME.test(second))
        ? { kind, slug: first, domain: second }
        : undefined;
    case 'domain':
      return NAME.test(first) ? { kind, domain: first } : undefined;
    case 'access':
      return isId(first) ? { kind, id: first } : undefined;
    case 'extended':
      return isId(first) && number !== undefined ? { kind, id: first, expiresAt: number } : undefined;
    case 'ended':
      return isId(first) && isEndReason(second) ? { kind, id: first, reason: second } : undefined;
    default:
      return undefined;
  }
}

function readRelay(number: number | undefined, incarnation: string, record: string): News | undefined {
  if (number === undefined || number < 1 || number > RELAY_NUMBER_MAX) return undefined;
  if (!INCARNATION.test(incarnation) || !RECORD.test(record)) return undefined;
  return { kind: 'relay', number, incarnation, record };
}

/** @returns a whole number; `undefined` for anything else: NaN would break every comparison */
export function readNumber(text: unknown): number | undefined {
  return typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function isId(text: string): boolean {
  return UUID_PATTERN.test(text);
}

function isEndReason(text: string): text is EndReason {
  return text === 'closed' || text === 'expired' || text === 'removed' || text === 'displaced';
}
