/** The one stream a visitor's connection keeps open between requests, for the next one to the same target. */
import type { ByteStream } from '../tunnels/stream.ts';

export class KeptStream {
  #kept: { readonly target: object; readonly stream: ByteStream } | undefined;

  /** Keeps a stream that a request has left; it is let go when its other side ends it or sends unasked. */
  keep(target: object, stream: ByteStream): void {
    this.#kept = { target, stream };
    const letGo = (): void => {
      if (this.#kept?.stream === stream) this.#kept = undefined;
    };
    stream.attach({
      onData: () => {
        letGo();
        stream.abort();
      },
      onDrain: () => {},
      onClose: letGo,
    });
  }

  /**
   * Gives the stream away if it leads to the target; any other is ended.
   *
   * @param fresh whether the request needs a stream of its own
   */
  take(target: object, fresh: boolean): ByteStream | undefined {
    if (this.#kept?.target !== target || fresh) {
      this.end();
      return undefined;
    }
    const { stream } = this.#kept;
    this.#kept = undefined;
    return stream;
  }

  /** Ends the stream, if there is one. */
  end(): void {
    this.#kept?.stream.finish();
    this.#kept = undefined;
  }
}
