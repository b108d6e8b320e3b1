import type { Socket } from 'node:net';

/**
 * Tells of each complete line that a socket brings.
 *
 * @param maxBytes of one line; a peer that sends a longer one is cut
 */
export function readLines(socket: Socket, maxBytes: number, onLine: (line: string) => void): void {
  let held: Buffer[] = [];
  let size = 0;
  socket.on('data', (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
      const line = Buffer.concat([...held, rest.subarray(0, end)]);
      held = [];
      size = 0;
      rest = rest.subarray(end + 1);
      if (line.length > maxBytes) return void socket.destroy();
      onLine(line.toString());
    }
    if (rest.length === 0) return;
    held.push(rest);
    size += rest.length;
    if (size > maxBytes) socket.destroy();
  });
}
