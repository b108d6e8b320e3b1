/** A relay that crashes under the limit that the shipped unit sets. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { within } from '../../../support/deadline.ts';
import { newApiKey, RELAY_SCRIPT, temporaryDirectory } from '../../../support/programs.ts';
import { reapProcess } from '../../../support/reaper.ts';
import type { Scope } from '../../../support/scope.ts';

const UNITS = ['culvert-relay.service', 'culvert-relay@.service'];
const START_MS = 50_000;
const END_MS = 60_000;

/** `LimitCORE` of each shipped unit, in the form of `ulimit`; systemd itself sets none. */
export function shippedCoreLimits(): string[] {
  return UNITS.map((unit) => {
    const text = readFileSync(new URL(`../../../../server/deploy/${unit}`, import.meta.url), 'utf8');
    return /^LimitCORE=(\S+)$/m.exec(text)?.[1] ?? 'unlimited';
  });
}

/**
 * Makes a relay crash as a memory fault does.
 *
 * @param limit the largest size of a core dump
 * @returns files it left in the folder it ran in
 */
export async function crash(scope: Scope, limit: string): Promise<string[]> {
  const folder = temporaryDirectory(scope);
  const data = temporaryDirectory(scope);
  const command = ['-c', 'ulimit -c "$0" && exec "$@"', limit, process.execPath, RELAY_SCRIPT, 'serve'];
  const child = spawn('sh', command, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, CULVERT_PORT: '0', CULVERT_DATA_DIR: data, CULVERT_BOOTSTRAP_KEY: newApiKey() },
  });
  reapProcess(child);
  scope.defer(() => child.kill('SIGKILL'));
  await within(START_MS, 'start of the relay', once(child.stdout, 'data'));
  const ended = once(child, 'exit');
  child.kill('SIGSEGV');
  await within(END_MS, 'end of the relay', ended);
  return readdirSync(folder);
}
