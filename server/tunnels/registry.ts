/** The live tunnels, authoritative for routing. */
import { looksLikeId } from '../../shared/value-rules.ts';
import { wildcardSlugsOf } from '../../shared/wildcard-hosts.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export class TunnelRegistry {
  readonly #bySlug = new Map<string, LiveTunnel>();
  readonly #byDomain = new Map<string, LiveTunnel>();
  readonly #byId = new Map<string, LiveTunnel>();
  /** TCP tunnels */
  readonly #byPort = new Map<number, LiveTunnel>();
  readonly #byAccount = new Map<string, Set<LiveTunnel>>();
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

  /** The TCP tunnel with a port of the relay. */
  byPort(port: number): LiveTunnel | undefined {
    return this.#byPort.get(port);
  }

  /** All tunnels, oldest first. */
  all(): IterableIterator<LiveTunnel> {
    return this.#byId.values();
  }

  /** @returns an account's tunnels, oldest first */
  forAccount(accountId: string): LiveTunnel[] {
    return [...(this.#byAccount.get(accountId) ?? [])];
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

  add(tunnel: LiveTunnel): void {
    this.#bySlug.set(tunnel.slug, tunnel);
    if (tunnel.domain !== null) this.#byDomain.set(tunnel.domain, tunnel);
    if (tunnel.remotePort !== null) this.#byPort.set(tunnel.remotePort, tunnel);
    this.#byId.set(tunnel.id, tunnel);
    const siblings = this.#byAccount.get(tunnel.account.id);
    if (siblings === undefined) this.#byAccount.set(tunnel.account.id, new Set([tunnel]));
    else siblings.add(tunnel);
  }

  /** @returns false if the tunnel was already gone */
  remove(tunnel: LiveTunnel): boolean {
    if (!this.#byId.delete(tunnel.id)) return false;
    // Another tunnel may have them by now.
    if (this.#bySlug.get(tunnel.slug) === tunnel) this.#bySlug.delete(tunnel.slug);
    if (tunnel.domain !== null && this.#byDomain.get(tunnel.domain) === tunnel)
      this.#byDomain.delete(tunnel.domain);
    const { remotePort } = tunnel;
    if (remotePort !== null && this.#byPort.get(remotePort) === tunnel) this.#byPort.delete(remotePort);
    const siblings = this.#byAccount.get(tunnel.account.id);
    siblings?.delete(tunnel);
    if (siblings?.size === 0) this.#byAccount.delete(tunnel.account.id);
    return true;
  }
}
