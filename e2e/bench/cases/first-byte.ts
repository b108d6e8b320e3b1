/**
 * How long a new visitor waits for the first byte when client and relay are 50 ms apart: right after another visitor,
 * and after more than a minute without visitors; plain, and with TLS for visitors and client.
 */
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { Authority } from '../../support/certificates.ts';
import { within } from '../../support/deadline.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { startNginx, tlsSettings } from '../peers.ts';
import { median } from '../stats.ts';
import { type Bench, type Case, HELLO, startHello, startService } from './requests.ts';

const DELAY_MS = 50;
const VISITORS_A_ROUND = 5;
/** ms without a visitor: a trunk is closed after 60 s (protocol.md section 10.1), and the relay looks once a second. */
const SILENCE_MS = 65_000;

type Transport = 'plain' | 'TLS';

interface Target {
  readonly port: number;
  readonly host: string;
  readonly transport: Transport;
}

/** A relay with one tunnel per round, because each round needs one silence. All tunnels are silent together. */
interface Way {
  readonly tunnels: readonly Target[];
  /** the local service, visited without a tunnel */
  readonly direct: Target;
}

export const firstByte: Case = {
  name: 'first-byte',
  async run(scope, bench) {
    const authority = new Authority(scope);
    const servicePort = await startHello(scope);
    const securePort = await closedPort();
    await startNginx(scope, securePort, '', HELLO, authority.issue());
    const ways: Way[] = [];
    for (const transport of ['plain', 'TLS'] as const) {
      const direct = { port: transport === 'TLS' ? securePort : servicePort, host: '127.0.0.1', transport };
      const relay = await Relay.start(scope, transport === 'TLS' ? tlsSettings(authority) : {});
      const url = await distantUrl(scope, relay);
      const tunnels: Target[] = [];
      for (let round = 1; round <= bench.rounds; round += 1) {
        const tunnel = ['--name', `bench-${round}`];
        const settings = { CULVERT_CA: authority.path };
        await Culvert.start(scope, { url }, relay.bootstrapKey, servicePort, tunnel, settings);
        tunnels.push({ port: relay.port, host: `bench-${round}.localhost`, transport });
      }
      ways.push({ tunnels, direct });
    }
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const way of ways) await measure(bench, way, round, 'immediately', VISITORS_A_ROUND);
    }
    bench.log(`first-byte: silence of ${SILENCE_MS / 1000} s`);
    await delay(SILENCE_MS);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const way of ways) await measure(bench, way, round, 'after a minute', 1);
    }
    bench.log('first-byte: done');
  },
};

/** The address of a relay for clients that are {@link DELAY_MS} away. */
async function distantUrl(scope: Scope, relay: Relay): Promise<string> {
  const { port } = await startService(scope, 'distant', relay.port, DELAY_MS);
  const url = new URL(relay.url);
  url.port = String(port);
  return url.origin;
}

/**
 * Visits the round's tunnel. Without a preceding silence, its first visitor is not counted, and neither is the very
 * first one.
 */
async function measure(
  { samples }: Bench,
  { tunnels, direct }: Way,
  round: number,
  when: 'immediately' | 'after a minute',
  visitors: number,
): Promise<void> {
  const tunnel = tunnels[round - 1] ?? direct;
  await timeToFirstByte(direct);
  if (when === 'immediately') await timeToFirstByte(tunnel);
  const times: number[] = [];
  const without: number[] = [];
  for (let visitor = 0; visitor < visitors; visitor += 1) {
    times.push(await timeToFirstByte(tunnel));
    without.push(await timeToFirstByte(direct));
  }
  const load = `first byte, 50 ms, ${direct.transport}, ${when}`;
  samples.add(`${load}/culvert/ms`, median(times));
  samples.add(`${load}/direct + one round trip/ms`, median(without) + 2 * DELAY_MS);
}

/** ms from opening a connection to the first byte of a 200. */
async function timeToFirstByte({ port, host, transport }: Target): Promise<number> {
  const start = performance.now();
  const socket = connect(port, transport);
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

function connect(port: number, transport: Transport): Socket {
  if (transport === 'plain') return connectPlain({ port, host: '127.0.0.1', noDelay: true });
  const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', rejectUnauthorized: false });
  socket.setNoDelay();
  return socket;
}
