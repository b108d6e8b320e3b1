/** What relays tell each other through Redis, as texts: words with single spaces between them. */
import type { DomainNews, EndReason, TunnelNews } from '../tunnels/peers.ts';

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

/** @returns `undefined` for news that this version does not know: a newer one may run beside it */
export function readNews(text: string): News | undefined {
  const [kind = '', first = '', second = '', third = ''] = text.split(' ');
  switch (kind) {
    case 'announce':
      return { kind, tunnelId: first, connectionId: second };
    case 'replaced':
    case 'online':
      return { kind, tunnelId: first, fence: Number(second) };
    case 'offline':
      return { kind, tunnelId: first, code: Number(second) };
    case 'relay':
      return { kind, number: Number(first), incarnation: second, record: third };
    case 'leaving':
      return { kind, incarnation: first };
    case MISSED:
      return { kind };
    case 'created':
      return { kind, slug: first, domain: second };
    case 'domain':
      return { kind, domain: first };
    case 'access':
      return { kind, id: first };
    case 'extended':
      return { kind, id: first, expiresAt: Number(second) };
    case 'ended':
      return isEndReason(second) ? { kind, id: first, reason: second } : undefined;
    default:
      return undefined;
  }
}

function isEndReason(text: string): text is EndReason {
  return text === 'closed' || text === 'expired' || text === 'removed' || text === 'displaced';
}
