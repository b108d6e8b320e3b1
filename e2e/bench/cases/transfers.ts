/**
 * Large bodies: MB/s and CPU time of both ends, their effect on other visitors' small requests through the same tunnel,
 * and the memory for those who do not read them.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Child, startProgram } from '../../support/child.ts';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { culvertAnd, type PeerName, type RunningPeer, startFiles, startPeers } from '../peers.ts';
import { rotated } from '../stats.ts';
import {
  type Bench,
  type Case,
  countCpu,
  measureInTurn,
  measureRequests,
  startService,
  visit,
  VISITORS,
  warmUp,
} from './requests.ts';

const GIB = 1024 ** 3;
const TRANSFER_TIMEOUT_MS = 60_000;

export const transfers: Case = {
  name: 'transfers',
  async run(scope, bench) {
    const running = await startPeers(scope, bench.peers, await startTransferService(scope));
    const directions = ['download', 'upload'] as const;
    await measureInTurn(this.name, bench, running, directions, async (direction, { name, peer }) => {
      const addCpu = countCpu(peer);
      const seconds = await transfer(scope, peer, direction, GIB);
      const title = `${direction}/${name}`;
      bench.samples.add(`${title}/MB/s`, GIB / 1e6 / seconds);
      addCpu(bench.samples, title, 'GiB', 1);
    });
  },
};

/** @returns the port of a service for {@link transfer} */
async function startTransferService(scope: Scope): Promise<number> {
  return (await startService(scope, 'transfer')).port;
}

/**
 * Moves one body through a tunnel.
 *
 * @returns the seconds it took
 * @throws Error when it did not arrive whole
 */
async function transfer(
  scope: Scope,
  { port, host }: RunningPeer,
  direction: 'download' | 'upload',
  bytes: number,
): Promise<number> {
  const output = await visit(scope, [direction, port, host, bytes], TRANSFER_TIMEOUT_MS);
  return Number(/^seconds ([\d.]+)$/m.exec(output)?.[1]);
}

const SMALL = 29;
const LOAD = { connections: 16, closing: false, path: `/${SMALL}` };

/** The small requests beside a download of 1 GiB, compared with the same requests alone. */
export const besideDownload: Case = {
  name: 'beside-download',
  async run(scope, bench) {
    const servicePort = await startFiles(scope, [SMALL, GIB]);
    const running = await startPeers(scope, culvertAnd(bench.peers, 'ssh'), servicePort);
    for (const { peer } of running) await warmUp(scope, peer, { path: LOAD.path });
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const { name, peer } of rotated(running, round)) {
        for (const measure of rotated([alone, beside], round)) await measure(scope, bench, name, peer);
      }
      bench.log(`beside-download: round ${round} of ${bench.rounds}`);
    }
  },
};

async function alone(scope: Scope, bench: Bench, name: PeerName, peer: RunningPeer): Promise<void> {
  await measureRequests(scope, bench, `small requests c16, alone/${name}`, LOAD, peer);
}

async function beside(scope: Scope, bench: Bench, name: PeerName, peer: RunningPeer): Promise<void> {
  const args = [VISITORS, 'downloads', String(peer.port), peer.host, String(GIB)];
  const download = startProgram(scope, process.execPath, args);
  await download.printed(/^begun$/m);
  const load = 'small requests c16, beside a download';
  await measureRequests(scope, bench, `${load}/${name}`, LOAD, peer);
  bench.samples.add(`${load}/${name}/MB/s down`, await speedOf(download));
}

/** Ends a download. @returns MB/s */
async function speedOf(download: Child): Promise<number> {
  await download.stop();
  const [, bytes, seconds] = /^received (\d+) in ([\d.]+)$/m.exec(download.output) ?? [];
  if (bytes === undefined) throw new Error(`the download failed: ${download.output}`);
  return Number(bytes) / 1e6 / Number(seconds);
}

const SLOW_READERS = 1000;
const BODY_BYTES = 10_000_000;
/** ms for all buffers to fill up and settle. */
const SETTLE_MS = 5000;

export const slowReaders: Case = {
  name: 'slow-readers',
  async run(scope, { samples, log }) {
    const servicePort = await startTransferService(scope);
    const relay = await Relay.start(scope);
    await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
    await delay(1000);
    const { pid } = relay.child;
    const before = memoryOf(pid).resident;
    const sockets = Array.from({ length: SLOW_READERS }, () => ask(relay.port));
    scope.defer(() => {
      for (const socket of sockets) socket.destroy();
    });
    await delay(SETTLE_MS);
    const { resident, peak } = memoryOf(pid);
    samples.add('slow readers/culvert/KiB each', (resident - before) / 1024 / SLOW_READERS);
    samples.add('slow readers/culvert/KiB each at the peak', (peak - before) / 1024 / SLOW_READERS);
    log('slow-readers: done');
  },
};

/** Requests a body and does not read it. */
function ask(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => socket.destroy());
  socket.pause();
  socket.write(`GET /${BODY_BYTES} HTTP/1.1\r\nHost: bench.localhost\r\n\r\n`);
  return socket;
}
