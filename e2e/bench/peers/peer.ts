/** A subject of the comparison: a way from a visitor to a local service. */
import type { Authority } from '../../support/certificates.ts';
import type { Environment } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

export type PeerName =
  'direct' | 'nginx' | 'ssh' | 'floor' | 'localtunnel' | 'culvert' | 'culvert without trunks';

export interface Peer {
  readonly name: PeerName;
  /** what it is, for readers of the results */
  readonly title: string;
  /** whether it is measured only when it is asked for by name */
  readonly isExtra?: boolean;
  /** of Culvert alone: settings of its relay that make it what it is */
  readonly relaySettings?: Environment;
  /**
   * Starts it in front of a local port; it ends with the scope.
   *
   * @param servicePort the port of the local service on 127.0.0.1
   */
  start(scope: Scope, servicePort: number): Promise<RunningPeer>;
  /**
   * Starts it with TLS between visitors and the public end; of those that can have it.
   *
   * @param authority who issues its certificate
   */
  startTls?(scope: Scope, servicePort: number, authority: Authority): Promise<RunningPeer>;
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

/** Culvert in each form that is measured, and those of the other peers that are named. */
export function culvertAnd(peers: readonly Peer[], ...others: readonly PeerName[]): Peer[] {
  return peers.filter(({ name, relaySettings }) => relaySettings !== undefined || others.includes(name));
}

/** Starts peers one after the other in front of the same local port. */
export async function startPeers(
  scope: Scope,
  peers: readonly Peer[],
  servicePort: number,
): Promise<{ name: PeerName; peer: RunningPeer }[]> {
  const running = [];
  for (const peer of peers) running.push({ name: peer.name, peer: await peer.start(scope, servicePort) });
  return running;
}
