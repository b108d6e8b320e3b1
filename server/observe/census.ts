/** What there is of everything at one moment. */

/** What the links of all tunnels hold. */
export interface LinkCensus {
  /** tunnels with a control socket */
  readonly online: number;
  /** data sockets in use */
  readonly streams: number;
  /** data sockets offered ahead */
  readonly warm: number;
  /** inbound connections that wait for a data socket */
  readonly pending: number;
}

/** Where it is counted, when it is asked, what there is at this moment. */
export interface Census {
  readonly tunnels: () => number;
  readonly links: () => LinkCensus;
  readonly visitors: () => number;
}
