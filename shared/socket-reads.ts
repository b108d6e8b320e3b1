/** How data is read from a socket. */
import type { Duplex } from 'node:stream';

export interface SocketReads {
  /** Whether {@link pause} is in force. */
  readonly isPaused: boolean;
  /** Stops reading, which stops the peer once the system's buffers are full. */
  pause(): void;
  resume(): void;
  /** Immediately hands over data that was read and held back. */
  flush(): void;
}

/** Starts to read a socket, and hands over the data. */
export type ReadSocket = (socket: Duplex, onChunk: (chunk: Buffer) => void) => SocketReads;

/** Hands over all data as it arrives. */
export const readAtOnce: ReadSocket = (socket, onChunk) => {
  socket.on('data', onChunk);
  return {
    get isPaused() {
      return socket.isPaused();
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    flush: () => {},
  };
};
