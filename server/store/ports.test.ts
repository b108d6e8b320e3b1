import assert from 'node:assert/strict';
import { aKeptName, aStore, aTunnel, anAccount } from '../testing/fixtures.ts';
import type { PortRules } from './queries/port-queries.ts';
import type { AccountRecord } from './records.ts';
import { ConflictError, FullError } from './store-errors.ts';
import type { Store } from './store.ts';

describe('the ports of TCP tunnels in the store', () => {
  const rules: PortRules = { first: 1, last: 3, wanted: undefined, avoid: [], maxTunnels: 9, maxPorts: 9 };
  let account: AccountRecord;
  let other: AccountRecord;
  let store: Store;

  beforeEach(async () => {
    [account, other] = [anAccount(), anAccount()];
    ({ store } = await aStore(account, other));
  });

  afterEach(() => store.close());

  /** @returns its id and its port */
  async function create(
    slug: string,
    {
      tcp = {},
      owner = account,
      at = 1000,
    }: { tcp?: Partial<PortRules>; owner?: AccountRecord; at?: number } = {},
  ): Promise<{ id: string; port: number | null }> {
    const life = { createdAt: at, expiresAt: at + 100_000 };
    const record = aTunnel(owner.id, { slug, name: slug, protocol: 'tcp', ...life });
    const { tunnel } = await store.insertTunnel(record, {
      maxTunnels: null,
      nameHold: 5000,
      tcp: { ...rules, ...tcp },
    });
    return { id: tunnel.id, port: tunnel.remotePort };
  }

  /** Ends a tunnel whose name is held for a while. */
  async function end(id: string, slug: string, heldUntil = 6000, owner = account): Promise<void> {
    await store.releaseTunnels([{ id, slug, name: slug, accountId: owner.id, heldUntil }], 1000);
  }

  it('are given out once, until the range is full', async () => {
    const ports = [await create('a'), await create('b'), await create('c')].map(({ port }) => port);
    assert.deepEqual(new Set(ports), new Set([1, 2, 3]));
    await assert.rejects(create('d'), new ConflictError('port'));
    await assert.rejects(create('d', { tcp: { wanted: 2 } }), new ConflictError('port'));
    await assert.rejects(create('d', { tcp: { wanted: 4 } }), new ConflictError('port'));
  });

  it('stay with a name while it is held or kept, and then are free', async () => {
    const first = await create('a', { tcp: { wanted: 2 } });
    await end(first.id, 'a');
    await assert.rejects(create('b', { owner: other, tcp: { wanted: 2 } }), new ConflictError('port'));
    const again = await create('a', { at: 2000 });
    assert.equal(again.port, 2);
    await end(again.id, 'a');
    assert.equal((await create('b', { owner: other, tcp: { wanted: 2 }, at: 7000 })).port, 2);
    const kept = await create('c', { tcp: { wanted: 3 }, at: 7000 });
    await store.keepName(aKeptName(account.id, 'c'), { maxNames: 5, nameHold: 0 });
    await end(kept.id, 'c', 0);
    await assert.rejects(
      create('d', { owner: other, tcp: { wanted: 3 }, at: 90_000 }),
      new ConflictError('port'),
    );
    assert.equal((await create('c', { at: 90_000 })).port, 3);
  });

  it('of a name that has come to another account are those that it got itself', async () => {
    const { id } = await create('a', { tcp: { wanted: 2 } });
    await end(id, 'a');
    const theirs = await create('a', { owner: other, at: 7000, tcp: { last: 2 } });
    await end(theirs.id, 'a', 12_000, other);
    assert.equal((await create('a', { owner: other, at: 8000 })).port, theirs.port);
    // Not counted for the first account, which would give it away.
    await create('b', { at: 8000, tcp: { wanted: 3, maxPorts: 1 } });
    await assert.rejects(
      create('c', { at: 8000, tcp: { wanted: theirs.port ?? 0 } }),
      new ConflictError('port'),
    );
    assert.notEqual((await create('c', { at: 8000 })).port, theirs.port);
  });

  it('change if the request or another program makes them', async () => {
    const first = await create('a', { tcp: { wanted: 2 } });
    await end(first.id, 'a');
    const moved = await create('a', { tcp: { avoid: [2, 3] }, at: 2000 });
    assert.equal(moved.port, 1);
    await end(moved.id, 'a');
    assert.equal((await create('a', { tcp: { wanted: 3 }, at: 3000 })).port, 3);
  });

  it('are limited for each account, of which the oldest held one goes', async () => {
    for (const [slug, port] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const { id } = await create(slug, { tcp: { wanted: port, maxPorts: 2 } });
      await end(id, slug);
    }
    await create('c', { tcp: { wanted: 3, maxPorts: 2 }, at: 2000 });
    assert.equal((await create('d', { owner: other, tcp: { wanted: 1 }, at: 2000 })).port, 1);
    await assert.rejects(
      create('e', { owner: other, tcp: { wanted: 2 }, at: 2000 }),
      new ConflictError('port'),
    );
    await assert.rejects(create('f', { tcp: { maxTunnels: 1 }, at: 2000 }), FullError);
  });
});
