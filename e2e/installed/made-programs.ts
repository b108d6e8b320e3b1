import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../release/repository.ts';

/** The system of this machine, as programs are named. */
export const SYSTEM = `linux-${process.arch}`;

export const DEBIAN_ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

const FOLDER = join(ROOT, 'dist-programs');
let isMade = false;

/** @returns the folder of the programs for this system, made once in a run from what `npm run build` left */
export function madePrograms(): string {
  if (!isMade)
    execFileSync(process.execPath, [join(ROOT, 'release/programs.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  isMade = true;
  return FOLDER;
}
