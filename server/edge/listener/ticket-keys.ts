/**
 * The key of session tickets (RFC 5077, RFC 8446 section 4.6.1): all relays on a database have the same, before and after a restart,
 * so visitors come back without another full handshake. A new one each day, and the one before is forgotten: whoever had it
 * could read what was recorded of sessions in TLS 1.2 (docs/decisions/0018-certificates.md).
 */
import { hkdfSync } from 'node:crypto';
import type { Clock, Timer } from '../../clock.ts';
import { STORE_RETRY_MS, TICKET_KEY_MS } from '../../limits.ts';
import { StoreError } from '../../store/store-errors.ts';
import type { Store } from '../../store/store.ts';

/** What `setTicketKeys` takes: a name, and keys to sign and to encrypt with. */
const KEY_BYTES = 48;
const SECRETS = 'session tickets ';
/** ms by which clocks of relays may differ, so that none removes what another has just made. */
const CLOCK_DIFFERENCE_MS = 60 * 60_000;

export interface TicketKeysOptions {
  readonly store: Pick<Store, 'relaySecret' | 'removeSecrets'>;
  readonly clock: Clock;
}

export class TicketKeys {
  readonly #options: TicketKeysOptions;
  #current = Buffer.alloc(0);
  #changed = (_key: Buffer): void => {};
  #timer: Timer | undefined;
  #isStopped = false;

  private constructor(options: TicketKeysOptions) {
    this.#options = options;
  }

  /** @throws StoreError */
  static async start(options: TicketKeysOptions): Promise<TicketKeys> {
    const keys = new TicketKeys(options);
    await keys.#load();
    keys.#arm(keys.#untilNext());
    return keys;
  }

  /** As `setTicketKeys` takes it. */
  get current(): Buffer {
    return this.#current;
  }

  /** @param changed told of each key from the next one on */
  follow(changed: (key: Buffer) => void): void {
    this.#changed = changed;
  }

  /** Takes over a key that another program has renewed. @throws StoreError */
  async reload(): Promise<void> {
    const before = this.#current;
    await this.#load();
    if (!this.#current.equals(before)) this.#changed(this.#current);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #untilNext(): number {
    return TICKET_KEY_MS - (this.#options.clock.now() % TICKET_KEY_MS);
  }

  #arm(ms: number): void {
    if (!this.#isStopped) this.#timer = this.#options.clock.setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    try {
      await this.#load();
      this.#changed(this.#current);
      this.#arm(this.#untilNext());
    } catch (error) {
      // The store reports itself that it fails. Meanwhile the key of before goes on.
      if (!(error instanceof StoreError)) throw error;
      this.#arm(STORE_RETRY_MS);
    }
  }

  async #load(): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const period = Math.floor(now / TICKET_KEY_MS);
    const secret = await store.relaySecret(`${SECRETS}${period}`, now);
    await store.removeSecrets(SECRETS, period * TICKET_KEY_MS - CLOCK_DIFFERENCE_MS);
    this.#current = Buffer.from(hkdfSync('sha256', secret, '', 'session tickets', KEY_BYTES));
  }
}
