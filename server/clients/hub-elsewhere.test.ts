import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { CloseCode, PENDING_TIMEOUT_MS, PROBLEM_INTERVAL_MS } from '../../shared/control.ts';
import { type ByteStreamHandler, WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import { traffic } from '../observe/counters.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount } from '../testing/fixtures.ts';
import { settled, TrunkClient } from '../testing/trunk-client.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { type DialFault, LOST_BEYOND } from '../tunnels/stream.ts';
import type { StreamSocket } from './client-streams.ts';
import { WAITING_MAX } from './client.ts';
import type { ControlSocket } from './control-socket.ts';
import { readVisitResponse } from './forwarded-visitor.ts';
import { Hub } from './hub.ts';
import { ALONE, type VisitFailure, type VisitHandler } from './ownership.ts';
import { HOLD_OVER_MS, VISIT_RETRY_MS, VISIT_TIMEOUT_MS } from './waiting-visitors.ts';

const tunnel = {
  id: 'one',
  account: anAccount({ plan: 'free' }),
  countIn: () => assert.fail('counted here'),
  countOut: () => assert.fail('counted here'),
} as unknown as LiveTunnel;

/** A control socket that only tells what it announces. */
function aControl(announce: (id: string) => void): ControlSocket {
  const key = { keyId: 'key', hash: '' };
  return { key, announce, close() {}, cut() {}, tick() {}, probe() {} } as unknown as ControlSocket;
}

/** A stream between two relays, with the other relay at its other end. */
class FakeHop implements StreamSocket {
  readonly isPaused = false;
  readonly isSilent = false;
  /** the text that was written, after the first byte, which is the response */
  text = '';
  response: string | undefined;
  /** code of its end from this side */
  code: number | undefined;
  handler: ByteStreamHandler | undefined;

  attach(handler: ByteStreamHandler): void {
    this.handler = handler;
  }

  write(chunk: Buffer): boolean {
    assert.equal(this.code, undefined);
    const rest = this.response === undefined ? chunk.subarray(1) : chunk;
    this.response ??= readVisitResponse(chunk[0]);
    this.text += rest.toString();
    return true;
  }

  close(code: number): void {
    this.code ??= code;
  }

  destroy(): void {
    this.code ??= CloseCode.goingAway;
  }

  pause(): void {}

  resume(): void {}

  end(): boolean {
    return true;
  }

  probe(): void {}
}

/**
 * Each step is what happens, and after `>` what the relay does. `at A`: relay A was found and asked; `away 5`: no relay
 * has had the client for 5 ms; `+5`: 5 ms pass.
 */
const SCRIPTS: readonly (readonly [name: string, ...steps: string[]])[] = [
  ['is served through the relay that has the client', '> ask', 'at A', 'opened > open from A'],
  ['is not forwarded again to the relay that waits for its client', '> ask', 'at A', 'online A', 'online A'],
  [
    'is forwarded to the relay that the client has moved to',
    '> ask',
    'at A',
    'online B > cancel ask',
    'at B',
  ],
  ['is forwarded when the client comes', '> ask', 'away 0', 'online B > ask'],
  ['is looked for anew if the client comes meanwhile', '> ask', 'online A > cancel ask'],
  ['is announced when the client comes to its own relay', '> ask', 'at A', 'here > cancel announce'],
  ['does not wait for a client that has left earlier', '> ask', 'away 60000', '+1 > fail tunnel-offline'],
  [
    'waits 10 s for a client that has just left',
    '> ask',
    'away 1000',
    `+${HOLD_OVER_MS - 1001}`,
    '+1 > fail tunnel-offline',
  ],
  [
    'is asked about again each second while the relay of the client cannot be reached, for 10 s',
    '> ask',
    'lost',
    `+${VISIT_RETRY_MS} > ask`,
    'at A',
    `+${HOLD_OVER_MS - 2 * VISIT_RETRY_MS}`,
    'lost',
    `+${VISIT_RETRY_MS} > fail tunnel-offline`,
  ],
  [
    'does not wait longer than that if the relay turns out to be gone',
    '> ask',
    'lost',
    `+${VISIT_RETRY_MS} > ask`,
    'away 0',
    `+${HOLD_OVER_MS - VISIT_RETRY_MS - 1}`,
    '+1 > fail tunnel-offline',
  ],
  [
    'waits as long again once the client has come',
    '> ask',
    'lost',
    '+999',
    'online A > ask',
    'lost',
    '+1000 > ask',
  ],
  [
    'gets the fault that the other relay reports',
    '> ask',
    'at A',
    'fault client-timeout > fail client-timeout',
  ],
  ['fails immediately if the relays cannot reach each other', '> ask', 'apart', '+1 > fail tunnel-offline'],
  [
    'is given up if the other relay does not respond in its own time limits and 5 s',
    '> ask',
    'at A',
    `+${VISIT_TIMEOUT_MS - 1}`,
    '+1 > cancel fail client-timeout',
  ],
  [
    'has that time again if the client reconnects to the other relay',
    '> ask',
    'at A',
    `+${VISIT_TIMEOUT_MS - 1}`,
    'online A',
    `+${VISIT_TIMEOUT_MS - 1}`,
    '+1 > cancel fail client-timeout',
  ],
  ['stays where it is after news were missed', '> ask', 'at A', 'resume'],
  ['is looked for again after news were missed, unless it was forwarded', '> ask', 'away 0', 'resume > ask'],
  ['is no longer looked for once it has left', '> ask', 'at A', 'leave > cancel', 'online B'],
  ['ends with the tunnel', '> ask', 'at A', 'end > cancel fail tunnel-unknown'],
];

describe('A visitor whose client is on another relay', () => {
  for (const [name, ...steps] of SCRIPTS) {
    it(name, () => {
      const clock = new FakeClock();
      let events: string[] = [];
      let visit: { relay: string | undefined; handler: VisitHandler } | undefined;
      const forwarder = {
        visit(_tunnel: string, handler: VisitHandler) {
          events.push('ask');
          const asked = {
            relay: undefined as string | undefined,
            handler,
            cancel: () => events.push('cancel'),
          };
          visit = asked;
          return asked;
        },
      };
      const hub = new Hub({ clock, maxTrunks: 2, ownership: { ...ALONE, hasOthers: true }, forwarder });
      const dial = hub.dial(tunnel, {
        opened: (stream, wasWarm) => {
          // Like a stream that was opened in advance: the other relay may die.
          assert.deepEqual([hub.gauges().streams, hub.gauges().pending, wasWarm], [1, 0, true]);
          stream.abort();
          events.push(`open from ${visit?.relay}`);
        },
        failed: (fault) => events.push(`fail ${fault}`),
      });
      const fail = (failure: VisitFailure): unknown => visit?.handler.failed(failure);
      const acts: Readonly<Record<string, (word: string) => unknown>> = {
        '': () => {},
        at: (relay) => Object.assign(visit ?? assert.fail(), { relay }),
        opened: () => visit?.handler.opened(new FakeHop(), visit.relay ?? assert.fail()),
        away: (ms) => fail({ kind: 'away', ms: Number(ms) }),
        lost: () => fail({ kind: 'lost' }),
        apart: () => fail({ kind: 'apart' }),
        fault: (fault) => fail({ kind: 'fault', fault: fault as DialFault }),
        online: (relay) => hub.get(tunnel.id)?.cameElsewhere(relay),
        here: () =>
          hub.attach(
            tunnel,
            aControl(() => events.push('announce')),
          ),
        resume: () => hub.resume(),
        leave: () => dial.cancel(),
        end: () => hub.end(tunnel, { code: CloseCode.tunnelClosed }),
      };
      for (const step of steps) {
        const [what = '', wanted = ''] = step.split('>').map((text) => text.trim());
        const [act = '', word = ''] = what.split(' ');
        if (act.startsWith('+')) clock.advance(Number(act));
        else (acts[act] ?? assert.fail(act))(word);
        assert.equal(events.join(' '), wanted, step);
        events = [];
      }
    });
  }

  it('may cause problems, which are passed on at most once a second or once', () => {
    const problems: string[] = [];
    const clock = new FakeClock();
    const ownership = {
      ...ALONE,
      hasOthers: true,
      tellProblem: (_tunnel: string, { detail }: { detail: string }) => problems.push(detail),
    };
    const hub = new Hub({ clock, maxTrunks: 2, ownership });
    hub.expect(tunnel);
    for (const [detail, ms] of [
      ['1', PROBLEM_INTERVAL_MS - 1],
      ['2', 1],
      ['3', 0],
    ] as const) {
      hub.get(tunnel.id)?.tellProblem({ code: 'local-malformed', detail });
      hub.get(tunnel.id)?.tellProblem({ code: 'path-cookie', detail: `cookie ${detail}` });
      clock.advance(ms);
    }
    assert.deepEqual(problems, ['1', 'cookie 1', '3']);
  });
});

describe('A visitor of another relay', () => {
  let clock: FakeClock;
  let hub: Hub;
  let announced: string[];
  let control: ControlSocket;

  beforeEach(() => {
    clock = new FakeClock();
    hub = new Hub({ clock, maxTrunks: 2, ownership: { ...ALONE, hasOthers: true } });
    announced = [];
    control = aControl((id) => announced.push(id));
    void hub.attach(tunnel, control);
  });

  function visit(): FakeHop {
    const hop = new FakeHop();
    hub.serveVisit(tunnel.id, hop);
    return hop;
  }

  /** A visitor with a data socket of the client. */
  async function serve(): Promise<{
    hop: FakeHop;
    client: WebSocketByteStream;
    received: () => string;
    ends: number[];
  }> {
    const hop = visit();
    const [near, far] = duplexPair();
    const client = new WebSocketByteStream(near, 'client', Buffer.alloc(0));
    let received = '';
    const ends: number[] = [];
    client.attach({
      onStreamData: (piece) => (received += piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => ends.push(code),
    });
    const pending = hub.awaited.find(announced.at(-1) ?? '') ?? assert.fail();
    hub.open(pending, new WebSocketByteStream(far, 'server', Buffer.alloc(0)), 'data key');
    assert.equal(hop.response, 'opened');
    await settled();
    return { hop, client, received: () => received, ends };
  }

  for (const [what, response, happens] of [
    ['whose client is not here', 'away', () => hub.detach(tunnel, control, CloseCode.normal)],
    ['of an unknown tunnel', 'away', () => hub.end(tunnel, { code: CloseCode.tunnelClosed })],
  ] as const) {
    it(`${what} is given back`, () => {
      happens();
      assert.deepEqual([visit().response, hub.forwarded], [response, 0]);
    });
  }

  for (const [what, response, happens] of [
    ['the tunnel ends', 'tunnel-unknown', () => hub.end(tunnel, { code: CloseCode.tunnelClosed })],
    ['the key is revoked', 'tunnel-offline', () => hub.revoke(new Map([['key', 'revoked']]))],
    ['the account is suspended', 'tunnel-offline', () => hub.get(tunnel.id)?.suspend('unpaid')],
    ['the client opens nothing for 10 s', 'client-timeout', () => clock.advance(PENDING_TIMEOUT_MS)],
  ] as const) {
    it(`stops waiting when ${what}`, () => {
      const hop = visit();
      assert.deepEqual([hop.response, hub.forwarded, hub.gauges().pending], [undefined, 1, 0]);
      happens();
      assert.deepEqual([hop.response, hop.code, hub.forwarded], [response, CloseCode.normal, 0]);
      assert.equal(hub.awaited.find(announced[0] ?? ''), undefined);
    });
  }

  it('waits for a client that has left for 10 s, and its data socket is still accepted', () => {
    const hop = visit();
    hub.detach(tunnel, control, CloseCode.abnormal);
    clock.advance(HOLD_OVER_MS - 1);
    assert.deepEqual([hop.response, hub.awaited.find(announced[0] ?? '') === undefined], [undefined, false]);
    clock.advance(1);
    assert.deepEqual([hop.response, hub.forwarded], ['tunnel-offline', 0]);
  });

  it('is announced again, with the same id, to a client that has reconnected', () => {
    visit();
    hub.detach(tunnel, control, CloseCode.abnormal);
    void hub.attach(tunnel, control);
    assert.equal(announced.length, 2);
    assert.equal(announced[0], announced[1]);
  });

  it('no longer waits once its relay has ended the stream, or sends bytes too early', () => {
    for (const ends of ['onStreamClose', 'onStreamData'] as const) {
      const { handler } = visit();
      if (ends === 'onStreamClose') handler?.onStreamClose(CloseCode.goingAway);
      else handler?.onStreamData(Buffer.from('GET'));
      assert.equal(hub.forwarded, 0);
    }
  });

  it('is served through a trunk, and counted on its own relay only', async () => {
    const trunk = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(trunk.socket, { keyId: 'key' });
    const { bytesIn } = traffic;
    const most = PLAN_RULES[tunnel.account.plan].maxConnections ?? assert.fail();
    const hops = Array.from({ length: most + 1 }, visit);
    await settled();
    for (const hop of hops) hop.handler?.onStreamData(Buffer.from('GET'));
    await settled();
    assert.deepEqual([trunk.received.length, announced, traffic.bytesIn], [most + 1, [], bytesIn]);
    assert.deepEqual([hub.forwarded, hub.gauges().streams], [most + 1, 0]);
    for (const hop of hops) hop.handler?.onStreamClose(CloseCode.normal);
    assert.equal(hub.forwarded, 0);
  });

  it('waits only while fewer than 4,096 visitors wait for the client, wherever they are', () => {
    for (let count = 0; count < WAITING_MAX; count += 1) visit();
    const last = visit();
    clock.advance(1);
    assert.deepEqual([last.response, hub.forwarded], ['tunnel-busy', WAITING_MAX]);
  });

  it('exchanges bytes with the client, and ends it', async () => {
    for (const [code, wanted] of [
      [CloseCode.normal, CloseCode.normal],
      [CloseCode.abnormal, CloseCode.goingAway],
      [CloseCode.tunnelClosed, CloseCode.tunnelClosed],
    ] as const) {
      const { hop, client, received, ends } = await serve();
      hop.handler?.onStreamData(Buffer.from('request'));
      client.write(Buffer.from('response'));
      await settled();
      assert.deepEqual([received(), hop.text], ['request', 'response']);
      hop.handler?.onStreamClose(code);
      await settled();
      assert.deepEqual([ends, hub.forwarded], [[wanted], 0]);
    }
  });

  for (const code of [CloseCode.normal, CloseCode.goingAway, CloseCode.internalError, LOST_BEYOND])
    it(`ends like its client, with ${code}`, async () => {
      const { hop, client } = await serve();
      client.close(code);
      await settled();
      assert.equal(hop.code, code);
    });

  it('is not told to repeat its request if the data socket is lost, but if a trunk is', async () => {
    const { hop, client } = await serve();
    client.destroy();
    await settled();
    const trunk = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(trunk.socket, { keyId: 'key' });
    const warm = visit();
    await settled();
    warm.handler?.onStreamData(Buffer.from('GET'));
    await settled();
    trunk.leave();
    await settled();
    assert.deepEqual([hop.code, warm.code], [CloseCode.internalError, LOST_BEYOND]);
  });

  it('is cut off with the key of its data socket', async () => {
    const { hop } = await serve();
    hub.revoke(new Map([['data key', 'revoked']]));
    assert.deepEqual([hop.code, hub.forwarded], [CloseCode.goingAway, 0]);
  });

  it('keeps its trunk, which gets no other visitor, when the relay that the trunk arrives through shuts down', async () => {
    const trunk = new TrunkClient();
    hub.get(tunnel.id)?.addTrunk(trunk.socket, { keyId: 'key' }, 'leaving');
    hub.leavesHop('another');
    const hop = visit();
    await settled();
    assert.equal(hop.response, 'opened');
    hop.handler?.onStreamData(Buffer.from('GET'));
    await settled();
    hub.leavesHop('leaving');
    assert.equal(visit().response, undefined);
    hop.handler?.onStreamClose(CloseCode.normal);
    await settled();
    assert.deepEqual(trunk.closed, [CloseCode.normal]);
  });
});
