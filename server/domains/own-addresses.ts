/** The addresses of the relay as the DNS has them, which people are shown who cannot enter a CNAME. */
import type { Clock } from '../clock.ts';
import { DNS_ANSWER_MS, OWN_ADDRESSES_MS } from '../limits.ts';
import type { DnsLookup } from './dns-lookup.ts';
import { addressesOf } from './domain-look.ts';

export class OwnAddresses {
  readonly #host: string;
  readonly #lookup: DnsLookup;
  readonly #clock: Clock;
  #known: Promise<readonly string[]> | undefined;
  /** monotonic ms until which that is believed */
  #until = 0;

  /** @param host the relay's own name or address, IPv6 without brackets */
  constructor(host: string, lookup: DnsLookup, clock: Clock) {
    this.#host = host;
    this.#lookup = lookup;
    this.#clock = clock;
  }

  /** @returns none if the DNS has none, or does not answer; never rejects */
  get(): Promise<readonly string[]> {
    const now = this.#clock.monotonic();
    if (this.#known === undefined || now >= this.#until) {
      this.#until = now + OWN_ADDRESSES_MS;
      this.#known = this.#ask();
    }
    return this.#known;
  }

  async #ask(): Promise<readonly string[]> {
    const found = await addressesOf(this.#host, this.#lookup);
    // A DNS that was away for a moment may be back.
    if (found.length === 0) this.#until = this.#clock.monotonic() + DNS_ANSWER_MS;
    return found;
  }
}
