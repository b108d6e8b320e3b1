/** Links that admit only the first browser that opens them (protocol.md section 11.2): the store decides which it is. */
import { hash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import { TenantCache } from '../tenant-cache.ts';
import { type LiveTunnel, tunnelFields } from './live-tunnel.ts';

/** Maximum number of used links that the relay remembers; about 2 MB. The store is asked about others. */
export const USED_LINKS_MAX = 10_000;

interface OnceLinksOptions {
  readonly store: Pick<Store, 'takeLink'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** `ended`: it was revoked just now. */
export type LinkUse = 'first' | 'used' | 'ended';

export class OnceLinks {
  readonly #options: OnceLinksOptions;
  /** the first browser, by id of the link */
  readonly #used = new TenantCache<string>(USED_LINKS_MAX);
  /** what is asked of the store, by id of the link: at most once at a time for all browsers */
  readonly #asked = new Map<string, Promise<string | undefined>>();

  constructor(options: OnceLinksOptions) {
    this.#options = options;
  }

  /** Whether it is known that a browser has opened the link; others are decided by {@link use}. */
  isKnownUsed(id: string): boolean {
    return this.#used.get(id) !== undefined;
  }

  /**
   * A browser opens a link. It may do so again: its connection may break before it has the response.
   *
   * @param id of a link of the tunnel
   * @param browser a random value that only this browser has
   * @throws StoreError
   */
  async use(tunnel: LiveTunnel, id: string, browser: string): Promise<LinkUse> {
    const digest = hash('sha256', browser, 'base64url');
    const first = this.#used.get(id) ?? (await (this.#asked.get(id) ?? this.#ask(tunnel, id, digest)));
    if (first === undefined) return 'ended';
    return first === digest ? 'first' : 'used';
  }

  #ask(tunnel: LiveTunnel, id: string, digest: string): Promise<string | undefined> {
    const asked = this.#take(tunnel, id, digest).finally(() => this.#asked.delete(id));
    this.#asked.set(id, asked);
    return asked;
  }

  async #take(tunnel: LiveTunnel, id: string, digest: string): Promise<string | undefined> {
    const { store, clock, log } = this.#options;
    const first = await store.takeLink({ linkScope: tunnel.linkScope, id }, digest, clock.now());
    if (first === undefined) return undefined;
    if (first === digest) log('link used', { ...tunnelFields(tunnel), link: id });
    this.#used.set(tunnel.account.id, id, first);
    return first;
  }
}
