/** What a relay has to do with others on the same database: nothing (standalone.ts), or all of cluster.ts. */
import type { Duplex } from 'node:stream';
import type { Hub } from '../clients/hub.ts';
import type { HopRequest, OtherRelays, Ownership } from '../clients/ownership.ts';
import type { VerifiedDomains } from '../domains/verified-domains.ts';
import type { CreateLimiter, Rate } from '../rate-limiter.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { DomainNews, Peers, TunnelNews } from '../tunnels/peers.ts';

/** The parts of the relay that hear about others. */
export interface PeeredParts {
  readonly hub: Pick<Hub, 'announceFor' | 'cameElsewhere' | 'leftElsewhere' | 'leavesHop' | 'resume'>;
  readonly tunnels: Pick<Coordination, 'hear' | 'review'>;
  readonly domains: Pick<VerifiedDomains, 'follow' | 'review'>;
  /** Takes a data socket that landed on another relay. */
  readonly openHop: (request: HopRequest, socket: Duplex) => void;
}

export interface Peering extends Pick<OtherRelays, 'dial'> {
  readonly presence: Ownership;
  /** those that have the same tunnels; `undefined` if nobody else has them */
  readonly peers: Peers<TunnelNews | DomainNews> | undefined;
  /** Limits across all relays what `local` limits on this one. */
  limit(local: CreateLimiter, rate: Rate): CreateLimiter;
  /**
   * Takes its place among the others, and hears from them from now on.
   *
   * @throws StrangerError when relays with another secret are there
   */
  start(parts: PeeredParts): Promise<void>;
  /** Whether there are other relays that are not shutting down, as far as this one knows. */
  readonly hasOthers: boolean;
  /** Tells the others that this relay is shutting down: nobody can be handed over to it any more. */
  sayLeaving(): void;
  /** Fulfilled when no data socket passes through this relay any more. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}
