/**
 * Keeps the relay's place among others: its lease, what Redis knows about its control sockets, and what it must find out
 * after a pause.
 */
import type { Clock, Timer } from '../clock.ts';
import {
  LEAP_CHECK_MS,
  LEAP_RETRY_MS,
  LEASE_RENEW_MS,
  PRESENCE_REPEAT_MS,
  UPKEEP_TICK_MS,
} from '../limits.ts';
import type { Membership } from './membership.ts';
import { RedisError } from './redis-link.ts';
import type { RedisPresence } from './redis-presence.ts';

export interface UpkeepDeps {
  readonly redis: { readonly isUp: boolean };
  readonly membership: Pick<Membership, 'renew'>;
  readonly presence: Pick<RedisPresence, 'tellAll'>;
  readonly clock: Clock;
  /** called again and again while Redis is down */
  readonly onDown: () => void;
}

export class Upkeep {
  readonly #redis: { readonly isUp: boolean };
  readonly #membership: Pick<Membership, 'renew'>;
  readonly #presence: Pick<RedisPresence, 'tellAll'>;
  readonly #clock: Clock;
  readonly #onDown: () => void;
  #timer: Timer | undefined;
  #stopped = false;
  /** monotonic ms */
  #renewAt = 0;
  #tellAt = 0;

  constructor({ redis, membership, presence, clock, onDown }: UpkeepDeps) {
    this.#redis = redis;
    this.#membership = membership;
    this.#presence = presence;
    this.#clock = clock;
    this.#onDown = onDown;
  }

  start(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#work(), UPKEEP_TICK_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Tells Redis everything, in case it was lost. What fails is tried again soon. */
  async tellAll(): Promise<void> {
    await forgiving(this.#tellAll());
  }

  /** Finds out what others have taken over. If Redis stays away, what is held here is used as before. */
  async checkLeap(): Promise<void> {
    const until = this.#clock.monotonic() + LEAP_CHECK_MS;
    while (!(await forgiving(this.#tellAll())) && this.#clock.monotonic() < until) {
      await new Promise<void>((resolve) => {
        this.#clock.setTimeout(resolve, LEAP_RETRY_MS);
      });
    }
  }

  async #work(): Promise<void> {
    const now = this.#clock.monotonic();
    if (!this.#redis.isUp) this.#onDown();
    else if (now >= this.#tellAt) await forgiving(this.#tellAll());
    else if (now >= this.#renewAt) await forgiving(this.#renew());
    if (!this.#stopped) this.start();
  }

  async #renew(): Promise<void> {
    const wasDead = await this.#membership.renew();
    this.#renewAt = this.#clock.monotonic() + LEASE_RENEW_MS;
    if (wasDead) await this.#presence.tellAll();
  }

  async #tellAll(): Promise<void> {
    await this.#membership.renew();
    await this.#presence.tellAll();
    const now = this.#clock.monotonic();
    this.#renewAt = now + LEASE_RENEW_MS;
    this.#tellAt = now + PRESENCE_REPEAT_MS;
  }
}

/**
 * If Redis fails, waits for the next regular try.
 *
 * @returns whether it succeeded
 */
export async function forgiving(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
    return false;
  }
}
