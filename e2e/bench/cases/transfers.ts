/** One visitor downloads and uploads 1 GiB: MB/s, and CPU time of both ends. */
import { fileURLToPath } from 'node:url';
import type { Scope } from '../../support/scope.ts';
import { type RunningPeer, startPeers } from '../peers/peer.ts';
import { startProgram } from '../../support/child.ts';
import { rotated, type Samples } from '../stats.ts';
import type { Case } from './case.ts';
import { countCpu } from './cpu.ts';

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
