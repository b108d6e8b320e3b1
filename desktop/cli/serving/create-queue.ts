import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock } from '../../engine/clock.ts';
import type { ApiClient, CreateRequest } from '../../engine/relay/api-client.ts';
import { RelayRefusal } from '../../engine/relay/errors.ts';
import { CREATE_RETRIES_MAX, CREATE_RETRY_MS } from '../limits.ts';

/** Creates one tunnel after the other, and waits if the relay says that this is too fast (docs/protocol.md section 3.2). */
export class CreateQueue {
  readonly #interrupted: AbortSignal;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(interrupted: AbortSignal, clock: Clock) {
    this.#interrupted = interrupted;
    this.#clock = clock;
  }

  /** @throws what {@link ApiClient.createTunnel} throws, or the reason of the interruption */
  create(api: ApiClient, request: CreateRequest): Promise<Tunnel> {
    const turn = this.#last.then(() => this.#try(api, request));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #try(api: ApiClient, request: CreateRequest): Promise<Tunnel> {
    for (let tries = 1; ; tries += 1) {
      this.#interrupted.throwIfAborted();
      try {
        return await api.createTunnel(request);
      } catch (error) {
        const isLimited = error instanceof RelayRefusal && error.status === 429;
        if (!isLimited || tries > CREATE_RETRIES_MAX) throw error;
        await this.#wait(Math.min(error.retryAfterMs ?? CREATE_RETRY_MS, CREATE_RETRY_MS));
      }
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#interrupted.removeEventListener('abort', done);
        resolve();
      };
      const timer = this.#clock.setTimeout(done, ms);
      this.#interrupted.addEventListener('abort', done, { once: true });
    });
  }
}
