/** Joins a visitor's connection and a stream, once both speak WebSocket and nothing is left to follow. */
import type { Socket } from 'node:net';
import { LINGER_TIMEOUT_MS } from '../limits.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { StallGuard } from './stall-guard.ts';

/**
 * Passes bytes on in both directions until one side ends; then the other is ended too (spec.md section 4.7).
 *
 * @param socket with nothing listening to it but for errors
 * @param onClosed called once, when the visitor's connection is closed
 */
export function pipe(socket: Socket, stream: ByteStream, onClosed: () => void): void {
  const stall = new StallGuard(socket);
  socket.on('data', (bytes: Buffer) => {
    if (!stream.write(bytes)) socket.pause();
  });
  socket.on('drain', () => {
    stall.relax();
    stream.resume();
  });
  socket.on('end', () => {
    stream.finish();
    end();
  });
  socket.on('close', () => {
    stream.abort();
    onClosed();
  });
  stream.attach({
    onData(bytes) {
      if (socket.write(bytes)) return;
      stream.pause();
      stall.watch();
    },
    onDrain: () => socket.resume(),
    onClose(clean) {
      if (clean) end();
      else socket.destroy();
    },
  });

  function end(): void {
    stall.watch();
    socket.end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
  }
}
