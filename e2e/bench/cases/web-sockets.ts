/** Small messages through WebSockets of 16 visitors, one at a time each, to a service that sends them back. */
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../support/child.ts';
import type { Scope } from '../../support/scope.ts';
import { culvertAnd, type RunningPeer, startPeers } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import type { Bench, Case } from './case.ts';

const VISITORS = 16;
const SERVICE = fileURLToPath(new URL('../programs/echo-service.ts', import.meta.url));
const VISITOR = fileURLToPath(new URL('../programs/echo-visitor.ts', import.meta.url));

export const webSockets: Case = {
  name: 'web-sockets',
  async run(scope, bench) {
    const service = startProgram(scope, process.execPath, [SERVICE]);
    const servicePort = Number((await service.printed(/^listening (\d+)$/m))[1]);
    const running = await startPeers(scope, culvertAnd(bench.peers, 'direct', 'ssh'), servicePort);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const { name, peer } of rotated(running, round)) {
        await measure(scope, bench, `WebSocket echo c${VISITORS}/${name}`, peer);
      }
      bench.log(`web-sockets: round ${round} of ${bench.rounds}`);
    }
  },
};

async function measure(
  scope: Scope,
  { samples, seconds }: Bench,
  name: string,
  peer: RunningPeer,
): Promise<void> {
  const args = [VISITOR, String(peer.port), peer.host, String(VISITORS), String(seconds)];
  const output = await startProgram(scope, process.execPath, args).finished((seconds + 20) * 1000);
  const [, perSecond, p50, p99] = /^messages ([\d.]+) p50 ([\d.]+) p99 ([\d.]+)$/m.exec(output) ?? [];
  samples.add(`${name}/messages/s`, Number(perSecond));
  samples.add(`${name}/p50 ms`, Number(p50));
  samples.add(`${name}/p99 ms`, Number(p99));
}
