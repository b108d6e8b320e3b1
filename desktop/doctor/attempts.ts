/** Promises for what the engine does with handlers. */
import { say, SaidError } from '../engine/said/said.ts';
import type { Attempt, DialHandler } from '../engine/network/dial.ts';

/** Connects, and closes the connection again. Rejects with what the socket reports. */
export function connectOnce(start: (handler: DialHandler) => Attempt): Promise<void> {
  return new Promise((resolve, reject) => {
    start({
      connected(socket) {
        socket.destroy();
        resolve();
      },
      failed: reject,
    });
  });
}

/** Rejects if the promise has not settled within this many ms. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const deadline = Promise.withResolvers<never>();
  const timer = setTimeout(() => deadline.reject(new SaidError(say('network.silent'))), ms);
  try {
    return await Promise.race([promise, deadline.promise]);
  } finally {
    clearTimeout(timer);
  }
}
