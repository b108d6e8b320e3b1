/**
 * Many clients with the engine of `culvert` in one process: `engine-clients.ts RELAY KEY PORT`, with a tunnel id on
 * each line of standard input. Prints a line `online TUNNEL MS` each time a client goes online, with the time since the
 * epoch.
 */
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { localPort } from '../../../desktop/client/local/local-service.ts';
import { parseRelayAddress } from '../../../desktop/client/relay/relay-address.ts';
import { createTunnelClient } from '../../../desktop/client/tunnel-client.ts';

/** ms between the starts of two clients, so that no backlog overflows. */
const START_PAUSE_MS = 5;

const [url = '', key = '', port = ''] = process.argv.slice(2);
const relay = parseRelayAddress(url);
for await (const tunnelId of createInterface({ input: process.stdin })) {
  createTunnelClient({
    relay,
    key,
    tunnelId,
    local: localPort(Number(port)),
    onState: ({ name }) => {
      if (name === 'online') console.log(`online ${tunnelId} ${Date.now()}`);
    },
    onProblem: () => {},
  }).start();
  await delay(START_PAUSE_MS);
}
