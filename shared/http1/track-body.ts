import type { BodyTracker } from './body.ts';
import { ChunkedBody } from './chunked.ts';
import type { Framing } from './framing.ts';

/** A tracker for the framing; `onPayload` receives the content of a chunked body without its framing. */
export function trackBody(framing: Framing, onPayload?: (piece: Buffer) => void): BodyTracker {
  switch (framing.kind) {
    case 'none':
      return new LengthBody(0);
    case 'length':
      return new LengthBody(framing.length);
    case 'chunked':
      return new ChunkedBody(onPayload);
    case 'until-close':
      return new UntilCloseBody();
  }
}

class LengthBody implements BodyTracker {
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  advance(chunk: Buffer, start: number): number {
    const taken = Math.min(this.#left, chunk.length - start);
    this.#left -= taken;
    return start + taken;
  }
}

class UntilCloseBody implements BodyTracker {
  readonly done = false;

  advance(chunk: Buffer): number {
    return chunk.length;
  }
}
