/** How long a new visitor waits for its first byte when client and relay are 50 ms apart. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Culvert, Relay } from '../../support/programs.ts';
import { within } from '../../support/deadline.ts';
import { startProgram } from '../../support/child.ts';
import { median } from '../stats.ts';
import type { Case } from './case.ts';
import { startHello } from './requests.ts';

const DELAY_MS = 50;
const VISITORS_A_ROUND = 5;
/** ms between visitors: time for the client to offer a data socket again. */
const PAUSE_MS = 500;
const PROXY = fileURLToPath(new URL('../programs/delay-proxy.ts', import.meta.url));

export const firstByte: Case = {
  name: 'first-byte',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const relay = await Relay.start(scope);
    const proxy = startProgram(scope, process.execPath, [PROXY, String(relay.port), String(DELAY_MS)]);
    const [, proxyPort] = await proxy.printed(/^listening (\d+)$/m);
    const distant = { url: `http://localhost:${proxyPort}` };
    await Culvert.start(scope, distant, relay.bootstrapKey, servicePort, ['--name', 'bench']);
    await delay(PAUSE_MS);
    for (let round = 1; round <= bench.rounds; round += 1) {
      const times: number[] = [];
      const plain: number[] = [];
      for (let visitor = 0; visitor < VISITORS_A_ROUND; visitor += 1) {
        plain.push(await timeToFirstByte(servicePort, '127.0.0.1'));
        times.push(await timeToFirstByte(relay.port, 'bench.localhost'));
        await delay(PAUSE_MS);
      }
      bench.samples.add('first byte, 50 ms/culvert/ms', median(times));
      bench.samples.add('first byte, 50 ms/direct + one round trip/ms', median(plain) + 2 * DELAY_MS);
    }
    bench.log('first-byte: done');
  },
};

/** ms from the start of a connection to the first byte of a 200. */
async function timeToFirstByte(port: number, host: string): Promise<number> {
  const start = performance.now();
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  try {
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const [chunk] = (await within(15_000, 'first byte', once(socket, 'data'))) as [Buffer];
    const ms = performance.now() - start;
    if (!chunk.toString('latin1').startsWith('HTTP/1.1 200')) throw new Error(chunk.toString('latin1'));
    return ms;
  } finally {
    socket.destroy();
  }
}
