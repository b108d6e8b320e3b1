import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { compileFunction } from 'node:vm';

/** Runs a bundle as Electron would, with another `electron` module. */
export function loadBundle(file: string, electron: object): void {
  const require = createRequire(file);
  const load = (name: string): unknown => (name === 'electron' ? electron : require(name));
  const names = ['require', 'module', 'exports', '__dirname', '__filename'];
  const run = compileFunction(readFileSync(file, 'utf8'), names, { filename: file });
  const module = { exports: {} };
  run(load, module, module.exports, dirname(file), file);
}
