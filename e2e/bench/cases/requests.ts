/** Requests a second, latency, and CPU time: small responses, kept and new connections, 1 to 64 visitors. */
import type { Scope } from '../../support/scope.ts';
import { startNginx } from '../nginx-program.ts';
import type { RunningPeer } from '../peers/peer.ts';
import { closedPort } from '../../support/services/listen.ts';
import { cpuSeconds } from '../processes.ts';
import { rotated, type Samples } from '../stats.ts';
import { wrk } from '../wrk.ts';
import type { Bench, Case } from './case.ts';

const LOADS = [16, 64, 1].flatMap((connections) => [
  { name: `keep-alive c${connections}`, connections, closing: false },
  { name: `new c${connections}`, connections, closing: true },
]);
type Load = (typeof LOADS)[number];

export const requests: Case = {
  name: 'requests',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const running = [];
    for (const peer of bench.peers) {
      running.push({ name: peer.name, peer: await peer.start(scope, servicePort) });
    }
    for (const { peer } of running) await warmUp(scope, peer);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const load of LOADS) {
        for (const { name, peer } of rotated(running, round)) {
          await measure(scope, bench, `${load.name}/${name}`, load, peer);
        }
      }
      bench.log(`requests: round ${round} of ${bench.rounds}`);
    }
  },
};

/** A service so fast that it does not affect the measurement: nginx with a fixed response of 29 bytes. */
export async function startHello(scope: Scope): Promise<number> {
  const port = await closedPort();
  await startNginx(scope, port, '', 'return 200 "hello from behind the tunnel\\n";');
  return port;
}

/** Warms up Node's compiler with both kinds of load, without measuring. */
export async function warmUp(scope: Scope, { port, host }: RunningPeer): Promise<void> {
  for (const closing of [false, true]) await wrk(scope, { port, host, connections: 16, closing, seconds: 1 });
}

async function measure(
  scope: Scope,
  bench: Bench,
  name: string,
  load: Load,
  peer: RunningPeer,
): Promise<void> {
  const { samples, seconds } = bench;
  const relay = peer.relayPids();
  const client = peer.clientPids();
  const before = { relay: cpuSeconds(relay), client: cpuSeconds(client) };
  const result = await wrk(scope, { ...load, port: peer.port, host: peer.host, seconds });
  const per10k = 10_000 / result.requests;
  samples.add(`${name}/req/s`, result.perSecond);
  samples.add(`${name}/p50 ms`, result.p50);
  samples.add(`${name}/p99 ms`, result.p99);
  addCpu(samples, name, '10k', (cpuSeconds(relay) - before.relay) * per10k, [relay, 'relay']);
  addCpu(samples, name, '10k', (cpuSeconds(client) - before.client) * per10k, [client, 'client']);
}

/** Adds the CPU seconds of an end that has processes. */
export function addCpu(
  samples: Samples,
  name: string,
  unit: string,
  seconds: number,
  [pids, end]: readonly [readonly number[], string],
): void {
  if (pids.length > 0) samples.add(`${name}/CPU s/${unit} ${end}`, seconds);
}
