import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../release/repository.ts';

/** The system of this machine, as programs are named. */
export const SYSTEM = `linux-${process.arch}`;

const FOLDER = join(ROOT, 'dist-programs');
let isMade = false;

/** @returns the folder of the programs for this system, made once in a run */
export function madePrograms(): string {
  if (!isMade)
    execFileSync('npm', ['run', '--silent', 'programs'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  isMade = true;
  return FOLDER;
}
