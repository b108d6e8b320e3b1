/** The clock of programs; libfaketime reads it again each time. */
import { globSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

export class ChangingClock {
  /** The environment to start a program with; its monotonic clock stays right, as on a machine whose time is set. */
  readonly environment: Environment;
  readonly #file: string;

  /** @param by how far it is off, in the form of libfaketime: `+1h` */
  constructor(scope: Scope, by = '+0') {
    this.#file = join(temporaryDirectory(scope), 'clock');
    this.set(by);
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

  set(by: string): void {
    // Never empty for those who read it.
    writeFileSync(`${this.#file}.next`, by);
    renameSync(`${this.#file}.next`, this.#file);
  }
}
