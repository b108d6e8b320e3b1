/** Pipes one data socket and one local connection to each other (spec.md section 4.7). */
import type { Socket } from 'node:net';
import { CloseCode } from '../../shared/control.ts';
import { isCleanClose, type WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { Clock } from './clock.ts';
import { LOCAL_LINGER_MS } from './limits.ts';

/** What a bridge needs of a data socket. */
export type DataStream = Pick<
  WebSocketByteStream,
  'attach' | 'write' | 'pause' | 'resume' | 'close' | 'destroy'
>;

/**
 * Backpressure works both ways: the side that cannot write pauses the other's reading, and nothing else is queued.
 *
 * Endings: the local service's clean end is close 1000, behind everything it sent; its reset is close 1011, so that
 * the relay breaks the visitor's connection instead of completing it. A clean close of the relay ends the local
 * connection and waits {@link LOCAL_LINGER_MS} for it; any other cuts it at once, since the visitor is gone.
 *
 * @param local connected, not read yet, half-open allowed, with an `error` listener
 * @param onEnd called once, when the local connection is closed
 */
export function bridge(stream: DataStream, local: Socket, clock: Clock, onEnd: () => void): void {
  let ended = false;

  if (local.destroyed) {
    stream.close(CloseCode.internalError);
    onEnd();
    return;
  }
  local.on('data', onLocalData);
  local.on('drain', () => stream.resume());
  local.on('end', onLocalEnd);
  local.on('close', onLocalClose);
  stream.attach({ onData, onDrain: () => local.resume(), onClose });

  function onData(chunk: Buffer): void {
    if (local.writable && !local.write(chunk)) stream.pause();
  }

  function onLocalData(chunk: Buffer): void {
    if (!stream.write(chunk)) local.pause();
  }

  function onLocalEnd(): void {
    if (ended) return;
    ended = true;
    stream.close(CloseCode.normal);
    endLocal();
  }

  function onClose(code: number): void {
    ended = true;
    if (isCleanClose(code)) endLocal();
    else local.destroy();
  }

  function onLocalClose(): void {
    if (!ended) {
      ended = true;
      stream.close(CloseCode.internalError);
    }
    onEnd();
  }

  function endLocal(): void {
    local.end();
    // Nobody takes what it still sends; unread, its end would never be seen.
    local.resume();
    const timer = clock.setTimeout(() => local.destroy(), LOCAL_LINGER_MS);
    local.once('close', () => timer.cancel());
  }
}
