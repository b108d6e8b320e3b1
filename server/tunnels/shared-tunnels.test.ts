import assert from 'node:assert/strict';
import { IDLE_GRACE_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aStore, anAccount, type TestStore } from '../testing/fixtures.ts';
import type { EndReason, TunnelNews } from './peers.ts';
import { TunnelRegistry } from './registry.ts';
import { TunnelService } from './tunnel-service.ts';

const wanted = { localPort: 3000, name: 'web', ttl: 60, idleTtl: false };

/** Lets what the store was asked arrive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** One relay of several, in so far as it has tunnels. */
interface Side {
  readonly service: TunnelService;
  readonly registry: TunnelRegistry;
  readonly ended: EndReason[];
}

describe('TunnelService, on one database with another', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  /** news on their way */
  let posted: TunnelNews[];
  let one: Side;
  let two: Side;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    posted = [];
    one = await aSide();
    two = await aSide();
  });

  afterEach(async () => {
    for (const { service } of [one, two]) await service.stop();
  });

  async function aSide(): Promise<Side> {
    const registry = new TunnelRegistry(new Set());
    const ended: EndReason[] = [];
    const service = new TunnelService({
      store: test.store,
      registry,
      clock,
      log: () => {},
      ttl: { defaultTtl: 3600, maxTtl: 7200 },
      nameHold: 0,
      peers: { tell: (news) => posted.push(news) },
    });
    service.onEnd = (_tunnel, reason) => ended.push(reason);
    await service.start();
    return { service, registry, ended };
  }

  function deliver(): void {
    for (const news of posted.splice(0)) for (const { service } of [one, two]) service.hear(news);
  }

  /** Lets time pass for a flush now and then. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await settled();
    }
  }

  it('finds at once what the other has made, by its slug and in the API', async () => {
    assert.equal(await two.service.find('web'), undefined);
    const made = await one.service.create(account, wanted);
    deliver();
    const found = await two.service.find('web');
    assert.deepEqual([found?.id, found?.expiresAt], [made.id, made.expiresAt]);
    assert.equal(two.registry.bySlug('web'), found);
    const three = await aSide();
    await three.service.follow(account);
    assert.deepEqual(
      three.service.list(account).map(({ id }) => id),
      [made.id],
    );
    await three.service.stop();
  });

  it('takes no name that the other has given away', async () => {
    await one.service.create(account, wanted);
    await assert.rejects(two.service.create(account, wanted), { status: 409 });
  });

  it('closes with the other, and is not brought back by an answer that was on its way', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.find('web');
    const late = two.service.follow(account);
    two.service.hear({ kind: 'ended', id, reason: 'closed' });
    await late;
    assert.deepEqual([two.ended, two.registry.size], [['closed'], 0]);
  });

  it('closes what the other has made', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.close(account, id);
    assert.equal(one.registry.size, 1);
    deliver();
    assert.deepEqual([one.ended, one.registry.size], [['closed'], 0]);
  });

  it('lives as long as the other has extended it, whether that was heard or not', async () => {
    for (const heard of [true, false]) {
      const { id } = await one.service.create(account, { ...wanted, name: `web-${heard}` });
      await two.service.find(`web-${heard}`);
      await one.service.extend(account, id, 600);
      if (heard) deliver();
      clock.advance(61_000);
      await settled();
      assert.equal(two.registry.byId(id)?.expiresAt, one.registry.byId(id)?.expiresAt);
      assert.deepEqual(two.ended, []);
    }
  });

  it('is extended by both at once, each time', async () => {
    const { id, expiresAt } = await one.service.create(account, wanted);
    await Promise.all([one, two].map(({ service }) => service.extend(account, id, 600)));
    deliver();
    for (const { registry } of [one, two]) assert.equal(registry.byId(id)?.expiresAt, expiresAt + 1_200_000);
    await assert.rejects(two.service.extend(account, id, 7200), { status: 400 });
  });

  it('expires on both, and in the store', async () => {
    await one.service.create(account, wanted);
    await two.service.find('web');
    clock.advance(60_000);
    await settled();
    assert.deepEqual([one.ended, two.ended], [['expired'], ['expired']]);
    clock.advance(2000);
    await settled();
    assert.deepEqual(await test.store.loadTunnels(), []);
  });

  it('gives traffic on another relay 1.5 s to be known', async () => {
    const made = await one.service.create(account, { ...wanted, idleTtl: true });
    await two.service.find('web');
    clock.advance(59_900);
    await settled();
    made.countRequest();
    await pass(100 + IDLE_GRACE_MS);
    assert.deepEqual(two.ended, []);
    clock.advance(58_500);
    await pass(IDLE_GRACE_MS);
    assert.deepEqual([one.ended, two.ended], [['expired'], ['expired']]);
  });

  it('shows what the other has counted as soon as it is stored, and counts nothing twice', async () => {
    const made = await one.service.create(account, wanted);
    await two.service.find('web');
    made.countIn(10);
    two.registry.byId(made.id)?.countIn(5);
    clock.advance(1000);
    await settled();
    for (const { service } of [one, two]) {
      await service.follow(account);
      await service.follow(account);
      assert.equal(service.get(account, made.id).bytesIn, 15);
    }
    two.registry.byId(made.id)?.countIn(1);
    await two.service.follow(account);
    assert.equal(two.service.get(account, made.id).bytesIn, 16);
  });

  it('makes up for news that were missed', async () => {
    const { id } = await one.service.create(account, wanted);
    await two.service.find('web');
    await one.service.close(account, id);
    posted = [];
    await two.service.review();
    assert.deepEqual([two.ended, two.registry.size], [['closed'], 0]);
  });
});
