/** Joins a visitor's connection and a stream once both speak WebSocket and there is nothing left to follow. */
import type { Socket } from 'node:net';
import { LINGER_TIMEOUT_MS } from '../../limits.ts';
import { TurnedReads } from '../../../shared/fairness/turned-reads.ts';
import type { ByteStream } from '../../tunnels/stream.ts';
import { VisitorOutput } from './visitor-output.ts';

/**
 * Passes bytes on in both directions until one side ends; then the other is ended too (docs/protocol.md section 6.3).
 *
 * @param socket with nothing listening to it but for errors
 * @param group with whom it takes turns when it sends much
 * @param onClosed called once, when the visitor's connection is closed
 */
export function pipe(socket: Socket, stream: ByteStream, group: unknown, onClosed: () => void): void {
  const output = new VisitorOutput(socket, () => stream.resume());
  const reads = new TurnedReads(socket, () => group, {
    onChunk(bytes) {
      if (!stream.write(bytes)) reads.pause();
    },
    onEnd() {
      stream.finish();
      end();
    },
  });
  socket.on('close', () => {
    reads.flush();
    stream.abort();
    onClosed();
  });
  stream.attach({
    onBytes(bytes) {
      output.send(bytes);
      if (output.isFull) stream.pause();
    },
    onRoom: () => reads.resume(),
    onEnded(clean) {
      if (clean) end();
      else socket.destroy();
    },
  });

  function end(): void {
    output.end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
  }
}
