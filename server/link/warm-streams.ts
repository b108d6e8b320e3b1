/**
 * Data sockets that a tunnel's client has offered ahead of need (docs/protocol.md section 6.4): a visitor gets one without
 * the round trips of announcing it.
 */
import { CloseCode } from '../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import { WARM_IDLE_MS } from '../limits.ts';
import type { DataStream } from './data-stream.ts';

export class WarmStreams {
  readonly #clock: Clock;
  /** oldest first, each with the timer that ends it */
  readonly #idle = new Map<DataStream, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#idle.size;
  }

  /** Keeps a stream until it is taken, ends, or has been idle for {@link WARM_IDLE_MS}. */
  add(stream: DataStream): void {
    const timer = this.#clock.setTimeout(() => {
      this.#idle.delete(stream);
      stream.finish();
    }, WARM_IDLE_MS);
    this.#idle.set(stream, timer);
    stream.attach({
      // Nothing was asked yet, so there is nothing to answer.
      onBytes: () => stream.cut(CloseCode.protocolError),
      onRoom: () => {},
      onEnded: () => this.#remove(stream),
    });
  }

  /** Gives the oldest away. */
  take(): DataStream | undefined {
    for (const stream of this.#idle.keys()) {
      this.#remove(stream);
      return stream;
    }
    return undefined;
  }

  /** Ends all of them. */
  close(code: number): void {
    for (const stream of this.#idle.keys()) stream.cut(code);
  }

  #remove(stream: DataStream): void {
    this.#idle.get(stream)?.cancel();
    this.#idle.delete(stream);
  }
}
