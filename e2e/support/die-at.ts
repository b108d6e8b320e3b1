/**
 * Loaded into a program with `--import`: the program dies as if by `kill -9` right after its database statement number
 * `DIE_AT`, or when a connection to PostgreSQL has just been opened. That is noticed on the wire, because the driver is
 * bundled into the program.
 */
import { Socket } from 'node:net';
import process from 'node:process';
import { DatabaseSync, StatementSync } from 'node:sqlite';

/** ReadyForQuery (PostgreSQL's protocol, section "Message Formats"), its type and length. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5]).toString('latin1');

const dieAt = Number(process.env['DIE_AT']);
let statements = 0;

function done(count: number): void {
  statements += count;
  if (statements >= dieAt) process.kill(process.pid, 'SIGKILL');
}

function replace(owner: object, name: string, by: (call: () => unknown, first: unknown) => unknown): void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') throw new Error(`there is no ${name}`);
  Reflect.set(owner, name, function counted(this: unknown, ...args: unknown[]): unknown {
    return by(() => Reflect.apply(original, this, args) as unknown, args[0]);
  });
}

replace(Socket.prototype, 'push', (call, chunk) => {
  if (Buffer.isBuffer(chunk)) done(chunk.toString('latin1').split(READY_FOR_QUERY).length - 1);
  return call();
});
for (const [owner, name] of [
  [DatabaseSync.prototype, 'exec'],
  ...['run', 'all', 'get'].map((each) => [StatementSync.prototype, each] as const),
] as const)
  replace(owner, name, (call) => {
    const result = call();
    done(1);
    return result;
  });
