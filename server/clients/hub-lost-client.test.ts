import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode } from '../../shared/control.ts';
import { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream, StreamHandler } from '../tunnels/stream.ts';
import { LIFE_SIGN_MS } from './client-streams.ts';
import type { ControlSocket } from './control-socket.ts';
import { Hub } from './hub.ts';
import { ALONE } from './ownership.ts';

const tunnel = {
  id: 'one',
  account: anAccount({ plan: 'team' }),
  countIn() {},
  countOut() {},
} as unknown as LiveTunnel;

/** Ids that a control socket has announced. */
const announced: string[] = [];

function announce(id: string): void {
  announced.push(id);
}

/** A control socket that only records its announcements. */
function aControl(): ControlSocket {
  const key = { keyId: 'key', hash: '' };
  return { key, announce, close() {}, cut() {}, tick() {}, probe() {} } as unknown as ControlSocket;
}

/** Waits until everything that is in progress in memory is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A visitor with a stream that only records its events. */
class Visitor implements StreamHandler {
  readonly events: string[] = [];
  stream: ByteStream | undefined;

  onBytes(): void {}

  onRoom(): void {}

  onEnded(clean: boolean, lost = false): void {
    this.events.push(`closed ${clean ? 'clean' : lost ? 'lost' : 'broken'}`);
  }

  onRetired(): void {
    this.events.push('retired');
  }

  /** Keeps the stream for a next request. */
  rest(): void {
    const onRetired = () => this.onRetired();
    this.stream?.attach({ onBytes() {}, onRoom() {}, onEnded() {}, onRetired, rests: true });
  }
}

describe('A client whose control socket was lost', () => {
  let clock: FakeClock;
  let hub: Hub;

  beforeEach(() => {
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: ALONE });
  });

  function attach(): ControlSocket {
    const control = aControl();
    void hub.attach(tunnel, control);
    return control;
  }

  /** A visitor with a stream, and the client's end of it, which is not read if the client is frozen. */
  async function serve(isFrozen = false) {
    const visitor = new Visitor();
    const [near, far] = duplexPair();
    const client = new WebSocketByteStream(near, 'client', Buffer.alloc(0));
    if (!isFrozen) client.attach({ onStreamData() {}, onStreamDrain() {}, onStreamClose() {} });
    const opened = (stream: ByteStream) => {
      visitor.stream = stream;
      stream.attach(visitor);
    };
    hub.dial(tunnel, { opened, failed: () => assert.fail() });
    const pending = hub.awaited.find(announced.at(-1) ?? '') ?? assert.fail();
    hub.open(pending, new WebSocketByteStream(far, 'server', Buffer.alloc(0)), 'key');
    await settled();
    return { visitor, client };
  }

  /** Lets time pass, with a tick of the hub every second. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.advance(1000);
      hub.tick();
      await settled();
    }
  }

  it('loses the streams without a sign of life for 8 s, and no others', async () => {
    const control = attach();
    const [alive, frozen] = [await serve(), await serve(true)];
    hub.detach(tunnel, control, CloseCode.abnormal);
    await pass(LIFE_SIGN_MS - 1000);
    assert.deepEqual(frozen.visitor.events, []);
    await pass(1000);
    assert.deepEqual([alive.visitor.events, frozen.visitor.events], [[], ['closed lost']]);
    assert.equal(hub.gauges().streams, 1);
  });

  it('is probed again and again until it is back', async () => {
    const control = attach();
    const [alive, freezing] = [await serve(), await serve()];
    hub.detach(tunnel, control, CloseCode.abnormal);
    await pass(2 * LIFE_SIGN_MS);
    freezing.client.pause();
    await pass(2 * LIFE_SIGN_MS);
    assert.deepEqual([alive.visitor.events, freezing.visitor.events], [[], ['closed lost']]);
    attach();
    await pass(LIFE_SIGN_MS);
    alive.client.pause();
    await pass(3 * LIFE_SIGN_MS);
    assert.deepEqual(alive.visitor.events, []);
  });

  it('is probed on streams that it got while others were probed', async () => {
    const control = attach();
    await serve();
    hub.detach(tunnel, control, CloseCode.abnormal);
    await pass(1000);
    const second = attach();
    const frozen = await serve(true);
    hub.detach(tunnel, second, CloseCode.abnormal);
    attach();
    await pass(2 * LIFE_SIGN_MS);
    assert.deepEqual(frozen.visitor.events, ['closed lost']);
  });

  it('also loses them if another client has replaced it', async () => {
    const old = attach();
    const frozen = await serve(true);
    attach();
    const alive = await serve();
    await pass(2 * LIFE_SIGN_MS);
    assert.deepEqual(frozen.visitor.events, []);
    // It has not answered its Close frame.
    hub.detach(tunnel, old, CloseCode.abnormal);
    await pass(LIFE_SIGN_MS);
    assert.deepEqual([frozen.visitor.events, alive.visitor.events], [['closed lost'], []]);
  });

  for (const [what, hears] of [
    ['has left another relay', () => hub.get(tunnel.id)?.leftElsewhere()],
    ['has come to another relay', () => hub.get(tunnel.id)?.cameElsewhere('another')],
  ] as const) {
    it(`also loses them when it ${what}`, async () => {
      const control = attach();
      const [alive, frozen, kept] = [await serve(), await serve(true), await serve()];
      hub.detach(tunnel, control, CloseCode.normal);
      await pass(2 * LIFE_SIGN_MS);
      kept.visitor.rest();
      hears();
      for (const { visitor } of [alive, frozen]) assert.deepEqual(visitor.events, ['retired']);
      // It was told while it was in use, and again when it was kept.
      assert.deepEqual(kept.visitor.events, ['retired', 'retired']);
      await pass(LIFE_SIGN_MS);
      assert.deepEqual(
        [alive.visitor.events, frozen.visitor.events],
        [['retired'], ['retired', 'closed lost']],
      );
    });
  }

  it('keeps a stream that its visitor keeps from being read', async () => {
    const control = attach();
    const { visitor } = await serve(true);
    visitor.stream?.pause();
    hub.detach(tunnel, control, CloseCode.abnormal);
    await pass(3 * LIFE_SIGN_MS);
    assert.deepEqual(visitor.events, []);
    visitor.stream?.resume();
    await pass(2 * LIFE_SIGN_MS);
    assert.deepEqual(visitor.events, ['closed lost']);
  });

  it('leaves no stream in use for the next request if it was closed in order', async () => {
    const control = attach();
    const { visitor } = await serve();
    hub.detach(tunnel, control, CloseCode.normal);
    visitor.events.length = 0;
    visitor.rest();
    assert.deepEqual(visitor.events, ['retired']);
  });

  it('leaves no stream for the next request, however it was lost, or after another one has connected', async () => {
    for (const code of [CloseCode.abnormal, CloseCode.normal]) {
      const control = attach();
      const { visitor } = await serve();
      visitor.rest();
      hub.detach(tunnel, control, code);
      assert.deepEqual(visitor.events, ['retired']);
    }
    attach();
    const { visitor } = await serve();
    visitor.rest();
    attach();
    assert.deepEqual(visitor.events, ['retired']);
  });
});
