/**
 * What one of each costs, as measured by `npm run bench:cluster` (docs/benchmarks/cluster.md): CPU time in µs, of which a
 * core has 1,000,000 a second. Other machines have other figures, but their ratios stay much the same.
 */

/** Redis's one core. */
export const REDIS_US = {
  /** a visitor announced to another relay */
  announce: 7,
  /** a control socket entered or taken out, without the messages to all */
  claim: 12,
  /** a message to all, for each relay that receives it */
  delivery: 0.19,
  /** a message without a script */
  publish: 3,
  /** a tunnel recorded again */
  told: 4,
  lease: 12,
  /** the list of relays, and each relay in it */
  relays: 12,
  relayListed: 1.2,
} as const;

/** Bytes of a tunnel's entry in Redis. */
export const TUNNEL_ENTRY_BYTES = 260;

/** Relays. */
export const RELAY_US = {
  /** a request on a connection that has its data socket, on the visitor's relay */
  request: 30,
  /** a visitor's connection, on its relay, wherever its data socket lands */
  connection: 240,
  /** the same on the relay of the control socket, if that is another one */
  announced: 30,
  /** a request and a connection, on the relay that passes a data socket on */
  hopRequest: 23,
  hopConnection: 160,
  /** opening a control socket */
  control: 800,
} as const;

/** Bytes of a tunnel that is online. */
export const TUNNEL_BYTES = 12 * 1024;
