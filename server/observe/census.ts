/** How many there are of everything at one moment. */

/** What the links of all tunnels hold. */
export interface LinkCensus {
  /** tunnels with a control socket */
  readonly online: number;
  /** data sockets and streams of trunks in use */
  readonly streams: number;
  /** data sockets offered ahead */
  readonly warm: number;
  /** trunks that take visitors */
  readonly trunks: number;
  /** streams that trunks carry */
  readonly trunkStreams: number;
  /** inbound connections that wait for a data socket */
  readonly pending: number;
}

/** Counted when asked, at this moment. */
export interface Census {
  readonly tunnels: () => number;
  readonly links: () => LinkCensus;
  readonly visitors: () => number;
}
