/** Which notifications a user gets: only those that need the user, and each once. */
import type { OfflineReason } from '../../client/control/verdict.ts';
import { agentWords, hostsOf, type TunnelView } from '../ipc/snapshot.ts';
import type { ApprovalRequestView } from '../ipc/tunnel-views.ts';
import { t } from '../messages/translate.ts';

/** Remaining lifetime at which the app shows the notification "expires in 5 minutes". */
const EXPIRY_NOTICE_MS = 5 * 60_000;
/** How long a tunnel must be offline before a notification appears. */
const LOST_NOTICE_MS = 30_000;
/** How long a tunnel stays open if a notification or the tray extends it; the window offers other times. */
export const EXTEND_TTL = '1h';
/** The same for a visitor's access. */
export const APPROVED_TTL = '1h';

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

/** The relay's count arrives after the request. */
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

/** Texts of a notice about several tunnels. */
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

/** Merges several of a kind into one notice: no action applies to each of them. */
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

/* Notifications outside the window. */

export interface Notice {
  readonly kind:
    | 'first-visitor'
    | 'expires-soon'
    | 'expired'
    | 'lost'
    | 'back'
    | 'knock'
    | 'key-refused'
    | 'tray-hint'
    | 'new-version';
  /** id of the tunnel; `undefined` if it is about no particular one */
  readonly key: string | undefined;
  readonly title: string;
  readonly text: string;
  /** id of the visitor whom it is about */
  readonly knock?: string;
}

/** A visitor asks for approval. */
export function knockNotice(key: string, slug: string, request: ApprovalRequestView): Notice {
  const { id, address, agent, client } = request;
  return {
    kind: 'knock',
    key,
    knock: id,
    title: t(client === undefined ? 'notice.knock' : 'notice.agentKnock', { slug }),
    text:
      client === undefined
        ? t('notice.knockFrom', { agent: agentWords(agent), address })
        : t('notice.agentKnockFrom', { ...hostsOf(client), address }),
  };
}

/** @param relay its host */
export function keyRefusedNotice(relay: string): Notice {
  return {
    kind: 'key-refused',
    key: undefined,
    title: t('notice.keyRefused'),
    text: t('notice.keyRefused.text', { relay }),
  };
}

/** For an app that does not install newer versions itself. */
export function newVersionNotice(version: string): Notice {
  return {
    kind: 'new-version',
    key: undefined,
    title: t('notice.updateOut', { version }),
    text: t('notice.updateOut.text'),
  };
}

/** Shown once in the life of an installation. */
export function trayHint(): Notice {
  return { kind: 'tray-hint', key: undefined, title: t('notice.trayHint'), text: t('notice.trayHint.text') };
}

type OutageWatched = Pick<TunnelView, 'key' | 'slug' | 'status'>;

/**
 * Lost connections count as one event however many tunnels they concern, because all tunnels use one relay. It begins
 * with a notice and ends with another that replaces it.
 */
export class Outage {
  /** since when a tunnel has been without a connection, by its key; wall-clock ms */
  readonly #lostSince = new Map<string, number>();
  /** keys of those that the user knows of */
  readonly #known = new Set<string>();
  /** whether a notice was shown, so that its end is shown as well */
  #wasTold = false;

  /**
   * @param now wall-clock ms
   * @param isSeen whether the user has the window in front of them, which shows the same
   * @returns the notice to show now, if any
   */
  look(tunnels: readonly OutageWatched[], now: number, isSeen: boolean): Notice[] {
    this.#follow(tunnels, now);
    const isOverdue = [...this.#lostSince].some(
      ([key, since]) => now - since >= LOST_NOTICE_MS && !this.#known.has(key),
    );
    if (isOverdue) return this.#begin(tunnels, isSeen);
    const isOver = this.#known.size > 0 && ![...this.#known].some((key) => this.#lostSince.has(key));
    return isOver ? this.#end(tunnels, isSeen) : [];
  }

  /** During sleep, no connection counts as lost. */
  slept(now: number): void {
    for (const key of this.#lostSince.keys()) this.#lostSince.set(key, now);
  }

  #follow(tunnels: readonly OutageWatched[], now: number): void {
    const statuses = new Map(tunnels.map(({ key, status }) => [key, status.name]));
    for (const key of [...this.#lostSince.keys(), ...this.#known]) {
      const status = statuses.get(key);
      if (status === 'online' || status === 'ended' || status === undefined) this.#lostSince.delete(key);
    }
    for (const { key, status } of tunnels)
      if (status.name === 'reconnecting' && !this.#lostSince.has(key)) this.#lostSince.set(key, now);
  }

  #begin(tunnels: readonly OutageWatched[], isSeen: boolean): Notice[] {
    for (const key of this.#lostSince.keys()) this.#known.add(key);
    if (isSeen) return [];
    this.#wasTold = true;
    const lost = tunnels.filter(({ key }) => this.#lostSince.has(key));
    const [first] = lost;
    if (first === undefined) return [];
    const why = lost.map(({ status }) => (status.name === 'reconnecting' ? status.why : '')).find(Boolean);
    return [
      {
        kind: 'lost',
        key: undefined,
        title: t('notice.lost', { count: lost.length, slug: first.slug }),
        text: t('failure.advised', {
          what: why ?? t('problem.noConnection'),
          advice: t('advice.keepsTrying'),
        }),
      },
    ];
  }

  #end(tunnels: readonly OutageWatched[], isSeen: boolean): Notice[] {
    const back = tunnels.filter(({ key, status }) => this.#known.has(key) && status.name === 'online');
    const isAll = back.length === this.#known.size;
    const isSaid = this.#wasTold && !isSeen;
    this.#known.clear();
    this.#wasTold = false;
    const [first] = back;
    if (!isSaid || first === undefined) return [];
    return [
      {
        kind: 'back',
        key: undefined,
        title:
          isAll && back.length > 1
            ? t('notice.allBack', { count: back.length })
            : t('notice.back', { count: back.length, slug: first.slug }),
        text: t('notice.back.text', { count: back.length }),
      },
    ];
  }
}
