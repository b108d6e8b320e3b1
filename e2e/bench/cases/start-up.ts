/** The cost of starting the programs, compared with Node and an empty file. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CULVERT_SCRIPT,
  Relay,
  RELAY_SCRIPT,
  spawnRelay,
  temporaryDirectory,
} from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { cpuSeconds, endedCpuSeconds } from '../../support/processes.ts';
import { rotated } from '../stats.ts';
import type { Case } from './requests.ts';

/** How often each program is started in each round. The kernel counts in steps of 10 ms, which the mean evens out. */
const STARTS = 10;
/** ms for a command on a busy machine. */
const COMMAND_MS = 30_000;

export const startUp: Case = {
  name: 'start-up',
  async run(scope, { rounds, samples, log }) {
    const relay = await Relay.start(scope);
    const empty = join(temporaryDirectory(scope), 'empty.js');
    writeFileSync(empty, '');
    const administration = { ...process.env, ...relay.databaseSettings };
    const client = { ...process.env, CULVERT_RELAY: relay.url, CULVERT_API_KEY: relay.bootstrapKey };
    const starts = new Map<string, () => number | Promise<number>>([
      ['node', () => command(process.env, empty)],
      ['culvert --version', () => command(process.env, CULVERT_SCRIPT, '--version')],
      ['culvert list', () => command(client, CULVERT_SCRIPT, 'list')],
      ['culvert-relay --version', () => command(process.env, RELAY_SCRIPT, '--version')],
      ['culvert-relay account list', () => command(administration, RELAY_SCRIPT, 'account', 'list')],
      [
        'culvert-relay key create',
        () => command(administration, RELAY_SCRIPT, 'key', 'create', '--account', 'default'),
      ],
      ['culvert-relay serve', () => serve(scope)],
    ]);
    for (let round = 0; round < rounds; round += 1) {
      const sums = new Map<string, number>();
      for (let each = 0; each < STARTS; each += 1) {
        for (const [name, start] of rotated([...starts], each))
          sums.set(name, (sums.get(name) ?? 0) + (await start()));
      }
      for (const name of starts.keys())
        samples.add(`start-up/${name}/CPU ms`, ((sums.get(name) ?? NaN) / STARTS) * 1000);
      log(`start-up: round ${round + 1}`);
    }
  },
};

/** Runs a command. @returns CPU seconds, in user and kernel together */
function command(env: NodeJS.ProcessEnv, script: string, ...args: string[]): number {
  const before = endedCpuSeconds(process.pid);
  const { status, stderr } = spawnSync(process.execPath, [script, ...args], {
    env,
    encoding: 'utf8',
    timeout: COMMAND_MS,
  });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return endedCpuSeconds(process.pid) - before;
}

/** Starts a relay on an empty folder. @returns CPU seconds until it listens */
async function serve(scope: Scope): Promise<number> {
  const folder = temporaryDirectory(scope);
  const child = spawnRelay(scope, ['serve'], { CULVERT_DATA_DIR: folder, CULVERT_PORT: '0' });
  const seconds = await child.line((line) =>
    line.startsWith('listening on') ? cpuSeconds([child.pid]) : undefined,
  );
  await child.stop('SIGKILL');
  return seconds;
}
