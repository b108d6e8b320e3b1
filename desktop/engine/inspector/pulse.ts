import { PULSE_SECONDS } from '../limits.ts';
import type { PulseSecond } from './records.ts';

const SECOND_MS = 1000;

/** How many requests came to a tunnel in each of the last {@link PULSE_SECONDS} seconds, and how many failed. */
export class Pulse {
  /** by second, modulo their number */
  readonly #seconds: (PulseSecond | undefined)[] = Array.from({ length: PULSE_SECONDS });

  /** A request has come. @param now wall-clock ms */
  count(now: number): void {
    const { id, requests, errors } = this.#at(now);
    this.#seconds[id % PULSE_SECONDS] = { id, requests: requests + 1, errors };
  }

  /** A request has failed. @param now wall-clock ms */
  countError(now: number): void {
    const { id, requests, errors } = this.#at(now);
    this.#seconds[id % PULSE_SECONDS] = { id, requests, errors: errors + 1 };
  }

  /** Those of the last seconds in which something happened, earliest first. @param now wall-clock ms */
  list(now: number): readonly PulseSecond[] {
    const after = Math.floor(now / SECOND_MS) - PULSE_SECONDS;
    return this.#seconds
      .filter((second) => second !== undefined)
      .filter(({ id }) => id > after)
      .toSorted((one, other) => one.id - other.id);
  }

  #at(now: number): PulseSecond {
    const id = Math.floor(now / SECOND_MS);
    const second = this.#seconds[id % PULSE_SECONDS];
    return second?.id === id ? second : { id, requests: 0, errors: 0 };
  }
}
