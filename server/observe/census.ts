/** How many there are of everything at one moment. */

/** What the links of all tunnels hold. */
export interface LinkCensus {
  /** tunnels with a control socket */
  readonly online: number;
  /** data sockets and streams of trunks in use */
  readonly streams: number;
  /** trunks that take visitors */
  readonly trunks: number;
  /** streams that trunks carry */
  readonly trunkStreams: number;
  /** inbound connections that wait for a data socket */
  readonly pending: number;
}

/** Certificates that the relay has ordered itself. */
export interface CertificateCensus {
  readonly stored: number;
  /** handshakes that wait for one */
  readonly waiting: number;
  /** of the relay's own name; `undefined` without one */
  readonly ownSecondsLeft: number | undefined;
}

/** Counted when asked, at this moment. */
export interface Census {
  readonly tunnels: () => number;
  readonly links: () => LinkCensus;
  readonly visitors: () => number;
  readonly certificates: () => CertificateCensus;
}
