/** Which notifications a user gets: only those that need the user, and each once. */
import type { OfflineReason } from '../../engine/control/verdict.ts';
import { agentWords } from '../../shared/agent.ts';
import type { KnockView } from '../../shared/lock.ts';
import type { TunnelView } from '../../shared/snapshot.ts';
import { EXPIRY_NOTICE_MS, LOST_NOTICE_MS } from '../limits.ts';

export interface Notice {
  readonly kind:
    'expires-soon' | 'expired' | 'lost' | 'back' | 'knock' | 'key-refused' | 'tray-hint' | 'new-version';
  /** id of the tunnel; `undefined` if it is about no particular one */
  readonly key: string | undefined;
  readonly title: string;
  readonly text: string;
  /** id of the visitor whom it is about */
  readonly knock?: string;
}

type Watched = Pick<TunnelView, 'key' | 'slug' | 'localPort' | 'status' | 'expiresAt' | 'ttl' | 'isIdle'>;

interface Memory {
  /** the expiry that has been announced */
  warned: number | undefined;
  lostSince: number | undefined;
  hasSaidLost: boolean;
  wasEnded: boolean;
}

const EXPIRED: OfflineReason = 'expired';

/** Remembers what has been announced. */
export class Notices {
  readonly #memories = new Map<string, Memory>();
  #lookedAt = 0;

  /**
   * @param now wall-clock ms
   * @returns the notices that have not been given yet
   */
  look(tunnels: readonly Watched[], now: number): Notice[] {
    const notices: Notice[] = [];
    // Only a machine that slept leaves so long a gap between two looks, and during sleep no connection counts as lost.
    if (now - this.#lookedAt > LOST_NOTICE_MS) this.#forgetLosses(now);
    this.#lookedAt = now;
    for (const tunnel of tunnels) {
      const memory = this.#memory(tunnel);
      const notice = expiry(tunnel, memory, now) ?? connection(tunnel, memory, now);
      if (notice !== undefined) notices.push(notice);
      memory.wasEnded = tunnel.status.name === 'ended';
    }
    const keys = new Set(tunnels.map(({ key }) => key));
    for (const key of this.#memories.keys()) if (!keys.has(key)) this.#memories.delete(key);
    return notices;
  }

  #forgetLosses(now: number): void {
    for (const memory of this.#memories.values()) if (memory.lostSince !== undefined) memory.lostSince = now;
  }

  #memory({ key, status }: Watched): Memory {
    const known = this.#memories.get(key);
    if (known !== undefined) return known;
    // What has ended before it was first looked at is not news.
    const wasEnded = status.name === 'ended';
    const memory: Memory = { warned: undefined, lostSince: undefined, hasSaidLost: false, wasEnded };
    this.#memories.set(key, memory);
    return memory;
  }
}

/** Somebody waits to be let into a tunnel. */
export function knockNotice(key: string, slug: string, { id, address, agent }: KnockView): Notice {
  return {
    kind: 'knock',
    key,
    knock: id,
    title: `Somebody wants to see ${slug}`,
    text: `${agentWords(agent)}, from ${address}.`,
  };
}

export const KEY_REFUSED_NOTICE: Notice = {
  kind: 'key-refused',
  key: undefined,
  title: 'Your key was refused',
  text: 'Your tunnels are offline. Sign in with another key.',
};

/** For an app that does not install newer versions itself. */
export function newVersionNotice(version: string): Notice {
  return {
    kind: 'new-version',
    key: undefined,
    title: `Culvert ${version} is out`,
    text: 'This copy does not update itself, because it is not signed. Click to see where to get the new one.',
  };
}

/** Shown once in the life of an installation. */
export const TRAY_HINT: Notice = {
  kind: 'tray-hint',
  key: undefined,
  title: 'Culvert is still here',
  text: 'Your tunnels stay online. Open Culvert from the tray, or start it again; Quit in its menu ends it.',
};

function expiry(tunnel: Watched, memory: Memory, now: number): Notice | undefined {
  const { key, slug, localPort, status, expiresAt } = tunnel;
  if (status.name === 'ended') {
    if (memory.wasEnded || status.reason !== EXPIRED) return undefined;
    return {
      kind: 'expired',
      key,
      title: `${slug} has expired`,
      text: `Port ${localPort} is no longer shared. Start it again from Culvert.`,
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
    title: `${slug} expires in ${minutes} min`,
    text: `After that nobody can reach port ${localPort}.`,
  };
}

function connection({ key, slug, status }: Watched, memory: Memory, now: number): Notice | undefined {
  if (status.name === 'ended') {
    memory.lostSince = undefined;
    memory.hasSaidLost = false;
    return undefined;
  }
  if (status.name === 'online') {
    const wasSaid = memory.hasSaidLost;
    memory.lostSince = undefined;
    memory.hasSaidLost = false;
    return wasSaid
      ? { kind: 'back', key, title: `${slug} is back`, text: 'Visitors can reach it again.' }
      : undefined;
  }
  if (status.name === 'connecting') return undefined;
  memory.lostSince ??= now;
  if (memory.hasSaidLost || now - memory.lostSince < LOST_NOTICE_MS) return undefined;
  memory.hasSaidLost = true;
  return { kind: 'lost', key, title: `${slug} is offline`, text: `${status.why} Culvert keeps trying.` };
}
