/** Requests a second and latency by the size of the response: 1, 10 and 100 KB, kept connections. */
import { startFiles } from '../files-service.ts';
import { culvertAnd, startPeers } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import type { Case } from './case.ts';
import { measureRequests, warmUp } from './requests.ts';

const SIZES_KB = [1, 10, 100];

export const responses: Case = {
  name: 'responses',
  async run(scope, bench) {
    const servicePort = await startFiles(
      scope,
      SIZES_KB.map((kb) => kb * 1000),
    );
    const peers = culvertAnd(bench.peers, 'nginx', 'ssh', 'floor');
    const running = await startPeers(scope, peers, servicePort);
    for (const { peer } of running) await warmUp(scope, peer, { path: '/1000' });
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const kb of SIZES_KB) {
        const load = { connections: 16, closing: false, path: `/${kb * 1000}` };
        for (const { name, peer } of rotated(running, round)) {
          await measureRequests(scope, bench, `keep-alive c16, ${kb} KB/${name}`, load, peer);
        }
      }
      bench.log(`responses: round ${round} of ${bench.rounds}`);
    }
  },
};
