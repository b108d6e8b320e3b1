/** A disk that can be full. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';

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

/**
 * Leaves a disk without a free block.
 *
 * @returns makes room again
 */
export function fillDisk(folder: string): () => void {
  const filler = join(folder, 'filler');
  const { bavail, bsize } = statfsSync(folder);
  try {
    writeFileSync(filler, Buffer.alloc(bavail * bsize));
  } catch (error) {
    // Somebody has written meanwhile: the disk is as full as it should be.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  }
  return () => rmSync(filler);
}
