/**
 * How long a new visitor waits for the first byte when client and relay are 50 ms apart: right after another visitor,
 * and after more than a minute without visitors.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../support/deadline.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { median } from '../stats.ts';
import { type Bench, type Case, startHello } from './requests.ts';

const DELAY_MS = 50;
const VISITORS_A_ROUND = 5;
/** ms without a visitor: a trunk is closed after 60 s (protocol.md section 10.1), and the relay looks once a second. */
const SILENCE_MS = 65_000;

interface Target {
  readonly port: number;
  readonly host: string;
}

export const firstByte: Case = {
  name: 'first-byte',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const direct = { port: servicePort, host: '127.0.0.1' };
    const relay = await Relay.start(scope);
    const url = await distantUrl(scope, relay);
    // One for each round, because each needs one silence. All of them are silent together.
    const tunnels: Target[] = [];
    for (let round = 1; round <= bench.rounds; round += 1) {
      const tunnel = ['--name', `bench-${round}`];
      await Culvert.start(scope, { url }, relay.bootstrapKey, servicePort, tunnel);
      tunnels.push({ port: relay.port, host: `bench-${round}.localhost` });
    }
    for (const tunnel of tunnels) await measure(bench, tunnel, direct, 'immediately', VISITORS_A_ROUND);
    bench.log(`first-byte: silence of ${SILENCE_MS / 1000} s`);
    await delay(SILENCE_MS);
    for (const tunnel of tunnels) await measure(bench, tunnel, direct, 'after a minute', 1);
    bench.log('first-byte: done');
  },
};

/** The address of a relay for clients that are {@link DELAY_MS} away. */
async function distantUrl(scope: Scope, relay: Relay): Promise<string> {
  const network = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    // A handshake takes a round trip as well, so data counts as sent no earlier than that.
    const established = performance.now() + 2 * DELAY_MS;
    const far = connect({ port: relay.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    passDelayed(near, far, established);
    passDelayed(far, near, established);
  });
  network.listen(0, '127.0.0.1');
  await once(network, 'listening');
  scope.defer(() => void network.close());
  return `http://localhost:${(network.address() as AddressInfo).port}`;
}

function passDelayed(from: Socket, to: Socket, notBefore: number): void {
  const later = (action: () => void): void => {
    setTimeout(action, Math.max(0, notBefore - performance.now()) + DELAY_MS);
  };
  from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => {});
  from.on('close', () => later(() => to.destroy()));
}

/** Without a preceding silence, the tunnel's first visitor is not counted, and neither is the very first one. */
async function measure(
  { samples }: Bench,
  tunnel: Target,
  direct: Target,
  when: 'immediately' | 'after a minute',
  visitors: number,
): Promise<void> {
  await timeToFirstByte(direct);
  if (when === 'immediately') await timeToFirstByte(tunnel);
  const times: number[] = [];
  const without: number[] = [];
  for (let visitor = 0; visitor < visitors; visitor += 1) {
    times.push(await timeToFirstByte(tunnel));
    without.push(await timeToFirstByte(direct));
  }
  const load = `first byte, 50 ms, ${when}`;
  samples.add(`${load}/culvert/ms`, median(times));
  samples.add(`${load}/direct + one round trip/ms`, median(without) + 2 * DELAY_MS);
}

/** ms from opening a connection to the first byte of a 200. */
async function timeToFirstByte({ port, host }: Target): Promise<number> {
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
