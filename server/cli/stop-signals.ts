import type { SignalListener } from './command.ts';

/**
 * The signals that end a relay. Until it is about to serve, the first one ends the process: nobody depends on it yet, and
 * a relay that it is to replace continues. After that, the relay stops in order as soon as it serves.
 */
export class StopSignals implements SignalListener {
  reload: SignalListener['reload'];
  #isCommitted = false;
  readonly #come = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  readonly #startEnded = Promise.withResolvers<void>();
  #count = 0;

  stop(): void {
    this.#come[Math.min(this.#count, 1)]?.resolve();
    this.#count += 1;
    if (!this.#isCommitted) this.#startEnded.resolve();
  }

  /** Fulfilled at the first signal before {@link commit}, or by {@link endStart}. */
  get startEnded(): Promise<void> {
    return this.#startEnded.promise;
  }

  get first(): Promise<void> {
    return this.#come[0].promise;
  }

  get second(): Promise<void> {
    return this.#come[1].promise;
  }

  get hasCome(): boolean {
    return this.#count > 0;
  }

  /** To be awaited before anybody is served. It is never fulfilled if a signal has ended the start. */
  async commit(): Promise<void> {
    this.#isCommitted ||= !this.hasCome;
    if (!this.#isCommitted) await this.endStart();
  }

  /** @returns never fulfilled */
  endStart(): Promise<never> {
    this.#startEnded.resolve();
    return new Promise(() => {});
  }
}
