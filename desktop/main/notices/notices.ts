/** Which notifications a user gets: only those that need the user, and each once. */
import { t } from '../../i18n/translate.ts';
import type { OfflineReason } from '../../engine/control/verdict.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import { EXPIRY_NOTICE_MS, LOST_NOTICE_MS } from '../limits.ts';
import type { Notice } from './notice.ts';
import { Outage } from './outage.ts';

type Watched = Pick<
  TunnelView,
  'key' | 'slug' | 'localPort' | 'folder' | 'status' | 'expiresAt' | 'ttl' | 'requests' | 'pulse'
>;

interface Memory {
  /** the expiry that has been announced */
  warned: number | undefined;
  wasEnded: boolean;
  hadVisitors: boolean;
}

const EXPIRED: OfflineReason = 'expired';

/** Remembers what has been announced. */
export class Notices {
  readonly #memories = new Map<string, Memory>();
  readonly #outage = new Outage();
  #lookedAt = 0;

  /**
   * @param now wall-clock ms
   * @param isSeen whether the user has the window in front of them: then nothing is new to them
   * @returns the notices that have not been given yet
   */
  look(tunnels: readonly Watched[], now: number, isSeen = false): Notice[] {
    // Only a machine that slept leaves so long a gap between two looks.
    if (now - this.#lookedAt > LOST_NOTICE_MS) this.#outage.slept(now);
    this.#lookedAt = now;
    const visitors = tunnels.map((tunnel) => firstVisitor(tunnel, this.#memory(tunnel)));
    const times = tunnels.map((tunnel) => expiry(tunnel, this.#memory(tunnel), now));
    for (const tunnel of tunnels) this.#memory(tunnel).wasEnded = tunnel.status.name === 'ended';
    const keys = new Set(tunnels.map(({ key }) => key));
    for (const key of this.#memories.keys()) if (!keys.has(key)) this.#memories.delete(key);
    const connection = this.#outage.look(tunnels, now, isSeen);
    if (isSeen) return [];
    return [
      ...together(present(visitors), 'first-visitor', firstVisitors),
      ...together(present(times), 'expired', expiredTogether),
      ...connection,
    ];
  }

  #memory(tunnel: Watched): Memory {
    const { key, status } = tunnel;
    const known = this.#memories.get(key);
    if (known !== undefined) return known;
    // What has ended before it was first looked at is not news.
    const memory: Memory = {
      warned: undefined,
      wasEnded: status.name === 'ended',
      hadVisitors: hasVisitors(tunnel),
    };
    this.#memories.set(key, memory);
    return memory;
  }
}

function firstVisitor(tunnel: Watched, memory: Memory): Notice | undefined {
  if (memory.hadVisitors || !hasVisitors(tunnel)) return undefined;
  memory.hadVisitors = true;
  const { key, slug } = tunnel;
  return {
    kind: 'first-visitor',
    key,
    title: t('notice.firstVisitor', { slug }),
    text: t('notice.firstVisitor.text', place(tunnel)),
  };
}

/** The relay's count comes later than the request. */
function hasVisitors({ requests, pulse }: Watched): boolean {
  return requests > 0 || pulse.some((second) => second.requests > 0);
}

function expiry(tunnel: Watched, memory: Memory, now: number): Notice | undefined {
  const { key, slug, status, expiresAt } = tunnel;
  if (status.name === 'ended') {
    if (memory.wasEnded || status.reason !== EXPIRED) return undefined;
    return {
      kind: 'expired',
      key,
      title: t('notice.expired', { slug }),
      text: t('notice.expired.text', place(tunnel)),
    };
  }
  const left = expiresAt - now;
  // A tunnel created for a few minutes needs no notification about it.
  if (left > EXPIRY_NOTICE_MS || left <= 0 || tunnel.ttl * 1000 <= EXPIRY_NOTICE_MS) return undefined;
  if (memory.warned === expiresAt) return undefined;
  memory.warned = expiresAt;
  const minutes = Math.max(1, Math.round(left / 60_000));
  return {
    kind: 'expires-soon',
    key,
    title: t('notice.expiresIn', { slug, minutes }),
    text: t('notice.expiresIn.text', place(tunnel)),
  };
}

/** What is said when the same happens to several tunnels at once. */
interface Together {
  readonly title: string;
  readonly text: string;
}

function expiredTogether(count: number): Together {
  return { title: t('notice.expiredTogether', { count }), text: t('notice.expiredTogether.text') };
}

function firstVisitors(count: number): Together {
  return { title: t('notice.firstVisitors', { count }), text: t('notice.firstVisitors.text') };
}

/** Where a tunnel leads, for messages that choose their words by that. */
function place({ folder, localPort }: Watched): { kind: 'folder' | 'port'; name: string } {
  return folder === undefined ? { kind: 'port', name: String(localPort) } : { kind: 'folder', name: folder };
}

function present(notices: readonly (Notice | undefined)[]): readonly Notice[] {
  return notices.filter((notice) => notice !== undefined);
}

/** Several of a kind at once are one notice: there is nothing to do with each of them. */
function together(
  notices: readonly Notice[],
  kind: Notice['kind'],
  words: (count: number) => Together,
): readonly Notice[] {
  const same = notices.filter((notice) => notice.kind === kind);
  if (same.length < 2) return notices;
  const others = notices.filter((notice) => notice.kind !== kind);
  return [...others, { kind, key: undefined, ...words(same.length) }];
}
