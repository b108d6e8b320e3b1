import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { main } from '../../server/cli/main.ts';
import { FakeShell } from '../../server/testing/fake-shell.ts';
import type { Plan, Tunnel } from '../../shared/tunnel.ts';
import { Api } from './api.ts';
import { eventually } from './deadline.ts';
import type { Relay } from './programs.ts';

export interface TestAccount {
  readonly id: string;
  readonly name: string;
  readonly key: string;
  readonly keyId: string;
  readonly api: Api;
}

/**
 * Creates an account and a key for it while the relay runs. It uses the commands of `culvert-relay`, but in this
 * process, because tests need hundreds of accounts and starting a process takes most of a second.
 */
export async function createAccount(
  relay: Relay,
  options: { readonly plan?: Plan; readonly subdomain?: string } = {},
): Promise<TestAccount> {
  const name = `test-${randomBytes(6).toString('hex')}`;
  const subdomain = options.subdomain === undefined ? [] : ['--subdomain', options.subdomain];
  const plan = options.plan ?? 'dev';
  const account = await administer(relay, 'account', 'create', '--name', name, '--plan', plan, ...subdomain);
  return await withNewKey(relay, { id: String(account['id']), name });
}

/** Creates another key for an account, with further options of `key create`. */
export async function withNewKey(
  relay: Relay,
  { id, name }: { readonly id: string; readonly name: string },
  ...options: readonly string[]
): Promise<TestAccount> {
  const issued = await administer(relay, 'key', 'create', '--account', name, ...options);
  const key = String(issued['key']);
  return { id, name, key, keyId: String(issued['id']), api: new Api(relay, key) };
}

/**
 * Runs `culvert-relay` with these arguments and `--json`, in this process.
 *
 * @returns the object it printed
 */
export async function administer(relay: Relay, ...args: string[]): Promise<Record<string, unknown>> {
  const shell = new FakeShell();
  Object.assign(shell.env, relay.databaseSettings);
  const code = await main(shell, [...args, '--json'], startsNoRelay);
  if (code !== 0)
    throw new Error(`culvert-relay ${args.join(' ')} ended with ${code}: ${shell.stderr.join()}`);
  return JSON.parse(shell.stdout.join('\n')) as Record<string, unknown>;
}

async function startsNoRelay(): Promise<never> {
  throw new Error('no relay is to be started');
}

/** Always hands out the same account. */
export function onlyAccount(account: TestAccount): Pick<AccountPool, 'tunnel'> {
  return {
    tunnel: async (request?: object) => ({
      tunnel: await account.api.create({ local_port: 9, ...request }),
      account,
    }),
  };
}

/** How many tunnels an account may create in a burst (protocol.md section 3.2). */
export const CREATES_AN_ACCOUNT = 5;

/** Hands out accounts that may still create a tunnel, and creates new ones as their rate limits are used up. */
export class AccountPool {
  readonly #relay: Relay;
  #account: Promise<TestAccount> | undefined;
  #left = 0;

  constructor(relay: Relay) {
    this.#relay = relay;
  }

  /** An account for creating exactly one tunnel. */
  async take(): Promise<TestAccount> {
    if (this.#account === undefined || this.#left === 0) {
      this.#account = createAccount(this.#relay);
      this.#left = CREATES_AN_ACCOUNT;
    }
    this.#left -= 1;
    return await this.#account;
  }

  /**
   * Creates a tunnel on one of the accounts. Retries if the relay reports that its store is too busy, as clients do.
   */
  async tunnel(request: object = {}): Promise<{ tunnel: Tunnel; account: TestAccount }> {
    const account = await this.take();
    const json = { local_port: 9, ...request };
    const response = await eventually(20_000, async () => {
      const answered = await account.api.send('POST', '/v1/tunnels', { json });
      if (answered.status === 503) throw new Error('the relay is too busy');
      return answered;
    });
    assert.equal(response.status, 201, JSON.stringify(response.json));
    return { tunnel: response.json as Tunnel, account };
  }
}
