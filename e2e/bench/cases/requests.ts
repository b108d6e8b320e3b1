/**
 * Requests a second, latency, and CPU time: small responses over HTTP/1.1 and HTTP/2, and larger ones. And what every case
 * needs.
 */
import { Authority } from '../../support/certificates.ts';
import { startProgram } from '../../support/child.ts';
import type { Scope } from '../../support/scope.ts';
import { closedPort } from '../../support/services/listen.ts';
import { cpuSeconds } from '../../support/processes.ts';
import {
  culvertAnd,
  type Peer,
  type PeerName,
  type RunningPeer,
  startFiles,
  startNginx,
  startPeers,
} from '../peers.ts';
import { rotated, type Samples } from '../stats.ts';

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

interface Named {
  readonly name: PeerName;
  readonly peer: RunningPeer;
}

/** Measures each load in each round, with all peers in turn. */
export async function measureInTurn<T>(
  name: string,
  { rounds, log }: Bench,
  peers: readonly Named[],
  loads: readonly T[],
  measure: (load: T, peer: Named) => Promise<void>,
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    for (const load of loads) {
      for (const peer of rotated(peers, round)) await measure(load, peer);
    }
    log(`${name}: round ${round} of ${rounds}`);
  }
}

interface Load {
  readonly name: string;
  readonly connections: number;
  /** whether each request closes its connection */
  readonly closing: boolean;
  /** requested path; `/` by default */
  readonly path?: string;
}

const LOADS: readonly Load[] = [16, 64].flatMap((connections) => [
  { name: `keep-alive c${connections}`, connections, closing: false },
  { name: `new c${connections}`, connections, closing: true },
]);
const LARGE: Load = { name: 'keep-alive c16, 100 KB', connections: 16, closing: false, path: '/100000' };

export const requests: Case = {
  name: 'requests',
  async run(scope, bench) {
    const running = await startPeers(scope, bench.peers, await startHello(scope));
    for (const { peer } of running) await warmUp(scope, peer);
    await measureInTurn(this.name, bench, running, LOADS, (load, { name, peer }) =>
      measureRequests(scope, bench, `${load.name}/${name}`, load, peer),
    );
  },
};

export const responses: Case = {
  name: 'responses',
  async run(scope, bench) {
    const peers = culvertAnd(bench.peers, 'nginx', 'ssh', 'floor');
    const running = await startPeers(scope, peers, await startFiles(scope, [100_000]));
    for (const { peer } of running) await warmUp(scope, peer, LARGE);
    await measureInTurn(this.name, bench, running, [LARGE], (load, { name, peer }) =>
      measureRequests(scope, bench, `${load.name}/${name}`, load, peer),
    );
  },
};

const HTTP2 = { connections: 4, streams: 16 };

/**
 * Several streams at a time on each kept connection, and the same service over HTTP/1.1 with TLS; compared with nginx
 * directly in front of the service.
 */
export const http2: Case = {
  name: 'http2',
  async run(scope, bench) {
    const peers = culvertAnd(bench.peers, 'nginx');
    const running = await startPeers(scope, peers, await startHello(scope), new Authority(scope));
    for (const { peer } of running) {
      await warmUp(scope, peer, { secure: true });
      await h2load(scope, peer, WARM_UP_SECONDS);
    }
    await measureInTurn(this.name, bench, running, [true, false], async (isHttp2, { name, peer }) => {
      if (!isHttp2) {
        const load = { connections: 16, closing: false, secure: true };
        return await measureRequests(scope, bench, `TLS, keep-alive c16/${name}`, load, peer);
      }
      const title = `h2, c4 × 16 streams/${name}`;
      const addCpu = countCpu(peer);
      const succeeded = await h2load(scope, peer, bench.seconds);
      bench.samples.add(`${title}/req/s`, succeeded / bench.seconds);
      addCpu(bench.samples, title, '10k', succeeded / 10_000);
    });
  },
};

/**
 * @returns how many requests succeeded
 * @throws Error if one failed, because such a run measures nothing
 */
