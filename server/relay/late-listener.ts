/**
 * A listener whose code is loaded when the relay already listens, or with the first request that comes before: visitors of
 * tunnels do not wait for what only the API needs.
 */
import type { RequestListener } from 'node:http';

export class LateListener {
  readonly #load: () => Promise<RequestListener>;
  #loading: Promise<void> | undefined;
  #listener: RequestListener | undefined;

  constructor(load: () => Promise<RequestListener>) {
    this.#load = load;
  }

  /** Loads it now. */
  load(): Promise<void> {
    return (this.#loading ??= this.#take());
  }

  /** Takes a request, which waits while the listener is being loaded. */
  readonly handle: RequestListener = (request, response) => {
    if (this.#listener !== undefined) return this.#listener(request, response);
    // Where it cannot be loaded the relay ends, since the program is not whole.
    void this.load().then(() => this.#listener?.(request, response));
  };

  async #take(): Promise<void> {
    this.#listener = await this.#load();
  }
}
