/** Token buckets that all relays share; each relay's own while Redis cannot be reached. */
import type { CreateLimiter, Rate } from '../rate-limiter.ts';
import type { RedisCommands } from './redis-link.ts';
import { RedisError } from './redis-link.ts';
import { GIVE_BACK, TAKE } from './scripts.ts';

export class SharedRateLimiter implements CreateLimiter {
  readonly #redis: RedisCommands;
  readonly #local: CreateLimiter;
  readonly #rate: Rate;

  /** @param local limits this relay alone */
  constructor(redis: RedisCommands, local: CreateLimiter, rate: Rate) {
    this.#redis = redis;
    this.#local = local;
    this.#rate = rate;
  }

  async take(account: string): Promise<number> {
    try {
      const wait = await this.#redis.run(TAKE, account, this.#rate.burst, 60_000 / this.#rate.perMinute);
      return Math.ceil(Number(wait) / 1000);
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      return await this.#local.take(account);
    }
  }

  async giveBack(account: string): Promise<void> {
    try {
      await this.#redis.run(GIVE_BACK, account, this.#rate.burst);
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      await this.#local.giveBack(account);
    }
  }
}
