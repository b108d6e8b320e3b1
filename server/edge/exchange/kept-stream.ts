/** The one stream a visitor's connection keeps open between requests, for the next one to the same target. */
import type { ByteStream, StreamHandler } from '../../tunnels/stream.ts';

export class KeptStream implements StreamHandler {
  readonly rests = true;
  #target: object | undefined;
  #stream: ByteStream | undefined;

  /** Keeps a stream after its request; it is dropped when its other side ends it or sends something unasked. */
  keep(target: object, stream: ByteStream): void {
    this.#target = target;
    this.#stream = stream;
    stream.attach(this);
  }

  /**
   * Hands out the stream if it leads to the target; any other is ended.
   *
   * @param fresh whether the request needs a stream of its own
   */
  take(target: object, fresh: boolean): ByteStream | undefined {
    if (this.#target !== target || fresh) {
      this.end();
      return undefined;
    }
    const stream = this.#stream;
    this.#stream = undefined;
    return stream;
  }

  /** Ends the stream, if there is one. */
  end(): void {
    this.#stream?.finish();
    this.#stream = undefined;
  }

  onBytes(): void {
    this.#stream?.abort();
    this.#stream = undefined;
  }

  onRoom(): void {}

  onRetired(): void {
    this.end();
  }

  onEnded(): void {
    this.#stream = undefined;
  }
}
