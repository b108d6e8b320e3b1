import { AsyncLocalStorage } from 'node:async_hooks';
import type { Socket } from 'node:net';
import { LongTimer } from '../../shared/timer.ts';

/**
 * Precision of most of the client's timeouts: they share one timer, so each is a multiple of this, and fires up
 * to this much later.
 */
export const DEADLINE_TICK_MS = 250;

/** The engine's source of time, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in ms since the epoch, for dates. It jumps when it is set. */
  now(): number;
  /**
   * ms since an arbitrary moment, for durations. It never jumps, and on some systems stops while the machine sleeps.
   */
  monotonic(): number;
  /** Calls `callback` once after `ms` ms of any size, unless cancelled. A waiting timer keeps the process alive. */
  setTimeout(callback: () => void, ms: number): Timer;
}

export interface Timer {
  /** Has no effect once the timer has fired or was cancelled. */
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (callback, ms) =>
    ProcessHold.current?.setTimeout(callback, ms) ?? new LongTimer(callback, ms, true),
};

/** @returns after that many ms, or when it is interrupted */
export function pause(clock: Clock, ms: number, interrupted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      interrupted.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.setTimeout(done, ms);
    interrupted.addEventListener('abort', done, { once: true });
    if (interrupted.aborted) done();
  });
}

/*
 * Deadlines of many things, kept by one coarse timer, because a timer per visitor would be too expensive.
 */

/** Something with a deadline. */
export interface Expiring {
  expire(): void;
}

export class Deadlines {
  readonly #clock: Clock;
  /** the tick at which each expires */
  readonly #due = new Map<Expiring, number>();
  #tick = 0;
  #isTicking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** ms since an arbitrary moment, for durations. */
  now(): number {
    return this.#clock.monotonic();
  }

  /** The number of waiting deadlines. */
  get size(): number {
    return this.#due.size;
  }

  /**
   * Makes the thing expire once, unless it is deleted first. Replaces an existing deadline of the thing.
   *
   * @param ms a multiple of {@link DEADLINE_TICK_MS}; it expires then or up to one tick later
   */
  add(thing: Expiring, ms: number): void {
    // The current tick has already begun.
    const begun = this.#isTicking ? 1 : 0;
    this.#due.set(thing, this.#tick + begun + Math.ceil(ms / DEADLINE_TICK_MS));
    if (!this.#isTicking) this.#schedule();
  }

  delete(thing: Expiring): void {
    this.#due.delete(thing);
  }

  #schedule(): void {
    this.#isTicking = true;
    this.#clock.setTimeout(() => this.#onTick(), DEADLINE_TICK_MS);
  }

  #onTick(): void {
    this.#isTicking = false;
    this.#tick += 1;
    for (const [thing, due] of this.#due) {
      if (due > this.#tick) continue;
      this.#due.delete(thing);
      thing.expire();
    }
    // With nothing to wait for, the timer would only keep the process alive.
    if (this.#due.size > 0 && !this.#isTicking) this.#schedule();
  }
}

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
