/** Streams that a visitor's connection keeps open between requests, for the next ones to the same target. */
import type { ByteStream, StreamHandler } from '../tunnels/stream.ts';
import { IDLE_TIMEOUT_MS } from './timeouts.ts';

/** A request that may be sent over a kept stream. */
interface NextRequest {
  readonly target: object;
  readonly host: string;
  /** Whether it needs its own stream. */
  readonly fresh: boolean;
  /** Whether it may be sent again. */
  readonly repeatable: boolean;
}

/** What the request before it was sent to, and what its response asks for. */
interface Use extends Pick<NextRequest, 'target' | 'host'> {
  /** Whether the response asks the visitor to authenticate the connection behind the stream. */
  readonly isChallenged: boolean;
}

export class KeptStreams {
  readonly #max: number;
  readonly #now: () => number;
  /** the one that was used last comes last */
  readonly #kept: KeptStream[] = [];

  /**
   * @param max number of streams
   * @param now monotonic ms
   */
  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  /** Whether several requests use it at a time, so that no stream can be somebody's alone. */
  get isShared(): boolean {
    return this.#max > 1;
  }

  /** Keeps a stream after its request; it is dropped when its other side ends it or sends unexpected bytes. */
  keep(stream: ByteStream, use: Use): void {
    this.#makeRoom();
    const kept = new KeptStream(stream, use, this.#now() + IDLE_TIMEOUT_MS, this.#drop);
    this.#kept.push(kept);
    stream.attach(kept);
  }

  /** Hands out a stream that the request may use; if there is none, ends one that is in the way of a new one. */
  take(request: NextRequest): ByteStream | undefined {
    for (let index = request.fresh ? -1 : this.#kept.length - 1; index >= 0; index -= 1) {
      const kept = this.#kept[index];
      if (kept?.serves(request) !== true) continue;
      this.#kept.splice(index, 1);
      return kept.stream;
    }
    this.#makeRoom();
    return undefined;
  }

  /** Ends those that were not used for a while. */
  tick(now: number): void {
    for (let [oldest] = this.#kept; oldest !== undefined && oldest.until <= now; [oldest] = this.#kept)
      oldest.onRetired();
  }

  /** Ends all. */
  end(): void {
    for (let last = this.#kept.at(-1); last !== undefined; last = this.#kept.at(-1)) last.onRetired();
  }

  #makeRoom(): void {
    if (this.#kept.length >= this.#max) this.#kept[0]?.onRetired();
  }

  readonly #drop = (kept: KeptStream): void => {
    const index = this.#kept.indexOf(kept);
    if (index !== -1) this.#kept.splice(index, 1);
  };
}

class KeptStream implements StreamHandler {
  readonly rests = true;
  readonly stream: ByteStream;
  /** Monotonic ms until which it waits for a request. */
  readonly until: number;
  readonly #use: Use;
  readonly #drop: (kept: KeptStream) => void;

  constructor(stream: ByteStream, use: Use, until: number, drop: (kept: KeptStream) => void) {
    this.stream = stream;
    this.until = until;
    this.#use = use;
    this.#drop = drop;
  }

  /**
   * Whether it may serve a request. An idle connection may end at the moment it is reused, which a request that cannot
   * be repeated must not encounter, unless it is the next step of authenticating that connection.
   */
  serves({ target, host, repeatable }: NextRequest): boolean {
    const { target: before, host: hostBefore, isChallenged } = this.#use;
    return before === target && hostBefore === host && (repeatable || isChallenged);
  }

  onBytes(): void {
    this.#drop(this);
    this.stream.abort();
  }

  onRoom(): void {}

  onRetired(): void {
    this.#drop(this);
    this.stream.finish();
  }

  onEnded(): void {
    this.#drop(this);
  }
}
