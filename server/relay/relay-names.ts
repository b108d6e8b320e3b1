/** Which hosts are served here: what a certificate may be ordered for. */
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
   * Whether a certificate of this name may be presented and kept: it is the relay's, below one of its domains (whether there
   * is a tunnel or not), or a verified domain's.
   *
   * @param name a host, or `*.` and a domain, in any case
   */
  isServed(name: string): boolean {
    const target = this.#resolve(name);
    return target.kind !== 'other' || this.#deps.verified.ownerOf(target.name) !== undefined;
  }

  /** Whether {@link holderOf} knows anybody. @throws StoreError */
  async mayHave(host: string): Promise<boolean> {
    return (await this.holderOf(host)) !== undefined;
  }

  /**
   * Whose a host is that is the relay's own, that of a live tunnel, or a verified domain.
   *
   * @param host a name, in any case, as a handshake or a question has it
   * @returns `relay`, or the id of an account; `undefined` for all others
   * @throws StoreError where another relay may have the tunnel, and the store cannot be asked
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
