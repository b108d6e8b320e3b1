import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { eventually } from './deadline.ts';
import type { Relay } from './programs.ts';
import { visit } from './raw-http.ts';

/** Memory of a process in bytes: currently resident, and its peak. */
interface Memory {
  readonly resident: number;
  readonly peak: number;
}

/** Reads `/proc/PID/status` (proc(5): `VmRSS`, `VmHWM`); Linux only. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (field: string): number => {
    const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
    return Number(kibibytes) * 1024;
  };
  return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
}

/** Bytes that the processes have resident together. */
export function residentOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + memoryOf(pid).resident, 0);
}

/** Settings of a relay that exposes its metrics. */
export const WITH_METRICS = { CULVERT_METRICS_PORT: '0' };

/** Series by name and labels, as in `/metrics`. */
type Series = ReadonlyMap<string, number>;

/** The current metrics of a relay that runs {@link WITH_METRICS} (docs/operating/monitoring.md). */
export async function metricsOf(relay: Relay): Promise<Series> {
  const { status, text } = await visit(await metricsPort(relay), { host: 'localhost', target: '/metrics' });
  assert.equal(status, 200);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line): [string, number] => {
      const [, series = '', value] = /^(\S.*) (\S+)$/.exec(line) ?? assert.fail(`not a series: ${line}`);
      return [series, Number(value)];
    }),
  );
}

/** The port of the listener for metrics, of a relay with the settings {@link WITH_METRICS}. */
export async function metricsPort({ child }: Relay): Promise<number> {
  return await eventually(20_000, () => {
    const port = /"url":"http:\/\/127\.0\.0\.1:(\d+)\/metrics"/.exec(child.stderr)?.[1];
    return Number(port ?? assert.fail('the log does not say where metrics are'));
  });
}

/** Waits until a relay that runs {@link WITH_METRICS} holds this many trunks. */
export async function trunksOf(relay: Relay, count: number): Promise<void> {
  await eventually(20_000, async () => assert.equal((await metricsOf(relay)).get('culvert_trunks'), count));
}
