/** Which hosts this relay serves, and so may order a certificate for. */
import type { OwnNames, VerifiedDomains } from '../domains/verified-domains.ts';
import { type HostTarget, resolveHost } from '../edge/route.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { TunnelRegistry } from '../tunnels/registry.ts';

export interface NamesDeps {
  readonly own: OwnNames;
  readonly registry: Pick<TunnelRegistry, 'bySlug'>;
  readonly coordination: Pick<Coordination, 'find'>;
  readonly verified: Pick<VerifiedDomains, 'ownerOf'>;
}

export class Names {
  readonly #deps: NamesDeps;

  constructor(deps: NamesDeps) {
    this.#deps = deps;
  }

  /**
   * Whether a certificate of this name may be presented and stored: it is the relay's, below one of its domains
   * (whether or not there is a tunnel), or a verified domain's.
   *
   * @param name a host, or `*.` and a domain, in any case
   */
  isServed(name: string): boolean {
    const target = this.#resolve(name);
    return target.kind !== 'other' || this.#deps.verified.ownerOf(target.name) !== undefined;
  }

  /** Whether {@link holderOf} finds an owner. @throws StoreError */
  async mayHave(host: string): Promise<boolean> {
    return (await this.holderOf(host)) !== undefined;
  }

  /**
   * The owner of a host that is the relay's own, that of a live tunnel, or a verified domain.
   *
   * @param host a name, in any case, from a handshake or a query
   * @returns `relay`, or the id of an account; `undefined` for all others
   * @throws StoreError if another relay may have the tunnel, and the store fails
   */
  async holderOf(host: string): Promise<string | undefined> {
    const { own, registry, coordination, verified } = this.#deps;
    const target = this.#resolve(host);
    if (target.kind === 'own') return host.toLowerCase() === own.host ? 'relay' : undefined;
    if (target.kind === 'other') return verified.ownerOf(target.name);
    if (target.kind === 'unknown') return undefined;
    const tunnel = registry.bySlug(target.slug) ?? (await coordination.find?.(target.slug));
    if (tunnel === undefined) return undefined;
    const { id, subdomain } = tunnel.account;
    return (target.account ?? subdomain) === subdomain ? id : undefined;
  }

  #resolve(host: string): HostTarget {
    const { host: own, tunnelDomain: tunnel, serviceDomain: service } = this.#deps.own;
    return resolveHost(host, { own, tunnel, service });
  }
}
