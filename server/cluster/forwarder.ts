/** Hands on what arrives on this relay and belongs to another one (docs/decisions/0009-cluster.md). */
import type {
  ForwardedUpgrade,
  Forwarder,
  Hop,
  Ownership,
  Visit,
  VisitHandler,
} from '../clients/ownership.ts';
import type { Dial } from '../tunnels/stream.ts';
import { API_ERRORS } from '../../shared/errors.ts';
import { relayOf } from './connection-id.ts';
import type { HopDialer } from './hop/hop-dialer.ts';
import type { Membership } from './members.ts';

interface ClusterForwarderDeps {
  readonly ownership: Pick<Ownership, 'find'>;
  readonly membership: Pick<Membership, 'find' | 'named'>;
  readonly hops: Pick<HopDialer, 'visit' | 'upgrade'>;
  /** known only to the relays of the cluster */
  readonly secret: string;
}

export class ClusterForwarder implements Forwarder {
  readonly #deps: ClusterForwarderDeps;

  constructor(deps: ClusterForwarderDeps) {
    this.#deps = deps;
  }

  visit(tunnelId: string, handler: VisitHandler, peers = ''): Visit {
    let relay: string | undefined;
    let dial: Dial | undefined;
    let isOver = false;
    const open = async (): Promise<void> => {
      const found = await this.#deps.ownership.find(tunnelId);
      if (isOver) return;
      if (found.kind !== 'there') return handler.failed(found);
      const address = this.#deps.membership.named(found.relay);
      if (address === undefined) return handler.failed({ kind: 'lost' });
      relay = found.relay;
      dial = this.#deps.hops.visit(address, tunnelId, handler, peers);
    };
    void open();
    return {
      get relay() {
        return relay;
      },
      cancel() {
        isOver = true;
        dial?.cancel();
      },
    };
  }

  async upgrade(request: ForwardedUpgrade): Promise<Hop | number | undefined> {
    const { membership, hops, secret } = this.#deps;
    if (request.kind === 'trunk') return await this.#trunk(request);
    const address = membership.find(relayOf(request.id, secret) ?? 0);
    return address && (await hops.upgrade(address, request));
  }

  async #trunk(request: ForwardedUpgrade): Promise<Hop | number | undefined> {
    const { ownership, membership, hops } = this.#deps;
    const found = await ownership.find(request.id);
    if (found.kind === 'away') return undefined;
    const address = found.kind === 'there' ? membership.named(found.relay) : undefined;
    return (address && (await hops.upgrade(address, request))) ?? API_ERRORS.unavailable.status;
  }
}
