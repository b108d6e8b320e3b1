/** Ends tunnels when their time is over (docs/protocol.md section 3.5). */
import type { Clock, Timer } from '../clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export class Expiry {
  readonly #clock: Clock;
  readonly #onExpired: (tunnel: LiveTunnel) => void;
  readonly #timers = new Map<LiveTunnel, Timer>();

  /** @param onExpired called once for each watched tunnel whose deadline has passed */
  constructor(clock: Clock, onExpired: (tunnel: LiveTunnel) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Again where its deadline has moved to an earlier time. */
  watch(tunnel: LiveTunnel): void {
    this.#timers.get(tunnel)?.cancel();
    const wait = Math.max(0, Math.ceil(tunnel.deadline - this.#clock.monotonic()));
    const timer = this.#clock.setTimeout(() => this.#check(tunnel), wait);
    this.#timers.set(tunnel, timer);
  }

  forget(tunnel: LiveTunnel): void {
    this.#timers.get(tunnel)?.cancel();
    this.#timers.delete(tunnel);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Of a deadline that has moved to a later time nobody is told, so a timer may fire too early. */
  #check(tunnel: LiveTunnel): void {
    if (tunnel.deadline > this.#clock.monotonic()) {
      this.watch(tunnel);
      return;
    }
    this.#timers.delete(tunnel);
    this.#onExpired(tunnel);
  }
}
