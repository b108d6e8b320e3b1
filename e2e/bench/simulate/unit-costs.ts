/**
 * What one of each costs, as `npm run bench:cluster` has measured it (docs/benchmarks/cluster.md): CPU time in µs, of which a core
 * has 1,000,000 a second. Other machines have other figures; what they are to each other stays much the same.
 */

/** Redis's one core. */
export const REDIS_US = {
  /** a visitor told to another relay */
  announce: 9,
  /** a control socket entered or taken out, without the messages to all */
  claim: 11,
  /** a message to one of the relays that all are told */
  delivery: 0.28,
  /** a message without a script */
  publish: 3,
  /** a tunnel told again */
  told: 5,
  lease: 12,
  /** the list of relays, and each relay in it */
  relays: 3,
  relayListed: 1.9,
} as const;

/** Bytes of a tunnel's entry in Redis. */
export const TUNNEL_ENTRY_BYTES = 246;

/** Relays. */
export const RELAY_US = {
  /** a request on a connection that has its data socket, on the visitor's relay */
  request: 30,
  /** a visitor's connection, on its relay, and what it costs more there when its data socket comes over a hop */
  connection: 200,
  hoppedConnection: 140,
  /** the same on the relay of the control socket, where that is another one */
  announced: 50,
  /** a request and a connection, on the relay that a data socket hops over */
  hopRequest: 24,
  hopConnection: 300,
  /** a control socket opened */
  control: 600,
} as const;

/** Bytes of a tunnel that is online. */
export const TUNNEL_BYTES = 12 * 1024;
