/** The live tunnels, authoritative for routing. */
import type { LiveTunnel } from './live-tunnel.ts';

export class TunnelRegistry {
  readonly #bySlug = new Map<string, LiveTunnel>();
  readonly #byId = new Map<string, LiveTunnel>();
  readonly #byAccount = new Map<string, Set<LiveTunnel>>();
  /** slugs of tunnels that are being made */
  readonly #reserved = new Set<string>();
  readonly #reservedNames: ReadonlySet<string>;

  /** @param reservedNames slugs that no tunnel gets */
  constructor(reservedNames: ReadonlySet<string>) {
    this.#reservedNames = reservedNames;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** @param slug in lower case */
  bySlug(slug: string): LiveTunnel | undefined {
    return this.#bySlug.get(slug);
  }

  byId(id: string): LiveTunnel | undefined {
    return this.#byId.get(id);
  }

  /** All tunnels, oldest first. */
  all(): IterableIterator<LiveTunnel> {
    return this.#byId.values();
  }

  /** @returns an account's tunnels, oldest first */
  forAccount(accountId: string): LiveTunnel[] {
    return [...(this.#byAccount.get(accountId) ?? [])];
  }

  /**
   * Keeps a slug for a tunnel that is about to be made, until {@link add} or {@link release}.
   *
   * @returns false when it is in use or no tunnel may have it
   */
  reserve(slug: string): boolean {
    if (this.#reservedNames.has(slug) || this.#bySlug.has(slug) || this.#reserved.has(slug)) return false;
    this.#reserved.add(slug);
    return true;
  }

  /** Gives a slug back whose tunnel was not made. */
  release(slug: string): void {
    this.#reserved.delete(slug);
  }

  add(tunnel: LiveTunnel): void {
    this.#reserved.delete(tunnel.slug);
    this.#bySlug.set(tunnel.slug, tunnel);
    this.#byId.set(tunnel.id, tunnel);
    const siblings = this.#byAccount.get(tunnel.account.id);
    if (siblings === undefined) this.#byAccount.set(tunnel.account.id, new Set([tunnel]));
    else siblings.add(tunnel);
  }

  /** @returns false when the tunnel was gone already */
  remove(tunnel: LiveTunnel): boolean {
    if (!this.#byId.delete(tunnel.id)) return false;
    this.#bySlug.delete(tunnel.slug);
    const siblings = this.#byAccount.get(tunnel.account.id);
    siblings?.delete(tunnel);
    if (siblings?.size === 0) this.#byAccount.delete(tunnel.account.id);
    return true;
  }
}
