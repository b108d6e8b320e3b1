/** Loaded into a program with `--import`: it dies like by `kill -9` behind its PostgreSQL statement number `DIE_AT`. */
import process from 'node:process';
import { Client } from 'pg';

const dieAt = Number(process.env['DIE_AT']);
const original: unknown = Reflect.get(Client.prototype, 'query');
if (typeof original !== 'function') throw new Error('there is no query');
let statements = 0;

Reflect.set(Client.prototype, 'query', async function counted(this: unknown, ...args: unknown[]) {
  const result: unknown = await Reflect.apply(original, this, args);
  statements += 1;
  if (statements === dieAt) process.kill(process.pid, 'SIGKILL');
  return result;
});
