/**
 * Loaded into a program with `--import`: the program dies as if by `kill -9` right after database statement number
 * `DIE_AT`.
 */
import process from 'node:process';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const dieAt = Number(process.env['DIE_AT']);
let statements = 0;

function dieBehind(prototype: object, name: string): void {
  const original: unknown = Reflect.get(prototype, name);
  if (typeof original !== 'function') throw new Error(`there is no ${name}`);
  Reflect.set(prototype, name, function counted(this: unknown, ...args: unknown[]): unknown {
    const result: unknown = Reflect.apply(original, this, args);
    statements += 1;
    if (statements === dieAt) process.kill(process.pid, 'SIGKILL');
    return result;
  });
}

dieBehind(DatabaseSync.prototype, 'exec');
for (const name of ['run', 'all', 'get']) dieBehind(StatementSync.prototype, name);
