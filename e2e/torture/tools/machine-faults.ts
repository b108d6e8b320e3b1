/** What a machine may do to a relay that runs on it: begun and ended while it runs. */
import { readFileSync } from 'node:fs';
import type { ChangingClock } from '../../support/changing-clock.ts';
import { startProgram } from '../../support/child.ts';
import { databasePath } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import type { Relay } from '../../support/programs.ts';
import { openRelayDatabase } from '../../support/relay-database.ts';
import type { Scope } from '../../support/scope.ts';
import { fillDisk } from '../../support/small-disk.ts';

export interface MachineFault {
  readonly name: string;
  /** Whether a relay can start while the fault lasts. */
  readonly lasting: boolean;
  /** @param scope whose end ends the fault */
  begin(scope: Scope, relay: Relay): Promise<void>;
}

/** Leaves the disk of the relay's data, a `smallDisk`, without a free block. */
export const fullDisk: MachineFault = {
  name: 'a full disk',
  lasting: false,
  begin(scope, { dataDirectory }) {
    const empty = fillDisk(dataDirectory);
    scope.defer(empty);
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

/** @param by in the form of libfaketime: `+1h` */
export function wrongClock(clock: ChangingClock, by: string): MachineFault {
  return {
    name: `a clock that is ${by} off`,
    lasting: true,
    begin: (scope) => {
      clock.set(by);
      scope.defer(() => clock.set('+0'));
      return Promise.resolve();
    },
  };
}
