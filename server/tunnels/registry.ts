/** The live tunnels, authoritative for routing. */
import { looksLikeId } from '../../shared/value-rules.ts';
import { wildcardSlugsOf } from '../../shared/wildcard-hosts.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export class TunnelRegistry {
  readonly #bySlug = new Map<string, LiveTunnel>();
  readonly #byDomain = new Map<string, LiveTunnel>();
  readonly #byId = new Map<string, LiveTunnel>();
  readonly #byAccount = new Map<string, Set<LiveTunnel>>();
  /** slugs of tunnels that are being created, with the ids of their accounts */
  readonly #reserved = new Map<string, string>();
  readonly #reservedNames: ReadonlySet<string>;

  /** @param reservedNames slugs that no tunnel may have */
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

  /**
   * @param label in lower case
   * @returns the tunnel at a label below the tunnel domain: its own slug, otherwise a host of a wildcard tunnel
   */
  byLabel(label: string): LiveTunnel | undefined {
    const exact = this.#bySlug.get(label);
    if (exact !== undefined) return exact;
    for (const slug of wildcardSlugsOf(label)) {
      const tunnel = this.#bySlug.get(slug);
      if (tunnel?.terms.wildcard === true) return tunnel;
    }
    return undefined;
  }

  /** @param domain in lower case */
  byDomain(domain: string): LiveTunnel | undefined {
    return this.#byDomain.get(domain);
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

  /** How many tunnels an account has, including those that are being created. */
  countFor(accountId: string): number {
    let count = this.#byAccount.get(accountId)?.size ?? 0;
    for (const owner of this.#reserved.values()) if (owner === accountId) count += 1;
    return count;
  }

  /** Ids of the accounts with a tunnel. */
  accountIds(): string[] {
    return [...this.#byAccount.keys()];
  }

  /**
   * Whether no tunnel may have the slug: besides reserved names, a slug that looks like an id, which could be mistaken
   * for another tunnel's.
   */
  isReserved(slug: string): boolean {
    return this.#reservedNames.has(slug) || looksLikeId(slug);
  }

  /** Whether a name that no tunnel may have is a host of the wildcard tunnel with that slug. */
  coversReserved(slug: string): boolean {
    return [...this.#reservedNames].some((name) => wildcardSlugsOf(name).includes(slug));
  }

  /**
   * Reserves a slug for a tunnel that an account is about to create, until {@link add} or {@link release}.
   *
   * @returns false if it is in use or no tunnel may have it
   */
  reserve(slug: string, accountId: string): boolean {
    if (this.isReserved(slug) || this.#bySlug.has(slug) || this.#reserved.has(slug)) return false;
    this.#reserved.set(slug, accountId);
    return true;
  }

  /** Releases a slug whose tunnel was not created. */
  release(slug: string): void {
    this.#reserved.delete(slug);
  }

  add(tunnel: LiveTunnel): void {
    this.#reserved.delete(tunnel.slug);
    this.#bySlug.set(tunnel.slug, tunnel);
    if (tunnel.domain !== null) this.#byDomain.set(tunnel.domain, tunnel);
    this.#byId.set(tunnel.id, tunnel);
    const siblings = this.#byAccount.get(tunnel.account.id);
    if (siblings === undefined) this.#byAccount.set(tunnel.account.id, new Set([tunnel]));
    else siblings.add(tunnel);
  }

  /** @returns false if the tunnel was already gone */
  remove(tunnel: LiveTunnel): boolean {
    if (!this.#byId.delete(tunnel.id)) return false;
    this.#bySlug.delete(tunnel.slug);
    // Another account's tunnel may have the domain by now.
    if (tunnel.domain !== null && this.#byDomain.get(tunnel.domain) === tunnel)
      this.#byDomain.delete(tunnel.domain);
    const siblings = this.#byAccount.get(tunnel.account.id);
    siblings?.delete(tunnel);
    if (siblings?.size === 0) this.#byAccount.delete(tunnel.account.id);
    return true;
  }
}
