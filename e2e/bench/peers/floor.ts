import { fileURLToPath } from 'node:url';
import { startProgram } from '../../support/child.ts';
import type { Peer } from './peer.ts';

const RELAY = fileURLToPath(new URL('../floor/relay.ts', import.meta.url));
const CLIENT = fileURLToPath(new URL('../floor/client.ts', import.meta.url));

/** Culvert's choreography over bare TCP in the same Node; see `floor/relay.ts`. */
export const floor: Peer = {
  name: 'floor',
  title: 'floor: the same choreography over bare TCP, same Node',
  async start(scope, servicePort) {
    const relay = startProgram(scope, process.execPath, [RELAY]);
    const [, visitors, clients = ''] = await relay.printed(/^listening (\d+) (\d+)$/m);
    const client = startProgram(scope, process.execPath, [CLIENT, clients, String(servicePort)]);
    await client.printed(/^online$/m);
    return {
      port: Number(visitors),
      host: '127.0.0.1',
      relayPids: () => [relay.pid],
      clientPids: () => [client.pid],
    };
  },
};
