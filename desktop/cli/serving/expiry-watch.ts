/** Warns before a tunnel ends. The relay is asked first, because others may have extended it, and traffic may have. */
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Clock, Timer } from '../../engine/clock.ts';
import { EXPIRY_FIRST_WARNING_MS, EXPIRY_LAST_WARNING_MS, EXPIRY_LOOK_MS } from '../limits.ts';

const WARNINGS_MS = [EXPIRY_FIRST_WARNING_MS, EXPIRY_LAST_WARNING_MS];

export interface ExpiryWatchOptions {
  readonly clock: Clock;
  /** Asks the relay how the tunnel is. */
  readonly fetchTunnel: (id: string) => Promise<Tunnel>;
  /** @param leftMs ms until it ends */
  readonly warn: (tunnel: Tunnel, leftMs: number) => void;
}

export class ExpiryWatch {
  readonly #options: ExpiryWatchOptions;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(options: ExpiryWatchOptions) {
    this.#options = options;
  }

  /** A tunnel that begins with less time than a warning is about is not warned of that. */
  start(tunnel: Tunnel): void {
    this.#wait(tunnel, Infinity);
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /** @param warned ms before its end that the last warning was about */
  #wait(tunnel: Tunnel, warned: number): void {
    const { clock } = this.#options;
    const left = this.#left(tunnel);
    const next = WARNINGS_MS.find((mark) => mark < left && mark < warned);
    // After the last warning somebody may extend it all the same.
    const wait = next === undefined ? EXPIRY_LOOK_MS : left - next;
    this.#timer = clock.setTimeout(() => void this.#look(tunnel, next ?? 0, warned), wait);
  }

  async #look(known: Tunnel, mark: number, warned: number): Promise<void> {
    const { fetchTunnel, warn } = this.#options;
    // Where the relay is away, what it said last counts.
    const tunnel = await fetchTunnel(known.id).catch(() => known);
    if (this.#isOver) return;
    const isMoved = tunnel.expires_at !== known.expires_at;
    const isDue = mark > 0 && !isMoved;
    if (isDue) warn(tunnel, this.#left(tunnel));
    this.#wait(tunnel, isMoved ? Infinity : isDue ? mark : warned);
  }

  #left({ expires_at }: Tunnel): number {
    return Date.parse(expires_at) - this.#options.clock.now();
  }
}