async function h2load(scope: Scope, { port, host }: RunningPeer, seconds: number): Promise<number> {
  const { connections, streams } = HTTP2;
  const load = ['-t1', `-c${connections}`, `-m${streams}`, `-D${seconds}`, `--connect-to=127.0.0.1:${port}`];
  const program = startProgram(scope, 'h2load', [...load, `https://${host}:${port}/`]);
  const said = await program.finished((seconds + 20) * 1000);
  const [, succeeded, failed] = /(\d+) succeeded, (\d+) failed/.exec(said) ?? [];
  if (failed !== '0' || !said.includes('Application protocol: h2'))
    throw new Error(`requests failed: ${said}`);
  return Number(succeeded);
}

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
const WARM_UP_SECONDS = 4;

/** Warms up Node's compiler with kept and new connections, without measuring. */
export async function warmUp(
  scope: Scope,
  { port, host }: RunningPeer,
  { path = '/', secure = false }: Pick<WrkRun, 'path' | 'secure'> = {},
): Promise<void> {
  for (const closing of [false, true]) {
    await wrk(scope, { path, secure, port, host, connections: 16, closing, seconds: WARM_UP_SECONDS });
  }
}

/** One run of wrk: requests/s, latency, and CPU time of both ends, as samples `name/…`. */
export async function measureRequests(
  scope: Scope,
  { samples, seconds }: Bench,
  name: string,
  load: Pick<WrkRun, 'connections' | 'closing' | 'path' | 'secure'>,
  peer: RunningPeer,
): Promise<void> {
  const addCpu = countCpu(peer);
  const result = await wrk(scope, { ...load, port: peer.port, host: peer.host, seconds });
  samples.add(`${name}/req/s`, result.perSecond);
  samples.add(`${name}/p50 ms`, result.p50);
  samples.add(`${name}/p99 ms`, result.p99);
  addCpu(samples, name, '10k', result.requests / 10_000);
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

interface WrkRun extends Omit<Load, 'name'> {
  readonly port: number;
  /** value of the Host field */
  readonly host: string;
  readonly seconds: number;
  /** whether visitors use TLS, without checking the certificate */
  readonly secure?: boolean;
}

interface WrkResult {
  readonly requests: number;
  readonly perSecond: number;
  /** ms */
  readonly p50: number;
  /** ms */
  readonly p99: number;
}

/** @throws Error if requests failed, because such a run measures nothing */
async function wrk(scope: Scope, run: WrkRun): Promise<WrkResult> {
  const close = run.closing ? ['-H', 'Connection: close'] : [];
  const args = ['-t1', `-c${run.connections}`, `-d${run.seconds}s`, '--latency', '--timeout', '10s'];
  const url = `${run.secure === true ? 'https' : 'http'}://127.0.0.1:${run.port}${run.path ?? '/'}`;
  const program = startProgram(scope, 'wrk', [...args, '-H', `Host: ${run.host}`, ...close, url]);
  return parseWrk(await program.finished((run.seconds + 20) * 1000));
}

const MS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

/** Parses the output of wrk. */
export function parseWrk(output: string): WrkResult {
  const value = (pattern: RegExp): RegExpExecArray => {
    const match = pattern.exec(output);
    if (match === null) throw new Error(`no ${pattern} in what wrk said: ${output}`);
    return match;
  };
  const failed = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(output);
  if (failed !== null) throw new Error(`requests failed: ${failed[0]}`);
  const latency = (percent: string): number => {
    const [, number, unit = ''] = value(new RegExp(`^\\s+${percent}%\\s+([\\d.]+)(us|ms|s|m)\\s*$`, 'm'));
    return Number(number) * (MS[unit] ?? NaN);
  };
  return {
    requests: Number(value(/(\d+) requests in/)[1]),
    perSecond: Number(value(/Requests\/sec:\s+([\d.]+)/)[1]),
    p50: latency('50'),
    p99: latency('99'),
  };
}
