import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let root: string | undefined;

/** @returns a new directory that is removed when the process ends */
export function temporaryDirectory(): string {
  if (root === undefined) {
    const all = mkdtempSync(join(tmpdir(), 'culvert-test-'));
    process.once('exit', () => rmSync(all, { recursive: true, force: true }));
    root = all;
  }
  return mkdtempSync(join(root, 'd-'));
}
