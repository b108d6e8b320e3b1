/** Joins two connections: data, backpressure and endings, nothing else. */
import type { Socket } from 'node:net';

/**
 * Pipes two sockets to each other. The end of one ends the other, and an error on one destroys the other.
 *
 * @param first nothing listens to its data yet
 * @param second the same
 */
export function splice(first: Socket, second: Socket): void {
  pass(first, second);
  pass(second, first);
}

function pass(from: Socket, to: Socket): void {
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => to.end());
  from.on('close', () => to.destroy());
}

/** A socket's first line, and the bytes after it; for lines shorter than a packet. */
export function readLine(socket: Socket, onLine: (line: string, rest: Buffer) => void): void {
  socket.once('data', (chunk: Buffer) => {
    const end = chunk.indexOf('\n');
    // Both ends belong to this benchmark, on loopback: a line always arrives whole.
    if (end < 0) socket.destroy();
    else onLine(chunk.toString('latin1', 0, end), chunk.subarray(end + 1));
  });
}
