import assert from 'node:assert/strict';
import { TIMER_STEP_MAX_MS } from '../../shared/timer.ts';
import { ApprovalRequests, APPROVALS_PER_ADDRESS_MAX } from '../access/approval-requests.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { anAccess, anAccount, aStore, aTunnelService, aWish, type TestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { TunnelNews } from './lifecycle.ts';
import { ApprovalExpiry, KNOCK_WRITE_ATTEMPTS, TunnelApprovals } from './links-and-approvals.ts';
import type { TunnelService } from './tunnel-service.ts';

const WANTED = aWish({ name: 'web', access: { access: anAccess({ knock: true }), kept: [] } });

/** A relay, as far as approval requests are concerned. */
interface Side {
  readonly service: TunnelService;
  readonly knocks: TunnelApprovals;
  /** numbers of waiting visitors, one for each notification */
  readonly told: number[];
}

describe('TunnelApprovals', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  let posted: TunnelNews[];
  let sides: Side[];

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    posted = [];
    sides = [];
  });

  afterEach(async () => {
    for (const { service } of sides) await service.stop();
  });

  /** @param shared whether it shares its database */
  async function start(shared = true, store: Store = test.store): Promise<Side> {
    const told: number[] = [];
    const service = aTunnelService({
      store,
      clock,
      tellPeers: shared ? (news) => posted.push(news) : undefined,
      onAccess: ({ knocks }) => told.push(knocks.waiting(clock.now()).length),
    });
    await service.start();
    const side = {
      service,
      knocks: new TunnelApprovals({ tunnels: service, store, clock, log: () => {} }),
      told,
    };
    sides.push(side);
    return side;
  }

  /** The tunnel as known to that relay. */
  async function on({ service }: Side, { id }: LiveTunnel): Promise<LiveTunnel> {
    await service.coordination.followTunnel(id);
    return service.get(account, id);
  }

  it('does not count requests that could not be stored', async () => {
    let isDown = true;
    const setKnocks: Store['setKnocks'] = (...args) =>
      isDown ? Promise.reject(new StoreError(new Error('down'))) : test.store.setKnocks(...args);
    const one = await start(false, { ...test.store, setKnocks });
    const tunnel = await one.service.create(account, WANTED);
    for (let tries = 0; tries < APPROVALS_PER_ADDRESS_MAX; tries += 1)
      await assert.rejects(one.knocks.knock(tunnel, '192.0.2.1', 'a'), { status: 503 });
    isDown = false;
    await one.knocks.knock(tunnel, '192.0.2.1', 'a');
    assert.equal(tunnel.knocks.waiting(clock.now()).length, 1);
  });

  it('records a request on one relay, an answer on another, and shows both on a third', async () => {
    const [one, two, three] = [await start(), await start(), await start()];
    const tunnel = await one.service.create(account, WANTED);
    const [there, elsewhere] = [await on(two, tunnel), await on(three, tunnel)];
    const { id } = await one.knocks.knock(tunnel, '192.0.2.1', 'a');
    assert.deepEqual(posted.at(-1), { kind: 'access', id: tunnel.id });
    await two.knocks.answer(account, tunnel.id, id, { admit: true, seconds: 60 });
    for (const each of [tunnel, there, elsewhere]) await on(one, each);
    await on(three, tunnel);
    for (const each of [tunnel, there, elsewhere])
      assert.equal(each.knocks.isApproved(id, clock.now()), true);
    assert.deepEqual([one.told, two.told, three.told], [[1, 0], [1, 0], [0]]);
  });

  it('loses nothing when two relays write at the same time', async () => {
    const [one, two] = [await start(), await start()];
    const tunnel = await one.service.create(account, WANTED);
    const there = await on(two, tunnel);
    await Promise.all([
      one.knocks.knock(tunnel, '192.0.2.1', 'a'),
      two.knocks.knock(there, '192.0.2.2', 'b'),
      one.knocks.knock(tunnel, '192.0.2.3', 'c'),
    ]);
    const listed = await two.knocks.list(account, tunnel.id);
    assert.deepEqual(listed.map(({ address }) => address).toSorted(), [
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.3',
    ]);
  });

  it('gives up after five times that another relay was faster', async () => {
    const tried: string[] = [];
    const setKnocks = (id: string): Promise<undefined> => Promise.resolve(void tried.push(id));
    const one = await start(true, { ...test.store, setKnocks });
    const tunnel = await one.service.create(account, WANTED);
    await assert.rejects(one.knocks.knock(tunnel, '192.0.2.1', ''), { status: 503 });
    assert.equal(tried.length, KNOCK_WRITE_ATTEMPTS);
  });

  it('continues after a write whose answer was lost, also on a standalone relay', async () => {
    const { store } = test;
    let isLost = true;
    const setKnocks: Store['setKnocks'] = async (...given) => {
      const revision = await store.setKnocks(...given);
      if (!isLost) return revision;
      isLost = false;
      test.down = true;
      return await store.setKnocks(...given);
    };
    const one = await start(false, { ...store, setKnocks });
    const tunnel = await one.service.create(account, WANTED);
    await assert.rejects(one.knocks.knock(tunnel, '192.0.2.1', ''), { status: 503 });
    test.down = false;
    await one.knocks.knock(tunnel, '192.0.2.2', '');
    assert.equal((await one.knocks.list(account, tunnel.id)).length, 2);
  });

  it('keeps requests across a restart, and notifies of them', async () => {
    const one = await start(false);
    const tunnel = await one.service.create(account, WANTED);
    const { id } = await one.knocks.knock(tunnel, '192.0.2.1', 'a');
    const again = await start(false);
    assert.deepEqual(again.told, [1]);
    await again.knocks.answer(account, tunnel.id, id, { admit: false });
    assert.equal(again.service.get(account, tunnel.id).knocks.stateOf(id, clock.now()), 'refused');
  });
});

function aTunnel(...answers: (number | false | null)[]): LiveTunnel {
  const knocks = answers.map((answer, number) => ({
    id: String(number),
    address: '192.0.2.1',
    agent: '',
    at: 0,
    answer,
  }));
  return { id: 'one', knocks: new ApprovalRequests({ version: '', knocks }) } as unknown as LiveTunnel;
}

describe('ApprovalExpiry', () => {
  it('reports each visitor whose approval ends, at that moment, starts over with the current ones, and ends with the tunnel', () => {
    const clock = new FakeClock(0);
    const told: number[] = [];
    const ends = new ApprovalExpiry(clock, () => told.push(clock.now()));
    ends.watch(aTunnel(3000, null, 1000, false));
    clock.advance(5000);
    assert.deepEqual([told, clock.pending], [[1000, 3000], 0]);
    ends.watch(aTunnel(6000));
    ends.watch(aTunnel(7000));
    clock.advance(1500);
    assert.deepEqual([told.length, clock.pending], [2, 1]);
    ends.forget(aTunnel());
    assert.equal(clock.pending, 0);
    // Longer than a timer can wait.
    const end = clock.now() + TIMER_STEP_MAX_MS + 1000;
    ends.watch(aTunnel(end));
    clock.advance(end - clock.now());
    assert.equal(told.at(-1), end);
  });
});
