/**
 * The effect of one visitor's download of 1 GiB on other visitors' small requests: both on one tunnel, compared with
 * the small requests alone.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Child, startProgram } from '../../support/child.ts';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { startFiles } from '../nginx-program.ts';
import { culvertAnd, type PeerName, type RunningPeer, startPeers } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import { type Bench, type Case, measureRequests, warmUp } from './requests.ts';
import { startTransferService } from './transfers.ts';

const SMALL = 29;
const LARGE = 1024 ** 3;
const LOAD = { connections: 16, closing: false, path: `/${SMALL}` };
const DOWNLOAD = fileURLToPath(new URL('../programs/endless-download.ts', import.meta.url));

export const besideDownload: Case = {
  name: 'beside-download',
  async run(scope, bench) {
    const servicePort = await startFiles(scope, [SMALL, LARGE]);
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
  const args = [DOWNLOAD, String(peer.port), peer.host, String(LARGE)];
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

const VISITORS = 1000;
const BODY_BYTES = 10_000_000;
/** ms for all buffers to fill up and settle. */
const SETTLE_MS = 5000;

export const slowReaders: Case = {
  name: 'slow-readers',
  async run(scope, bench) {
    const servicePort = await startTransferService(scope);
    for (const { name, relaySettings } of culvertAnd(bench.peers)) {
      const relay = await Relay.start(scope, relaySettings);
      await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
      await delay(1000);
      const { pid } = relay.child;
      const before = memoryOf(pid).resident;
      const sockets = Array.from({ length: VISITORS }, () => ask(relay.port));
      scope.defer(() => {
        for (const socket of sockets) socket.destroy();
      });
      await delay(SETTLE_MS);
      const { resident, peak } = memoryOf(pid);
      bench.samples.add(`slow readers/${name}/KiB each`, (resident - before) / 1024 / VISITORS);
      bench.samples.add(`slow readers/${name}/KiB each at the peak`, (peak - before) / 1024 / VISITORS);
    }
    bench.log('slow-readers: done');
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
