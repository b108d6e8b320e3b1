import { AsyncLocalStorage } from 'node:async_hooks';
import type { Socket } from 'node:net';
import { LongTimer } from '../../shared/timer.ts';

/**
 * What keeps the process alive for the sake of one tunnel: its sockets and timers, wherever they are created. The asynchronous context says
 * which tunnel they are for, so that no layer in between has to pass that on.
 */
export class ProcessHold {
  static readonly #current = new AsyncLocalStorage<ProcessHold | undefined>();
  readonly #things = new Set<{ unref(): unknown }>();
  #isReleased = false;

  /** The hold whose {@link run} this code was called from, directly or later. */
  static get current(): ProcessHold | undefined {
    return this.#current.getStore();
  }

  /** Calls a function whose sockets and timers belong to no hold. */
  static outside<T>(call: () => T): T {
    return this.#current.run(undefined, call);
  }

  /** Calls a function. The sockets and timers that it creates, now or later, belong to this hold. */
  run<T>(call: () => T): T {
    return ProcessHold.#current.run(this, call);
  }

  /** From now on, nothing of this hold keeps the process alive. */
  release(): void {
    this.#isReleased = true;
    for (const thing of this.#things) thing.unref();
    this.#things.clear();
  }

  addSocket(socket: Socket): void {
    this.#add(socket);
    socket.once('close', () => this.#things.delete(socket));
  }

  /** Calls back once after `ms` ms, unless cancelled. */
  setTimeout(callback: () => void, ms: number): { cancel(): void } {
    const timer = new LongTimer(
      () => {
        this.#things.delete(timer);
        callback();
      },
      ms,
      true,
    );
    this.#add(timer);
    return {
      cancel: () => {
        this.#things.delete(timer);
        timer.cancel();
      },
    };
  }

  #add(thing: { unref(): unknown }): void {
    if (this.#isReleased) thing.unref();
    else this.#things.add(thing);
  }
}
