/** Joins two connections byte for byte: what comes from one goes to the other, and both end together. */
import type { Duplex } from 'node:stream';

/** @param onEnd told once, when both have ended */
export function splice(one: Duplex, other: Duplex, onEnd: () => void): void {
  let open = 2;
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => {
      // Behind a clean end everything was handed on already, and the other ends by itself.
      if (!from.readableEnded) to.destroy();
      open -= 1;
      if (open === 0) onEnd();
    });
    from.pipe(to);
  }
}
