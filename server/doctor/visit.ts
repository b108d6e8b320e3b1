/** What the doctor makes in the database in order to look, and removes when it has looked. */
import { Administration } from '../administration/administration.ts';
import { systemClock } from '../clock.ts';
import { type Config, publicUrlOf } from '../config.ts';
import { openStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { Skipped } from './check.ts';
import { TestTunnel } from './test-tunnel.ts';

export class Visit {
  readonly #config: Config;
  readonly #user: string;
  #store: Store | undefined;
  #tunnel: TestTunnel | undefined;

  /** @param user who looks */
  constructor(config: Config, user: string) {
    this.#config = config;
    this.#user = user;
  }

  /** @throws Skipped without a database of this version; what {@link TestTunnel.open} throws */
  async open(): Promise<TestTunnel> {
    const { database, nameHold, port } = this.#config;
    const store = await openStore(database, 'as-it-is', () => {}).catch(() => {
      throw new Skipped('not tried without "database"');
    });
    this.#store = store;
    const administration = new Administration({
      store,
      clock: systemClock,
      nameHold,
      by: { actor: `shell:${this.#user}`, accountId: null },
    });
    const tunnel = await TestTunnel.open(publicUrlOf(this.#config, port), administration, systemClock.now());
    this.#tunnel = tunnel;
    return tunnel;
  }

  async close(): Promise<void> {
    await this.#tunnel?.close();
    await this.#store?.close();
  }
}
