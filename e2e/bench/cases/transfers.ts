/**
 * Large bodies: MB/s and CPU time of both ends, their effect on other visitors' small requests through the same tunnel,
 * and the memory for those who do not read them.
 */
import { truncateSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, startProgram } from '../../support/child.ts';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay, temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { culvertAnd, type PeerName, type RunningPeer, startFiles, startPeers } from '../peers.ts';
import { median, rotated } from '../stats.ts';
import { type Bench, type Case, countCpu, measureInTurn, measureRequests, warmUp } from './requests.ts';

const GIB = 1024 ** 3;
/** ms that a transfer may take. */
const TRANSFER_MS = 60_000;
const SERVICE = fileURLToPath(new URL('../wan/service.ts', import.meta.url));

export const transfers: Case = {
  name: 'transfers',
  async run(scope, bench) {
    const running = await startPeers(scope, bench.peers, await startTransferService(scope));
    // A sparse file: the disk is not measured.
    const file = join(temporaryDirectory(scope), 'upload');
    writeFileSync(file, '');
    truncateSync(file, GIB);
    const directions = { download: [`/bytes?n=${GIB}`], upload: ['/upload', '--upload-file', file] };
    await measureInTurn(
      this.name,
      bench,
      running,
      Object.entries(directions),
      async (load, { name, peer }) => {
        const [direction, [path = '', ...args]] = load;
        const addCpu = countCpu(peer);
        const seconds = Number(await curl(scope, peer, path, '%{time_total}', ...args).finished(TRANSFER_MS));
        bench.samples.add(`${direction}/${name}/MB/s`, GIB / 1e6 / seconds);
        addCpu(bench.samples, `${direction}/${name}`, 'GiB', 1);
      },
    );
  },
};

/** @returns the port of a service that sends and takes bodies of any length */
export async function startTransferService(scope: Scope): Promise<number> {
  const port = await closedPort();
  await startProgram(scope, process.execPath, [SERVICE, String(port)]).printed(/^ready$/m);
  return port;
}

/**
 * A visitor who fails unless the body arrives whole.
 *
 * @param prints what of the transfer, as curl names it
 */
function curl(
  scope: Scope,
  { port, host }: RunningPeer,
  path: string,
  prints: string,
  ...args: string[]
): Child {
  const options = ['-sSf', '-o', '/dev/null', '-w', `${prints}\n`, '-H', 'Expect:', '-H', `Host: ${host}`];
  return startProgram(scope, 'curl', [...options, ...args, `http://127.0.0.1:${port}${path}`]);
}

const SMALL = 29;
const DOWNLOAD_BYTES = 64 * 1024 ** 2;
const LOAD = { connections: 16, closing: false, path: `/${SMALL}` };

/** The small requests beside downloads of 64 MiB, compared with the same requests alone. */
export const besideDownload: Case = {
  name: 'beside-download',
  async run(scope, bench) {
    const servicePort = await startFiles(scope, [SMALL, DOWNLOAD_BYTES]);
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

/** Downloads repeatedly in the meantime, each time on a new connection. */
async function beside(scope: Scope, bench: Bench, name: PeerName, peer: RunningPeer): Promise<void> {
  const args = ['-H', 'Connection: close'];
  // Standard output is a pipe, into which curl writes nothing before its end.
  const downloads = curl(scope, peer, `/${DOWNLOAD_BYTES}?[1-10000]`, '%{stderr}%{speed_download}', ...args);
  await downloads.printed(/^\d/m);
  const load = 'small requests c16, beside a download';
  await measureRequests(scope, bench, `${load}/${name}`, LOAD, peer);
  bench.samples.add(
    `${load}/${name}/MB/s down`,
    median(downloads.stderr.match(/^\d+$/gm)?.map(Number) ?? []) / 1e6,
  );
  await downloads.stop();
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
  socket.write(`GET /bytes?n=${BODY_BYTES} HTTP/1.1\r\nHost: bench.localhost\r\n\r\n`);
  return socket;
}
