/** What one visitor's download of 1 GiB does to the small requests of others: both on one tunnel, and these alone. */
import { fileURLToPath } from 'node:url';
import { type Child, startProgram } from '../../support/child.ts';
import type { Scope } from '../../support/scope.ts';
import { startFiles } from '../files-service.ts';
import { culvertAnd, type PeerName, type RunningPeer, startPeers } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import type { Bench, Case } from './case.ts';
import { measureRequests, warmUp } from './requests.ts';

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
