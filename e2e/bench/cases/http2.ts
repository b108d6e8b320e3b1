/**
 * Requests of HTTP/2 visitors: small responses, several streams at a time on each kept connection, compared with nginx
 * with HTTP/2 directly in front of the service.
 */
import { Authority } from '../../support/certificates.ts';
import { startProgram } from '../../support/child.ts';
import type { Scope } from '../../support/scope.ts';
import { culvertAnd, type RunningPeer, startTlsPeers } from '../peers/peer.ts';
import { rotated } from '../stats.ts';
import { type Bench, type Case, countCpu, startHello, WARM_UP_SECONDS } from './requests.ts';

const LOADS = [
  { connections: 16, streams: 1 },
  { connections: 4, streams: 16 },
];

export const http2: Case = {
  name: 'http2',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const peers = culvertAnd(bench.peers, 'nginx');
    const running = await startTlsPeers(scope, peers, servicePort, new Authority(scope));
    for (const { peer } of running)
      await h2load(scope, peer, { connections: 4, streams: 16 }, WARM_UP_SECONDS);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const load of LOADS) {
        const title = `h2, c${load.connections} × ${load.streams} streams`;
        for (const { name, peer } of rotated(running, round)) {
          await measure(scope, bench, `${title}/${name}`, load, peer);
        }
      }
      bench.log(`http2: round ${round} of ${bench.rounds}`);
    }
  },
};

type Load = (typeof LOADS)[number];

async function measure(
  scope: Scope,
  { samples, seconds }: Bench,
  name: string,
  load: Load,
  peer: RunningPeer,
): Promise<void> {
  const addCpu = countCpu(peer);
  const requests = await h2load(scope, peer, load, seconds);
  samples.add(`${name}/req/s`, requests / seconds);
  addCpu(samples, name, '10k', requests / 10_000);
}

/**
 * @returns how many requests succeeded
 * @throws Error if one failed, because such a run measures nothing
 */
async function h2load(
  scope: Scope,
  { port, host }: RunningPeer,
  { connections, streams }: Load,
  seconds: number,
): Promise<number> {
  const load = ['-t1', `-c${connections}`, `-m${streams}`, `-D${seconds}`, `--connect-to=127.0.0.1:${port}`];
  const program = startProgram(scope, 'h2load', [...load, `https://${host}:${port}/`]);
  const said = await program.finished((seconds + 20) * 1000);
  const [, succeeded, failed] = /(\d+) succeeded, (\d+) failed/.exec(said) ?? [];
  if (failed !== '0' || !said.includes('Application protocol: h2'))
    throw new Error(`requests failed: ${said}`);
  return Number(succeeded);
}
