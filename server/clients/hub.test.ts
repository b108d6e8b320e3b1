import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { duplexPair } from 'node:stream';
import { CloseCode, KEY_ENDS } from '../../shared/control.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import { TrunkClient } from '../testing/trunk-client.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { EARLIER_TRUNK_ANSWER_MS } from './client-trunks.ts';
import { WAITING_MAX } from './client.ts';
import type { ControlSocket, SocketKey } from './control-socket.ts';
import { Hub } from './hub.ts';
import { ALONE, type HeldControl } from './ownership.ts';

const FREE_CONNECTIONS = PLAN_RULES.free.maxConnections ?? 0;

const tunnel = {
  id: 'one',
  account: anAccount(),
  countIn() {},
  countOut() {},
} as unknown as LiveTunnel;

const OPTIONS = { maxTrunks: 2, ownership: ALONE };

class FakeControl {
  readonly key: SocketKey;
  readonly announced: string[] = [];
  readonly closed: number[] = [];
  readonly reasons: (string | undefined)[] = [];
  readonly ticks: number[] = [];
  probes = 0;
  wasAskedToMove = false;

  constructor(keyId: string) {
    this.key = { keyId, hash: '' };
  }

  announce(id: string): void {
    this.announced.push(id);
  }

  close(code: number, reason?: string): void {
    this.closed.push(code);
    this.reasons.push(reason);
  }

  cut(): void {
    this.closed.push(CloseCode.abnormal);
  }

  probe(): void {
    this.probes += 1;
  }

  tick(now: number): void {
    this.ticks.push(now);
  }

  get socket(): ControlSocket {
    return this as unknown as ControlSocket;
  }
}

/** The events of a visitor: at most one of each. */
interface Visit {
  readonly streams: ByteStream[];
  readonly wasWarm: boolean[];
  readonly ends: { readonly clean: boolean; readonly lost: boolean | undefined }[];
}

