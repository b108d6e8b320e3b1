/** One visitor downloads and uploads 1 GiB: MB/s, and CPU time of both ends. */
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../support/child.ts';
import type { Scope } from '../../support/scope.ts';
import { startFiles } from '../nginx-program.ts';
import { culvertAnd, type RunningPeer, startPeers } from '../peers/peer.ts';
import { rotated, type Samples } from '../stats.ts';
import { type Bench, type Case, countCpu, measureRequests, warmUp } from './requests.ts';

const BYTES = 1024 ** 3;
const TRANSFER_TIMEOUT_MS = 60_000;
const SERVICE = fileURLToPath(new URL('../programs/transfer-service.ts', import.meta.url));
const VISITOR = fileURLToPath(new URL('../programs/transfer-visitor.ts', import.meta.url));

export const transfers: Case = {
  name: 'transfers',
  async run(scope, bench) {
    const servicePort = await startTransferService(scope);
    const running = await startPeers(scope, bench.peers, servicePort);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const direction of ['download', 'upload']) {
        for (const { name, peer } of rotated(running, round)) {
          await measure(scope, bench.samples, direction, name, peer);
        }
      }
      bench.log(`transfers: round ${round} of ${bench.rounds}`);
    }
  },
};

/** @returns the port of a service for {@link VISITOR} */
export async function startTransferService(scope: Scope): Promise<number> {
  const service = startProgram(scope, process.execPath, [SERVICE]);
  return Number((await service.printed(/^listening (\d+)$/m))[1]);
}

async function measure(
  scope: Scope,
  samples: Samples,
  direction: string,
  name: string,
  peer: RunningPeer,
): Promise<void> {
  const addCpu = countCpu(peer);
  const seconds = await transfer(scope, { port: peer.port, host: peer.host, direction, bytes: BYTES });
  const prefix = `${direction}/${name}`;
  samples.add(`${prefix}/MB/s`, BYTES / 1e6 / seconds);
  addCpu(samples, prefix, 'GiB', 1);
}

/**
 * Moves one body through a tunnel, `download` or `upload`.
 *
 * @returns the seconds it took
 * @throws Error when it did not arrive whole
 */
export async function transfer(
  scope: Scope,
  { port, host, direction, bytes }: { port: number; host: string; direction: string; bytes: number },
): Promise<number> {
  const args = [VISITOR, String(port), host, direction, String(bytes)];
  const output = await startProgram(scope, process.execPath, args).finished(TRANSFER_TIMEOUT_MS);
  return Number(/^seconds ([\d.]+)$/m.exec(output)?.[1]);
}

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

const VISITORS = 16;
const WEB_SOCKETS_SERVICE = fileURLToPath(new URL('../programs/echo-service.ts', import.meta.url));
const WEB_SOCKETS_VISITOR = fileURLToPath(new URL('../programs/echo-visitor.ts', import.meta.url));

export const webSockets: Case = {
  name: 'web-sockets',
  async run(scope, bench) {
    const service = startProgram(scope, process.execPath, [WEB_SOCKETS_SERVICE]);
    const servicePort = Number((await service.printed(/^listening (\d+)$/m))[1]);
    const running = await startPeers(scope, culvertAnd(bench.peers, 'direct', 'ssh'), servicePort);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const { name, peer } of rotated(running, round)) {
        await webSocketsMeasure(scope, bench, `WebSocket echo c${VISITORS}/${name}`, peer);
      }
      bench.log(`web-sockets: round ${round} of ${bench.rounds}`);
    }
  },
};

async function webSocketsMeasure(
  scope: Scope,
  { samples, seconds }: Bench,
  name: string,
  peer: RunningPeer,
): Promise<void> {
  const args = [WEB_SOCKETS_VISITOR, String(peer.port), peer.host, String(VISITORS), String(seconds)];
  const output = await startProgram(scope, process.execPath, args).finished((seconds + 20) * 1000);
  const [, perSecond, p50, p99] = /^messages ([\d.]+) p50 ([\d.]+) p99 ([\d.]+)$/m.exec(output) ?? [];
  samples.add(`${name}/messages/s`, Number(perSecond));
  samples.add(`${name}/p50 ms`, Number(p50));
  samples.add(`${name}/p99 ms`, Number(p99));
}
