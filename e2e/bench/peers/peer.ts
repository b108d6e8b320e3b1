/** A subject of the comparison: a way from a visitor to a local service. */
import type { Scope } from '../../support/scope.ts';

export type PeerName = 'direct' | 'nginx' | 'ssh' | 'floor' | 'localtunnel' | 'culvert';

export interface Peer {
  readonly name: PeerName;
  /** what it is, for readers of the results */
  readonly title: string;
  /**
   * Starts it in front of a local port; it ends with the scope.
   *
   * @param servicePort the port of the local service on 127.0.0.1
   */
  start(scope: Scope, servicePort: number): Promise<RunningPeer>;
}

export interface RunningPeer {
  /** where visitors connect, on 127.0.0.1 */
  readonly port: number;
  /** value of the Host field of their requests */
  readonly host: string;
  /** processes of the public end; asked for again at each measurement, since some come and go */
  relayPids(): readonly number[];
  /** processes of the end beside the local service */
  clientPids(): readonly number[];
}
