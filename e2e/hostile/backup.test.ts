import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { RelayProgram, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const BACKUPS = 3;
const WRITERS = 3;

/** A relay's acknowledgements about the tunnels of an account. */
interface Acknowledged {
  readonly account: TestAccount;
  /** expiry times by id */
  readonly open: Map<string, string>;
  readonly closed: Set<string>;
}

describe('culvert-relay backup while the relay serves', function () {
  this.timeout(300_000);
  const scope = suiteScope();

  it(`contains all that was acknowledged before it began, ${BACKUPS} times under writes`, async () => {
    const relay = await RelayProgram.start(scope);
    const load = new Load(relay);
    const folder = temporaryDirectory(scope);
    const copies: { file: string; acknowledged: Acknowledged[] }[] = [];
    for (let count = 0; count < BACKUPS; count += 1) {
      await load.goOn();
      const acknowledged = load.acknowledged();
      const { written } = load;
      const file = join(folder, `${count}.db`);
      await relay.administer('backup', file);
      assert.ok(load.written > written, 'nothing was written meanwhile');
      copies.push({ file, acknowledged });
    }
    await load.stop();
    for (const { file, acknowledged } of copies) {
      await relay.stop();
      await relay.administer('restore', file);
      await relay.restart();
      for (const before of acknowledged) await assertFound(before, load);
    }
  });
});

/** Creates accounts, and creates, extends and closes their tunnels as fast as it can. */
class Load {
  /** acknowledged writes */
  written = 0;
  readonly #relay: RelayProgram;
  readonly #accounts: Acknowledged[] = [];
  readonly #writers: Promise<unknown>;
  #isOver = false;

  constructor(relay: RelayProgram) {
    this.#relay = relay;
    this.#writers = Promise.all(Array.from({ length: WRITERS }, () => this.#write()));
    // Reported when the load is stopped.
    this.#writers.catch(() => {});
  }

  /** Resolves when many more writes have been acknowledged. */
  async goOn(): Promise<void> {
    const enough = this.written + 50 * WRITERS;
    await eventually(60_000, () => assert.ok(this.written >= enough, `${this.written} writes`));
  }

  /** All acknowledgements so far. */
  acknowledged(): Acknowledged[] {
    return this.#accounts.map(({ account, open, closed }) => ({
      account,
      open: new Map(open),
      closed: new Set(closed),
    }));
  }

  /** Whether its close was never requested. */
  isOpen(id: string): boolean {
    return this.#accounts.some(({ open }) => open.has(id));
  }

  /** @throws the error of a failed write */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#writers;
  }

  async #write(): Promise<void> {
    while (!this.#isOver) {
      const account = await createAccount(this.#relay);
      const { api } = account;
      const { open, closed } = this.#began(account);
      for (let count = 0; count < 5; count += 1) {
        const { id, expires_at } = await api.create({ local_port: 1 });
        this.#acknowledge(() => open.set(id, expires_at));
      }
      for (let round = 0; round < 10; round += 1)
        for (const id of open.keys()) {
          const { expires_at } = await api.extend(id, { ttl: '1m' });
          this.#acknowledge(() => open.set(id, expires_at));
        }
      const [last = ''] = open.keys();
      open.delete(last);
      await api.close(last);
      this.#acknowledge(() => closed.add(last));
    }
  }

  #began(account: TestAccount): Acknowledged {
    const acknowledged = { account, open: new Map<string, string>(), closed: new Set<string>() };
    this.#acknowledge(() => this.#accounts.push(acknowledged));
    return acknowledged;
  }

  #acknowledge(note: () => unknown): void {
    note();
    this.written += 1;
  }
}

/** A tunnel that was closed later may already be closed in the copy. */
async function assertFound({ account, open, closed }: Acknowledged, load: Load): Promise<void> {
  const found = new Map((await account.api.list()).map(({ id, expires_at }) => [id, expires_at]));
  for (const [id, expiresAt] of open) {
    const stored = found.get(id);
    if (stored === undefined) assert.ok(!load.isOpen(id), `${id} is gone`);
    else assert.ok(stored >= expiresAt, `${id} ends at ${stored}, not ${expiresAt}`);
  }
  for (const id of closed) assert.ok(!found.has(id), `${id} is closed`);
}
