/** What several relays have to serve; every figure per second is a mean over a long time. */
export interface Scenario {
  readonly relays: number;
  /** online, spread evenly over the relays */
  readonly tunnels: number;
  /** control sockets that are opened a second; for each, one has ended before, cleanly or not */
  readonly reconnects: number;
  /** tunnels created, extended, closed or expired a second */
  readonly changes: number;
  /** a second */
  readonly requests: number;
  /** requests on one visitor's connection; each connection needs its own data socket */
  readonly requestsPerConnection: number;
  /** share of visitors' connections that come to another relay than the one with the tunnel's control socket, from 0 to 1 */
  readonly elsewhere: number;
  /** share of data sockets that land on another relay than their visitor's, from 0 to 1 */
  readonly hops: number;
  /** tunnels that have traffic at any moment */
  readonly busyTunnels: number;
  /** relays over which the visitors of one busy tunnel are spread */
  readonly relaysPerBusyTunnel: number;
}

/** The share that a balancer sends elsewhere if it knows nothing about tunnels. */
export function shareElsewhere(relays: number): number {
  return (relays - 1) / relays;
}
