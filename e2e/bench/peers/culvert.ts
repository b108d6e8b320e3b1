import type { Authority } from '../../support/certificates.ts';
import { Culvert, type Environment, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import type { Peer, PeerName, RunningPeer } from './peer.ts';

/** The programs as `npm run build` leaves them. */
export const culvert: Peer = form('culvert', 'Culvert', {});

/** What the trunks are compared with. */
export const culvertWithoutTrunks: Peer = {
  ...form('culvert without trunks', 'Culvert with a data socket for each visitor (`CULVERT_TRUNKS=0`)', {
    CULVERT_TRUNKS: '0',
  }),
  isExtra: true,
};

function form(name: PeerName, title: string, relaySettings: Environment): Peer {
  return {
    name,
    title,
    relaySettings,
    start: (scope, servicePort) => start(scope, servicePort, relaySettings, {}),
    startTls: (scope, servicePort, authority) =>
      start(
        scope,
        servicePort,
        { ...relaySettings, ...tlsSettings(authority) },
        { CULVERT_CA: authority.path },
      ),
  };
}

/** Settings with which a relay takes TLS, and nothing else. */
export function tlsSettings(authority: Authority): Environment {
  const { cert, key } = authority.issue('*.localhost');
  return { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key };
}

async function start(
  scope: Scope,
  servicePort: number,
  relaySettings: Environment,
  clientSettings: Environment,
): Promise<RunningPeer> {
  const relay = await Relay.start(scope, relaySettings);
  const name = ['--name', 'bench'];
  const client = await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, name, clientSettings);
  return {
    port: relay.port,
    host: 'bench.localhost',
    relayPids: () => [relay.child.pid],
    clientPids: () => [client.child.pid],
  };
}
