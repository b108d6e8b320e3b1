/** Requests a second, latency, and CPU time: small responses, kept and new connections, 1 to 64 visitors. */
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { cpuSeconds } from '../machine.ts';
import { startNginx } from '../nginx-program.ts';
import { type Peer, type RunningPeer, startPeers } from '../peers/peer.ts';
import { rotated, type Samples } from '../stats.ts';
import { wrk, type WrkRun } from '../wrk.ts';

const LOADS = [16, 64, 1].flatMap((connections) => [
  { name: `keep-alive c${connections}`, connections, closing: false },
  { name: `new c${connections}`, connections, closing: true },
]);

/** The settings of a wrk run, except for its target. */
export type Load = Pick<WrkRun, 'connections' | 'closing' | 'path' | 'secure'>;

export const requests: Case = {
  name: 'requests',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const running = await startPeers(scope, bench.peers, servicePort);
    for (const { peer } of running) await warmUp(scope, peer);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const load of LOADS) {
        for (const { name, peer } of rotated(running, round)) {
          await measureRequests(scope, bench, `${load.name}/${name}`, load, peer);
        }
      }
      bench.log(`requests: round ${round} of ${bench.rounds}`);
    }
  },
};

/** nginx's directive for a fixed response of 29 bytes. */
export const HELLO = 'return 200 "hello from behind the tunnel\\n";';

/** A service so fast that it does not affect the measurement: nginx with {@link HELLO}. */
export async function startHello(scope: Scope): Promise<number> {
  const port = await closedPort();
  await startNginx(scope, port, '', HELLO);
  return port;
}

/**
 * s of each kind of load until Node's compiler has done its work, judged by the CPU time of a request. With 1 s, that
 * still halved in the following rounds, more so for more code.
 */
export const WARM_UP_SECONDS = 4;

/** Warms up Node's compiler with both kinds of load, without measuring. */
export async function warmUp(
  scope: Scope,
  { port, host }: RunningPeer,
  more: Pick<WrkRun, 'path' | 'secure'> = {},
): Promise<void> {
  for (const closing of [false, true]) {
    await wrk(scope, { ...more, port, host, connections: 16, closing, seconds: WARM_UP_SECONDS });
  }
}

/** One run of wrk: requests/s, latency, and CPU time of both ends, as samples `name/…`. */
export async function measureRequests(
  scope: Scope,
  { samples, seconds }: Bench,
  name: string,
  load: Load,
  peer: RunningPeer,
): Promise<void> {
  const addCpu = countCpu(peer);
  const result = await wrk(scope, { ...load, port: peer.port, host: peer.host, seconds });
  samples.add(`${name}/req/s`, result.perSecond);
  samples.add(`${name}/p50 ms`, result.p50);
  samples.add(`${name}/p99 ms`, result.p99);
  addCpu(samples, name, '10k', result.requests / 10_000);
}

/** The parameters of every case. */
export interface Bench {
  readonly rounds: number;
  /** seconds of each wrk run */
  readonly seconds: number;
  readonly peers: readonly Peer[];
  readonly samples: Samples;
  /** Reports progress. */
  readonly log: (text: string) => void;
}

export interface Case {
  readonly name: string;
  /** Starts what it needs in the scope, and adds samples named `case/peer/measure`. */
  run(scope: Scope, bench: Bench): Promise<void>;
}

/**
 * Starts counting.
 *
 * @returns a function that adds the CPU time used since by each end that has processes to the samples, as
 * `NAME/CPU s/UNIT END`; `units` is how many units were served in the meantime
 */
export function countCpu(
  peer: RunningPeer,
): (samples: Samples, name: string, unit: string, units: number) => void {
  const ends = [
    { end: 'relay', pids: peer.relayPids() },
    { end: 'client', pids: peer.clientPids() },
  ]
    .filter(({ pids }) => pids.length > 0)
    .map((each) => ({ ...each, before: cpuSeconds(each.pids) }));
  return (samples, name, unit, units) => {
    for (const { end, pids, before } of ends)
      samples.add(`${name}/CPU s/${unit} ${end}`, (cpuSeconds(pids) - before) / units);
  };
}
