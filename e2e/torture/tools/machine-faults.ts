/** What a machine may do to a relay that runs on it: begun and ended while it runs. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProgram } from '../../support/child.ts';
import { databasePath } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import { type Environment, type Relay, temporaryDirectory } from '../../support/programs.ts';
import { openRelayDatabase } from '../../support/relay-database.ts';
import type { Scope } from '../../support/scope.ts';

export interface MachineFault {
  readonly name: string;
  /** Whether a relay can start while the fault lasts. */
  readonly lasting: boolean;
  /** @param scope whose end ends the fault */
  begin(scope: Scope, relay: Relay): Promise<void>;
}

/**
 * A disk of its own, of a few megabytes, in memory.
 *
 * @returns its folder; `undefined` if the system does not let anybody mount one
 */
export function smallDisk(scope: Scope): string | undefined {
  const folder = join(temporaryDirectory(scope), 'disk');
  mkdirSync(folder);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status !== 0) return undefined;
  scope.defer(() => execFileSync('umount', [folder]));
  return folder;
}

/** Leaves the disk of the relay's data, a {@link smallDisk}, without a free block. */
export const fullDisk: MachineFault = {
  name: 'a full disk',
  lasting: false,
  begin(scope, { dataDirectory }) {
    const filler = join(dataDirectory, 'filler');
    const { bavail, bsize } = statfsSync(dataDirectory);
    scope.defer(() => rmSync(filler));
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    } catch (error) {
      // The relay has written meanwhile: the disk is as full as it should be.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
    return Promise.resolve();
  },
};

/**
 * System calls on the database and its log fail, by strace.
 *
 * @param calls as strace names them, with commas
 * @param fault what they do instead, in the form of strace's `inject`
 */
export function failingCalls(calls: string, fault: string): MachineFault {
  return {
    name: `${calls} with ${fault}`,
    lasting: false,
    async begin(scope, relay) {
      const { pid } = relay.child;
      const path = databasePath(relay);
      const on = [path, `${path}-wal`].flatMap((file) => ['-P', file]);
      const inject = ['-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`];
      const strace = startProgram(scope, 'strace', [
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-p',
        `${pid}`,
        ...on,
        ...inject,
      ]);
      await eventually(10_000, () => {
        const tracer = /^TracerPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        if (tracer !== String(strace.pid)) throw new Error(`strace does not trace: ${strace.output}`);
      });
    },
  };
}

/** Another program writes, and does not stop. */
export const lockedDatabase: MachineFault = {
  name: 'a locked database',
  lasting: false,
  async begin(scope, relay) {
    const database = await openRelayDatabase(scope, relay);
    await database.holdWrites();
    scope.defer(() => database.release());
  },
};

/** The clock of programs; libfaketime reads it again each time. */
export class ChangingClock {
  /** The environment to start a program with; its monotonic clock stays right, as on a machine whose time is set. */
  readonly environment: Environment;
  readonly #file: string;

  constructor(scope: Scope) {
    this.#file = join(temporaryDirectory(scope), 'clock');
    writeFileSync(this.#file, '+0');
    const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
    if (library === undefined) throw new Error('libfaketime is not installed: e2e/support/setup.sh');
    this.environment = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    };
  }

  /** @param by in the form of libfaketime: `+1h` */
  wrong(by: string): MachineFault {
    return {
      name: `a clock that is ${by} off`,
      lasting: true,
      begin: (scope) => {
        writeFileSync(this.#file, by);
        scope.defer(() => writeFileSync(this.#file, '+0'));
        return Promise.resolve();
      },
    };
  }
}
