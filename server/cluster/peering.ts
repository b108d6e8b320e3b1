/** Cooperation of a relay with others on the same database: none, or all of cluster.ts. */
import type { Duplex } from 'node:stream';
import type { Hub } from '../clients/hub.ts';
import {
  ALONE,
  type Forwarder,
  type HopRequest,
  NO_FORWARDER,
  type Ownership,
} from '../clients/ownership.ts';
import type { VerifiedDomains } from '../domains/verified-domains.ts';
import type { Registrations } from '../oauth/registrations.ts';
import type { Limit } from '../rate-limiter.ts';
import { type Counts, NO_COUNTS } from '../shared-counts.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { DomainNews, TellPeers, TunnelNews } from '../tunnels/lifecycle.ts';

/** The parts of the relay that are notified about other relays. */
export interface PeeredParts {
  readonly hub: Pick<Hub, 'forwarded' | 'get' | 'leavesHop' | 'resume' | 'serveVisit'>;
  readonly tunnels: Pick<Coordination, 'hear' | 'review'>;
  readonly domains: Pick<VerifiedDomains, 'follow' | 'review'>;
  /** Accepts a data socket or a trunk that arrived on another relay. */
  readonly openHop: (request: HopRequest, socket: Duplex) => void;
}

export interface Peering {
  readonly ownership: Ownership;
  readonly forwarder: Forwarder;
  /** notifies those that share the tunnels; `undefined` if there are none */
  readonly tellPeers: TellPeers<TunnelNews | DomainNews> | undefined;
  readonly limit: Limit;
  /** Extends a list of registered clients across all relays. */
  readonly registrations: (local: Registrations) => Registrations;
  /** what the other processes of this relay count; relays of a cluster count for themselves */
  readonly counts: Counts;
  /**
   * What this relay has told the other processes of it is followed there; relays of a cluster follow soon as well.
   *
   * @returns fulfilled at the latest after a second
   */
  heard(): Promise<void>;
  /**
   * Joins the cluster, and gets notifications from now on.
   *
   * @throws StrangerError if there are relays with another secret
   */
  start(parts: PeeredParts): Promise<void>;
  /** Whether there are other relays that are not shutting down, as far as this one knows. */
  readonly hasOthers: boolean;
  /** Notifies other relays that this one is shutting down: they no longer hand anything over to it. */
  sayLeaving(): void;
  /** Fulfilled when nothing of another relay passes through this one, and no visitor of another one is served here. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/* A relay with exclusive use of its database. */

export const STANDALONE: Peering = {
  ownership: ALONE,
  forwarder: NO_FORWARDER,
  tellPeers: undefined,
  limit: (local) => local,
  registrations: (local) => local,
  counts: NO_COUNTS,
  heard: () => Promise.resolve(),
  start: () => Promise.resolve(),
  hasOthers: false,
  sayLeaving() {},
  settle: () => Promise.resolve(),
  stop: () => Promise.resolve(),
};