/** Waits until everything that is in progress in memory is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('Hub', () => {
  let clock: FakeClock;
  let hub: Hub;
  let results: string[];

  beforeEach(() => {
    tunnel.account = anAccount({ plan: 'team' });
    clock = new FakeClock();
    hub = new Hub({ ...OPTIONS, clock });
    results = [];
  });

  function dial() {
    return hub.dial(tunnel, { opened: () => results.push('opened'), failed: (fault) => results.push(fault) });
  }

  function attach(keyId = 'key'): FakeControl {
    const control = new FakeControl(keyId);
    void hub.attach(tunnel, control.socket);
    return control;
  }

  /** A visitor's data socket, opened with the key; the client's end only records its events. */
  function openData(control: FakeControl, keyId: string): { readonly closed: number[] } {
    dial();
    const [near, far] = duplexPair();
    const closed: number[] = [];
    const client = new WebSocketByteStream(near, 'client', Buffer.alloc(0));
    client.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose: (code) => closed.push(code) });
    const pending = hub.awaited.find(control.announced.at(-1) ?? '') ?? assert.fail();
    hub.open(pending, new WebSocketByteStream(far, 'server', Buffer.alloc(0)), keyId);
    return { closed };
  }

  function offerTrunk(keyId = 'key', client = new TrunkClient()): TrunkClient {
    hub.get(tunnel.id)?.addTrunk(client.socket, { keyId });
    return client;
  }

  /** A visitor who sends a request as soon as possible. */
  function visit(): Visit {
    const visitor: Visit = { streams: [], wasWarm: [], ends: [] };
    hub.dial(tunnel, {
      opened(stream, wasWarm = false) {
        visitor.streams.push(stream);
        visitor.wasWarm.push(wasWarm);
        stream.write(Buffer.from('GET'));
        stream.attach({
          onBytes() {},
          onRoom() {},
          onEnded: (clean, lost) => visitor.ends.push({ clean, lost }),
        });
      },
      failed: (fault) => results.push(fault),
    });
    return visitor;
  }

  it('announces a connection, and drops it after 10 s without a data socket', () => {
    const control = attach();
    dial();
    const [id = ''] = control.announced;
    assert.ok(hub.awaited.find(id));
    clock.advance(9999);
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['client-timeout']);
    assert.equal(hub.awaited.find(id), undefined);
  });

  it('immediately reports a client offline that never connected, but not before dial has returned', () => {
    dial();
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['tunnel-offline']);
  });

  it('lets visitors wait 10 s for a client that has just disconnected, and announces them when it is back', () => {
    const first = attach();
    hub.detach(tunnel, first.socket, CloseCode.abnormal);
    clock.advance(4000);
    dial();
    clock.advance(5000);
    const second = attach();
    assert.equal(second.announced.length, 1);
    clock.advance(9000);
    assert.deepEqual(results, []);
    hub.detach(tunnel, second.socket, CloseCode.abnormal);
    dial();
    clock.advance(9999);
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['tunnel-offline', 'tunnel-offline']);
    dial();
    clock.advance(1);
    assert.equal(results.length, 3);
  });

  it('tells control sockets the time', () => {
    const { ticks } = attach();
    const now = clock.monotonic();
    hub.tick();
    clock.advance(1000);
    hub.tick();
    assert.deepEqual(ticks, [now, now + 1000]);
  });

  it('announces connections again after a client was lost, each id being valid for 10 s each time', () => {
    const first = attach();
    dial();
    const [id = ''] = first.announced;
    clock.advance(9000);
    hub.detach(tunnel, first.socket, CloseCode.abnormal);
    assert.ok(hub.awaited.find(id));
    clock.advance(1000);
    assert.equal(hub.awaited.find(id), undefined);
    clock.advance(8000);
    const second = attach();
    assert.deepEqual(second.announced, [id]);
    clock.advance(9999);
    assert.ok(hub.awaited.find(id));
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual(results, ['client-timeout']);
  });

  it('expects clients from before a restart to return', () => {
    hub.expect(tunnel);
    dial();
    clock.advance(9000);
    assert.deepEqual(results, []);
    clock.advance(1000);
    assert.deepEqual(results, ['tunnel-offline']);
  });

  it('lets the newest control socket win, and announces waiting connections to it in order', () => {
    const old = attach();
    dial();
    dial();
    assert.equal(old.announced.length, 2);
    const newer = attach();
    assert.deepEqual(old.closed, [CloseCode.replaced]);
    assert.deepEqual(newer.announced, old.announced);
    hub.detach(tunnel, old.socket, CloseCode.abnormal);
    dial();
    assert.equal(newer.announced.length, 3);
  });

  it('keeps at most one replaced control socket while it closes', () => {
    const [first, second, third] = [attach(), attach(), attach()];
    assert.deepEqual(
      [first.closed, second.closed, third.closed],
      [[CloseCode.replaced, CloseCode.abnormal], [CloseCode.replaced], []],
    );
    hub.detach(tunnel, second.socket, CloseCode.replaced);
    attach();
    assert.deepEqual(second.closed, [CloseCode.replaced]);
  });

  it('lets at most the limit of visitors wait, whether or not the client is connected', () => {
    const control = attach();
    for (let count = 0; count <= WAITING_MAX; count += 1) dial();
    assert.deepEqual(results, []);
    clock.advance(1);
    assert.deepEqual([results, control.announced.length], [['tunnel-busy'], WAITING_MAX]);
    hub.detach(tunnel, control.socket, CloseCode.abnormal);
    dial();
    clock.advance(1);
    assert.deepEqual(results, ['tunnel-busy', 'tunnel-busy']);
  });

  it('forgets a connection whose visitor has left', () => {
    const control = attach();
    dial().cancel();
    assert.equal(hub.awaited.find(control.announced[0] ?? ''), undefined);
    clock.advance(20_000);
    assert.deepEqual(results, []);
    assert.equal(clock.pending, 0);
  });

  it('cuts all connections of an ended tunnel', () => {
    const control = attach();
    dial();
    hub.end(tunnel, { code: CloseCode.tunnelExpired });
    assert.deepEqual(control.closed, [CloseCode.tunnelExpired]);
    assert.deepEqual(results, ['tunnel-unknown']);
    assert.equal(clock.pending, 0);
  });

  it('refuses a connection beyond the limit of the plan, and names the limit', () => {
    const control = attach();
    const dials = Array.from({ length: FREE_CONNECTIONS }, dial);
    tunnel.account = anAccount({ plan: 'free' });
    const texts: (string | undefined)[] = [];
    hub.dial(tunnel, { opened: () => assert.fail(), failed: (fault, text) => texts.push(fault, text) });
    assert.deepEqual(texts, []);
    clock.advance(1);
    assert.deepEqual(texts, [
      'plan-limit',
      `This tunnel has ${FREE_CONNECTIONS} open connections, which is the maximum on its owner's Free plan. Try again when one of them has closed.`,
    ]);
    dials[0]?.cancel();
    dial();
    assert.equal(control.announced.length, FREE_CONNECTIONS + 1);
  });

  it("reclaims the longest idle stream if the plan's limit is reached", async () => {
    const control = attach();
    tunnel.account = anAccount({ plan: 'free' });
    const ended: number[] = [];
    const handlerOf = (index: number) => {
      const onRetired = () => {
        ended.push(index);
        streams[index]?.finish();
      };
      return { onBytes() {}, onRoom() {}, onEnded() {}, onRetired };
    };
    const streams: ByteStream[] = [];
    for (let count = 0; count < FREE_CONNECTIONS; count += 1) {
      hub.dial(tunnel, { opened: (stream) => streams.push(stream), failed: () => assert.fail() });
      const pending = hub.awaited.find(control.announced.at(-1) ?? '') ?? assert.fail();
      hub.open(pending, new WebSocketByteStream(duplexPair()[1], 'server', Buffer.alloc(0)));
    }
    for (const index of [3, 1, 2]) streams[index]?.attach({ ...handlerOf(index), rests: true });
    streams[3]?.attach(handlerOf(3));
    for (let count = 0; count < 3; count += 1) dial();
    assert.deepEqual([ended, control.announced.length], [[1, 2], FREE_CONNECTIONS + 2]);
    clock.advance(1);
    assert.deepEqual(results, ['plan-limit']);
    await settled();
  });

  describe('when keys are revoked', () => {
    it('closes what was opened with them, and nothing else', async () => {
      const control = attach('one');
      const gone = openData(control, 'one');
      const kept = openData(control, 'two');
      assert.deepEqual(hub.keysInUse(), new Set(['one', 'two']));
      hub.revoke(new Map([['three', 'revoked']]));
      assert.deepEqual(control.closed, []);
      hub.revoke(new Map([['two', 'revoked']]));
      await settled();
      assert.deepEqual([control.closed, gone.closed, kept.closed], [[], [], [CloseCode.keyRevoked]]);
      hub.revoke(new Map([['one', 'revoked']]));
      await settled();
      assert.deepEqual([control.closed, gone.closed], [[CloseCode.keyRevoked], [CloseCode.keyRevoked]]);
      assert.deepEqual(hub.keysInUse(), new Set());
    });

    it('reports the reason to the client', () => {
      for (const end of ['revoked', 'expired', 'removed'] as const) {
        const control = attach('one');
        hub.revoke(new Map([['one', end]]));
        assert.deepEqual(control.reasons, [KEY_ENDS[end]]);
      }
    });

    it('drops connections that were announced through them, because their ids are known', () => {
      const control = attach('one');
      dial();
      const [id = ''] = control.announced;
      hub.revoke(new Map([['one', 'revoked']]));
      assert.deepEqual([results, hub.awaited.find(id)], [['tunnel-offline'], undefined]);
    });

    it('lets new visitors wait for a client with another key', () => {
      const old = attach('one');
      hub.revoke(new Map([['one', 'revoked']]));
      dial();
      assert.deepEqual(old.announced, []);
      assert.equal(attach('two').announced.length, 1);
    });

    it('cuts a stream that was authorized by an announcement alone, but not one opened with another key', async () => {
      const control = attach('one');
      const closed: string[] = [];
      for (const keyId of [undefined, 'two']) {
        const opened = (stream: ByteStream) =>
          stream.attach({ onBytes() {}, onRoom() {}, onEnded: () => closed.push(String(keyId)) });
        hub.dial(tunnel, { opened, failed: () => assert.fail() });
        const pending = hub.awaited.find(control.announced.at(-1) ?? '') ?? assert.fail();
        const [, far] = duplexPair();
        hub.open(pending, new WebSocketByteStream(far, 'server', Buffer.alloc(0)), keyId);
      }
      hub.revoke(new Map([['one', 'revoked']]));
      await settled();
      assert.deepEqual(closed, ['undefined']);
    });
  });

  describe('when the account is suspended', () => {
    it('closes the control socket with the reason, and everything that was opened through any key', async () => {
      const control = attach('one');
      const data = openData(control, 'two');
      dial();
      const trunk = offerTrunk('one');
      hub.get(tunnel.id)?.suspend('phishing '.repeat(20));
      await settled();
      assert.deepEqual([control.closed, control.reasons[0]?.length], [[CloseCode.accountSuspended], 123]);
      assert.deepEqual(
        [data.closed, trunk.closed],
        [[CloseCode.accountSuspended], [CloseCode.accountSuspended]],
      );
      assert.deepEqual(
        [hub.keysInUse(), hub.awaited.find(control.announced[1] ?? '')],
        [new Set(), undefined],
      );
    });

    it('closes a control socket that was accepted just before', () => {
      tunnel.account = anAccount({ suspended: 'spam' });
      const control = attach('one');
      assert.deepEqual([control.closed, control.reasons], [[CloseCode.accountSuspended], ['spam']]);
      assert.equal(hub.offers(tunnel), 'offline');
    });
  });

  it('accepts none of a million guessed ids', () => {
    const control = attach();
    for (let count = 0; count < 100; count += 1) dial();
    for (let guess = 0; guess < 1_000_000; guess += 1) {
      if (hub.awaited.find(randomUUID()) !== undefined) assert.fail('a guess was right');
    }
    assert.ok(control.announced.every((id) => hub.awaited.find(id) !== undefined));
  });

  describe('with trunks', () => {
    it('serves a visitor through one instead of announcing the connection, but not before dial has returned', async () => {
      const control = attach();
      const trunk = offerTrunk();
      const { streams, wasWarm } = visit();
      assert.deepEqual(streams, []);
      await settled();
      assert.deepEqual([trunk.received, wasWarm, control.announced], [['GET'], [true], []]);
    });

    it('ends the stream of a visitor who has left in the meantime', async () => {
      attach();
      const trunk = offerTrunk();
      dial().cancel();
      await settled();
      assert.deepEqual([results, trunk.received, hub.gauges().streams], [[], [], 0]);
    });

    it('accepts as many as the limit allows, and none without a control socket', async () => {
      assert.equal(hub.offers(tunnel), 'offline');
      const control = attach();
      const trunk = offerTrunk();
      assert.equal(hub.offers(tunnel), 'welcome');
      offerTrunk();
      assert.equal(hub.offers(tunnel), 'full');
      trunk.leave();
      await settled();
      assert.equal(hub.offers(tunnel), 'welcome');
      hub.detach(tunnel, control.socket, CloseCode.abnormal);
      assert.equal(hub.offers(tunnel), 'offline');
      assert.equal(new Hub({ ...OPTIONS, clock, maxTrunks: 0 }).takesTrunks, false);
    });

    it('counts each visitor of one as a connection of the plan', async () => {
      attach();
      const trunk = offerTrunk();
      tunnel.account = anAccount({ plan: 'free' });
      const visitors = [];
      for (let count = 0; count <= FREE_CONNECTIONS; count += 1) {
        visitors.push(visit());
        // It waits until the caller of `dial` has returned.
        await Promise.resolve();
      }
      await settled();
      clock.advance(1);
      assert.deepEqual([trunk.received.length, results], [FREE_CONNECTIONS, ['plan-limit']]);
      assert.equal(hub.gauges().streams, FREE_CONNECTIONS);
      visitors[0]?.streams[0]?.finish();
      visit();
      await settled();
      assert.deepEqual([trunk.received.length, results.length], [FREE_CONNECTIONS + 1, 1]);
    });

    it('reports to a visitor that its trunk was lost, and asks its client for a sign of life', async () => {
      const control = attach();
      const trunk = offerTrunk();
      const { ends } = visit();
      await settled();
      trunk.leave();
      await settled();
      assert.deepEqual([ends, control.probes], [[{ clean: false, lost: true }], 1]);
    });

    it('gives up those of an earlier control socket that do not answer', async () => {
      const claimed: HeldControl[] = [];
      const claim = (held: HeldControl): undefined => void claimed.push(held);
      hub = new Hub({ ...OPTIONS, clock, ownership: { ...ALONE, claim } });
      for (const arrives of [() => attach(), () => claimed.at(-1)?.replaced()]) {
        attach();
        offerTrunk('key', new TrunkClient({ isThere: false }));
        const { ends } = visit();
        await settled();
        arrives();
        clock.advance(EARLIER_TRUNK_ANSWER_MS - 1);
        assert.deepEqual(ends, []);
        clock.advance(1);
        assert.deepEqual(ends, [{ clean: false, lost: true }]);
      }
    });

    it('waits for those of a client that has left in order, also on request, and came to another relay', async () => {
      const claimed: HeldControl[] = [];
      const claim = (held: HeldControl): undefined => void claimed.push(held);
      hub = new Hub({ ...OPTIONS, clock, ownership: { ...ALONE, claim } });
      for (const moves of [
        (control: FakeControl) => {
          hub.detach(tunnel, control.socket, CloseCode.goingAway);
          hub.get(tunnel.id)?.cameElsewhere('another');
        },
        (control: FakeControl) => {
          control.wasAskedToMove = true;
          claimed.at(-1)?.replaced();
        },
      ]) {
        const control = attach();
        const trunk = offerTrunk('key', new TrunkClient({ isThere: false }));
        const { ends } = visit();
        await settled();
        moves(control);
        clock.advance(EARLIER_TRUNK_ANSWER_MS);
        trunk.wake();
        await settled();
        assert.deepEqual([ends, trunk.received.length], [[], 1]);
      }
    });

    it('lets those of an ended control socket serve their present visitors', async () => {
      for (const ends of [
        (control: FakeControl) => hub.detach(tunnel, control.socket, CloseCode.goingAway),
        () => attach(),
        () => hub.drain(),
      ]) {
        const control = attach();
        const [used, unused] = [offerTrunk(), offerTrunk()];
        const visitor = visit();
        await settled();
        ends(control);
        await settled();
        assert.deepEqual([used.closed, unused.closed, visitor.ends], [[], [CloseCode.normal], []]);
        visitor.streams[0]?.finish();
        await settled();
        assert.deepEqual(used.closed, [CloseCode.normal]);
      }
    });

    it('closes them with their tunnel, and cuts their visitors', async () => {
      attach();
      const trunk = offerTrunk();
      const { ends } = visit();
      await settled();
      hub.end(tunnel, { code: CloseCode.tunnelExpired });
      await settled();
      assert.deepEqual([trunk.closed, ends], [[CloseCode.tunnelExpired], [{ clean: false, lost: false }]]);
    });

    it('closes those of a key that is revoked, and cuts their visitors', async () => {
      const control = attach('one');
      const trunk = offerTrunk('two');
      const { ends } = visit();
      await settled();
      assert.deepEqual(hub.keysInUse(), new Set(['one', 'two']));
      hub.revoke(new Map([['two', 'revoked']]));
      await settled();
      assert.deepEqual(
        [control.closed, trunk.closed, ends],
        [[], [CloseCode.keyRevoked], [{ clean: false, lost: false }]],
      );
      assert.deepEqual(hub.keysInUse(), new Set(['one']));
    });

    it('also closes unused ones with 4003 if the key is that of their control socket', async () => {
      attach('one');
      const trunk = offerTrunk('one');
      hub.revoke(new Map([['one', 'revoked']]));
      await settled();
      assert.deepEqual(trunk.closed, [CloseCode.keyRevoked]);
    });
  });
});
