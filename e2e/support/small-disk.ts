/** A disk that can be full. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  closeSync,
  globSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Environment, temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

/**
 * Mounts a disk of a few megabytes in memory.
 *
 * @returns its folder; `undefined` if this user may not mount anything
 */
export function smallDisk(scope: Scope): string | undefined {
  const folder = join(temporaryDirectory(scope), 'disk');
  mkdirSync(folder);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status !== 0) return undefined;
  scope.defer(() => execFileSync('umount', [folder]));
  return folder;
}

/**
 * Fills a disk to its last block.
 *
 * @returns a function that frees the space again
 */
export function fillDisk(folder: string): () => void {
  const filler = join(folder, 'filler');
  const file = openSync(filler, 'w');
  const piece = Buffer.alloc(65_536);
  try {
    // What statfs(2) tells about a disk in memory is not exact.
    for (;;) writeSync(file, piece);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  } finally {
    closeSync(file);
  }
  return () => rmSync(filler);
}

/* A clock for programs that can be changed while they run. libfaketime reads it again each time. */

export class ChangingClock {
  /** The environment to start a program with. Its monotonic clock stays right, as on a machine whose time is set. */
  readonly environment: Environment;
  readonly #file: string;

  /** @param by the offset in the form of libfaketime: `+1h` */
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
    // Renamed into place, so that readers never see an empty file.
    writeFileSync(`${this.#file}.next`, by);
    renameSync(`${this.#file}.next`, this.#file);
  }
}
