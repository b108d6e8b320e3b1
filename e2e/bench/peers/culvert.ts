import { Culvert, Relay } from '../../support/programs.ts';
import type { Peer } from './peer.ts';

/** The programs as `npm run build` leaves them. */
export const culvert: Peer = {
  name: 'culvert',
  title: 'Culvert',
  async start(scope, servicePort) {
    const relay = await Relay.start(scope);
    const client = await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
    return {
      port: relay.port,
      host: 'bench.localhost',
      relayPids: () => [relay.child.pid],
      clientPids: () => [client.child.pid],
    };
  },
};
