/**
 * Loaded into a program with `--import`: the program dies as if by `kill -9` right after its PostgreSQL statement
 * number `DIE_AT`, or when a connection has just been opened. It watches the wire, because the program's driver is
 * bundled into it.
 */
import { Socket } from 'node:net';
import process from 'node:process';

/** ReadyForQuery (PostgreSQL's protocol, section "Message Formats"), its type and length. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5]);

const dieAt = Number(process.env['DIE_AT']);
const original: unknown = Reflect.get(Socket.prototype, 'push');
if (typeof original !== 'function') throw new Error('there is no push');
let statements = 0;

Reflect.set(Socket.prototype, 'push', function counted(this: unknown, ...args: unknown[]): unknown {
  const [chunk] = args;
  if (Buffer.isBuffer(chunk)) statements += countIn(chunk);
  if (statements >= dieAt) process.kill(process.pid, 'SIGKILL');
  return Reflect.apply(original, this, args);
});

function countIn(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(READY_FOR_QUERY); at !== -1; at = chunk.indexOf(READY_FOR_QUERY, at + 1))
    count += 1;
  return count;
}
