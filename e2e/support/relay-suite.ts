import { AccountPool } from './accounts.ts';
import type { Exit } from './child.ts';
import { type Environment, Relay, type RelayProcess } from './programs.ts';
import { type Scope, suiteScope } from './scope.ts';

/** What the tests of a `describe` have in common. */
export interface RelaySuite {
  readonly scope: Scope;
  readonly relay: Relay;
  readonly pool: AccountPool;
}

/**
 * Starts a relay before the tests of the enclosing `describe`, and ends it after them. The result exists at once, and can be
 * used once hooks run.
 *
 * @param settings environment of the relay
 */
export function relaySuite(settings: Environment = {}): RelaySuite {
  const scope = suiteScope();
  const relay = new RelayToCome();
  before(async () => relay.come(await Relay.start(scope, settings)));
  return { scope, relay, pool: new AccountPool(relay) };
}

/** A relay that is started later. */
class RelayToCome implements Relay {
  #relay: Relay | undefined;

  come(relay: Relay): void {
    this.#relay = relay;
  }

  get port(): number {
    return this.#started.port;
  }

  get url(): string {
    return this.#started.url;
  }

  get bootstrapKey(): string {
    return this.#started.bootstrapKey;
  }

  get dataDirectory(): string {
    return this.#started.dataDirectory;
  }

  get databaseSettings(): Environment {
    return this.#started.databaseSettings;
  }

  get child(): RelayProcess {
    return this.#started.child;
  }

  async stop(signal?: NodeJS.Signals, ms?: number): Promise<Exit> {
    return await this.#started.stop(signal, ms);
  }

  async restart(): Promise<void> {
    await this.#started.restart();
  }

  async administer(...args: string[]): Promise<Record<string, unknown>> {
    return await this.#started.administer(...args);
  }

  get #started(): Relay {
    if (this.#relay === undefined) throw new Error('the relay is there once hooks run');
    return this.#relay;
  }
}
