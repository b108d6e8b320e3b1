/**
 * Preloaded by a program whose memory is watched (soak.ts), with `--expose-gc`. At each SIGUSR2 it collects
 * garbage and writes how many bytes are still in use, in its heap and outside it, to a file of its process in the folder
 * that `HEAP_REPORT` names.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';

const report = `${process.env['HEAP_REPORT']}/${process.pid}`;

async function measure() {
  // The second collection frees what finalizers released.
  for (let time = 0; time < 2; time += 1) {
    globalThis.gc?.();
    await turn();
  }
  const { heapUsed, external } = process.memoryUsage();
  // Renamed into place, so that it is never read half-written.
  writeFileSync(`${report}.part`, String(heapUsed + external));
  renameSync(`${report}.part`, report);
}

process.on('SIGUSR2', () => void measure());
