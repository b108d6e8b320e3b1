import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { textOf } from '../messages.ts';
import { RelayRefusal } from '../relay/errors.ts';
import type { ControlEnd, ControlHandler } from './control-connection.ts';
import { TunnelSession, type TunnelState } from './tunnel-session.ts';

interface FakeControl {
  readonly handler: ControlHandler;
  closed: boolean;
  ended: boolean;
  mayHaveArrived: boolean;
  strays: number;
  readonly isCut: boolean;
  probes: number;
}

let clock: FakeClock;
let session: TunnelSession;
let states: TunnelState[];
let served: string[];
let controls: FakeControl[];
let renewed: number;
let draining: number;

/** A session whose control connections the test opens and ends. */
function setUp(): void {
  clock = new FakeClock();
  states = [];
  served = [];
  controls = [];
  renewed = 0;
  draining = 0;
  session = new TunnelSession({
    clock,
    random: () => 0.5,
    openControl(handler, isCut) {
      const isOver = (): boolean => control.closed || control.ended;
      const control = {
        closed: false,
        ended: false,
        mayHaveArrived: false,
        strays: 0,
        isCut,
        probes: 0,
        probe: () => void (control.probes += 1),
        close: () => void (control.closed = true),
        // Like the real one, it is silent after its end.
        handler: {
          ...handler,
          onOpen() {
            control.mayHaveArrived = true;
            if (!isOver()) handler.onOpen('127.0.0.1');
          },
          onEnd(end: ControlEnd) {
            if (isOver()) return;
            control.ended = true;
            handler.onEnd(end);
          },
        },
      };
      controls.push(control);
      return control;
    },
    serve: (id) => void served.push(id),
    onState: (state) => void states.push('why' in state ? { ...state, why: textOf(state.why) } : state),
    onKnock: () => {},
    onProblem: () => {},
    onDraining: () => void (draining += 1),
    onRenewed: () => void (renewed += 1),
  });
}

const latest = (): FakeControl => controls.at(-1) ?? assert.fail('no control connection was opened');
const open = (): void => latest().handler.onOpen('127.0.0.1');
const end = (how: ControlEnd): void => latest().handler.onEnd(how);
const names = (): string[] => states.map(({ name }) => name);
const cuts = (): boolean[] => controls.splice(0).map(({ isCut }) => isCut);
const delays = (): number[] =>
  states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));

const LOST: ControlEnd = { kind: 'lost', why: 'the connection was reset' };
const SILENT: ControlEnd = { kind: 'lost', why: 'it did not answer', isSilent: true };
const REPLACED: ControlEnd = { kind: 'closed', code: 4000, reason: '' };
const DRAINED: ControlEnd = { kind: 'closed', code: 1001, reason: '' };
const refused = (status: number, error: string, retryAfterMs?: number): ControlEnd => ({
  kind: 'refused',
  refusal: new RelayRefusal(status, error, { retryAfterMs }),
});
const REFUSED = refused(503, 'service unavailable');
const INVALID = refused(401, 'invalid api key');
const GONE = refused(404, 'tunnel not found');

const reconnecting = (
  retryInMs: number,
  attempt = 1,
  why = 'No connection to the relay: the connection was reset.',
): TunnelState => ({ name: 'reconnecting', attempt, retryInMs, why });

/** @returns the open control connection */
function online(): FakeControl {
  session.start();
  open();
  return latest();
}

/** The open connection was not heard of for too long, so that another one is being opened. */
function doubting(): FakeControl {
  const old = online();
  // Long after it was opened.
  clock.advance(3_600_000);
  old.handler.onSilent();
  return old;
}

/** The relay asks the client to move. */
function told(): FakeControl {
  const old = online();
  old.handler.onDrain();
  return old;
}

describe('TunnelSession', () => {
  beforeEach(setUp);

  it('takes the line for cut from silence or a changed network until something answers', () => {
    session.start();
    for (const how of [LOST, SILENT, REFUSED]) {
      end(how);
      clock.advance(60_000);
    }
    open();
    const current = latest();
    assert.deepEqual(cuts(), [false, false, true, false]);
    clock.advance(60_000);
    current.handler.onSilent();
    open();
    session.wake();
    open();
    end(DRAINED);
    clock.advance(60_000);
    assert.deepEqual(cuts(), [true, true, false]);
  });

  it('comes back as often as handshakes that it has dropped may have replaced the current one', () => {
    session.start();
    latest().strays = 1;
    open();
    end(REPLACED);
    assert.equal(controls.length, 2);
    open();
    end(REPLACED);
    assert.equal(session.state.name, 'offline');
  });

  it('goes from idle through connecting to online, once, and serves the connections announced to it', () => {
    assert.deepEqual(session.state, { name: 'idle' });
    session.start();
    online().handler.onConnection('one');
    assert.deepEqual([controls.length, names(), served], [1, ['connecting', 'online'], ['one']]);
  });

  it('reconnects after a random part of 0.5 s, and reports why', () => {
    online();
    end(LOST);
    assert.deepEqual(states.at(-1), reconnecting(250));
    clock.advance(249);
    assert.equal(controls.length, 1);
    clock.advance(1);
    assert.equal(controls.length, 2);
    open();
    assert.deepEqual(session.state, { name: 'online' });
  });

  describe('confirms a response that ends the tunnel over another connection', () => {
    for (const [refusal, reason] of [
      [INVALID, 'key-refused'],
      [GONE, 'gone'],
      [refused(400, 'tunnel_id is required'), 'refused'],
    ] as const) {
      it(`that leads to ${reason}`, () => {
        session.start();
        end(refusal);
        assert.deepEqual(names(), ['connecting', 'reconnecting']);
        clock.advance(250);
        assert.equal(controls.length, 2);
        end(refusal);
        const last = states.at(-1);
        assert.equal(last?.name === 'offline' && last.reason, reason);
      });
    }

    it('continues after a single 401, or a 401 and a 404', () => {
      session.start();
      for (const refusal of [INVALID, GONE, INVALID]) {
        end(refusal);
        clock.advance(2000);
      }
      open();
      assert.equal(session.state.name, 'online');
      end(LOST);
      clock.advance(2000);
      end(INVALID);
      assert.equal(session.state.name, 'reconnecting');
    });
  });

  it('waits longer after each failed try', () => {
    session.start();
    for (let attempt = 0; attempt < 10; attempt++) {
      end(LOST);
      clock.advance(15_000);
    }
    assert.deepEqual(delays(), [250, 500, ...Array<number>(6).fill(750), 7500, 7500]);
  });

  it('starts with short delays again after a connection that lasted 10 s, not after a shorter one', () => {
    session.start();
    end(LOST);
    for (const [delay, lasts] of [
      [250, 9999],
      [500, 10_000],
    ] as const) {
      clock.advance(delay);
      open();
      clock.advance(lasts);
      end(LOST);
    }
    assert.deepEqual(delays(), [250, 500, 250]);
  });

  it('honours Retry-After', () => {
    session.start();
    end(refused(503, 'service unavailable', 5000));
    const why = 'The relay is not accepting the connection at the moment: service unavailable.';
    assert.deepEqual(states.at(-1), reconnecting(5250, 1, why));
  });

  it('stops permanently at an error that no retry can fix', () => {
    online();
    end(REPLACED);
    const why = 'Another client has taken over this tunnel.';
    assert.deepEqual(states.at(-1), { name: 'offline', reason: 'replaced', why });
    clock.advance(60_000);
    assert.equal(controls.length, 1);
  });

  it('closes its control connection when stopped', () => {
    const { closed } = online();
    session.stop();
    assert.deepEqual([closed, latest().closed], [false, true]);
    assert.deepEqual(names(), ['connecting', 'online', 'offline']);
  });

  it('ignores a retry that was due when it was stopped', () => {
    session.start();
    end(LOST);
    session.stop();
    clock.advance(60_000);
    assert.deepEqual([controls.length, clock.waiting], [1, []]);
  });

  it('goes offline only once', () => {
    session.stop();
    session.stop();
    session.start();
    assert.deepEqual(names(), ['offline']);
  });

  it('reconnects immediately when the relay drains, however short the connection was', () => {
    session.start();
    for (let round = 0; round < 5; round += 1) {
      open();
      end(DRAINED);
      clock.advance(1000);
    }
    assert.deepEqual(delays(), [250, 500, 500, 500, 500]);
  });

  it('does not mistake a relay that drops every connection for a short network outage', () => {
    session.start();
    for (let round = 0; round < 180; round += 1) {
      open();
      end(LOST);
      clock.advance(1000);
      if (clock.waiting.length > 0) clock.advance(15_000);
    }
    assert.equal(delays().at(-1), 7500);
  });

  it('keeps trying quickly while there is no network', () => {
    session.start();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      end({ kind: 'lost', why: 'the host name does not exist', isOffline: true });
      clock.advance(60_000);
    }
    assert.equal(delays().at(-1), 750);
  });

  describe('wake', () => {
    it('retries immediately instead of waiting, and starts with short delays again', () => {
      session.start();
      for (let round = 0; round < 6; round += 1) {
        end(LOST);
        clock.advance(15_000);
      }
      end(LOST);
      session.wake();
      assert.equal(controls.length, 8);
      assert.deepEqual([states.at(-1), clock.waiting], [reconnecting(0, 0), []]);
      end(LOST);
      assert.deepEqual(states.at(-1), reconnecting(250));
    });

    it('gives up a try that may hang on the previous network', () => {
      session.start();
      session.wake();
      assert.deepEqual(
        controls.map(({ closed }) => closed),
        [true, false],
      );
      open();
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('keeps the open connection until the new one is open', () => {
      const old = online();
      session.wake();
      assert.equal(old.closed, false);
      old.handler.onConnection('one');
      open();
      assert.deepEqual([old.closed, renewed, served], [true, 1, ['one']]);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('continues when its own new connection replaces the old one', () => {
      const old = online();
      session.wake();
      latest().mayHaveArrived = true;
      old.handler.onEnd(REPLACED);
      assert.equal(session.state.name, 'online');
      open();
      assert.deepEqual([session.state.name, renewed], ['online', 1]);
      end(REPLACED);
      assert.equal(session.state.name, 'offline');
    });

    for (const [first, second] of [
      [0, 1],
      [1, 0],
    ] as const) {
      it(`reports that it is not online when both connections have failed, number ${first} first`, () => {
        online();
        session.wake();
        for (const which of [first, second]) {
          controls[which]?.handler.onEnd(LOST);
          assert.equal(session.state.name, 'reconnecting');
        }
        assert.deepEqual(clock.waiting, [250]);
      });
    }

    it('keeps the open connection when the relay responds that it cannot accept another', () => {
      const old = online();
      session.wake();
      end(REFUSED);
      assert.deepEqual([session.state.name, old.closed, clock.waiting], ['online', false, []]);
    });

    it('stops at a tunnel that is gone', () => {
      const old = online();
      session.wake();
      for (const state of ['online', 'offline']) {
        end(GONE);
        assert.deepEqual([session.state.name, old.closed], [state, state === 'offline']);
        clock.advance(250);
      }
    });

    it('does nothing before the start and after the end', () => {
      session.wake();
      session.stop();
      session.wake();
      session.suspend();
      assert.deepEqual([controls.length, session.state.name], [0, 'offline']);
    });
  });

  describe('an open connection in doubt', () => {
    afterEach(() => {
      if (session.state.name === 'online') assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('is followed by another one immediately when a ping is unanswered, and stays in service until that one is open', () => {
      const old = doubting();
      assert.deepEqual([controls.length, old.closed], [2, false]);
      old.handler.onSilent();
      old.handler.onConnection('one');
      assert.equal(controls.length, 2);
      open();
      assert.deepEqual([old.closed, renewed, served], [true, 1, ['one']]);
    });

    it('is trusted again when anything arrives on it: the other one is given up', () => {
      const old = doubting();
      old.handler.onHeard();
      assert.deepEqual([controls[1]?.closed, old.closed, clock.waiting], [true, false, []]);
      old.handler.onSilent();
      assert.equal(controls.length, 3);
      // What arrives on a connection that is being opened says nothing about it.
      latest().handler.onHeard();
      assert.equal(latest().closed, false);
    });

    for (const ending of ['opens', 'fails'] as const) {
      it(`is trusted again, but lets another one open that the relay may be accepting: it ${ending}`, () => {
        const old = doubting();
        latest().mayHaveArrived = true;
        old.handler.onHeard();
        assert.equal(latest().closed, false);
        if (ending === 'opens') open();
        else end(LOST);
        assert.deepEqual([old.closed, renewed], ending === 'opens' ? [true, 1] : [false, 0]);
        assert.equal(session.state.name, 'online');
      });
    }

    it('stays in service while attempts to open another one get no answer and are repeated within 0.5 s', () => {
      const old = doubting();
      for (let tries = 2; tries < 8; tries += 1) {
        end(SILENT);
        assert.deepEqual([old.closed, clock.waiting, controls.length], [false, [250], tries]);
        clock.advance(250);
      }
      latest().mayHaveArrived = true;
      end(LOST);
      assert.deepEqual([session.state.name, old.closed, clock.waiting], ['online', false, [750]]);
    });

    it('is given up when another one cannot be opened', () => {
      const old = doubting();
      end(LOST);
      assert.deepEqual([old.closed, states.at(-1)], [true, reconnecting(250)]);
    });

    it('is kept when the relay responds that it cannot accept another one', () => {
      const old = doubting();
      end(REFUSED);
      assert.deepEqual([session.state.name, old.closed, clock.waiting], ['online', false, []]);
    });

    it('is asked for a sign of life when a trunk is lost, and followed by another one within 0.5 s', () => {
      session.start();
      session.lostTrunk();
      open();
      session.lostTrunk();
      session.lostTrunk();
      assert.deepEqual([controls.length, latest().probes, clock.waiting], [1, 2, [250]]);
      clock.advance(250);
      assert.equal(controls.length, 2);
    });

    it('is not followed by another one after a lost trunk if it answers', () => {
      const old = online();
      session.lostTrunk();
      old.handler.onHeard();
      assert.deepEqual([controls.length, clock.waiting], [1, []]);
    });

    it('is asked for a sign of life when the network has changed, and stays if it answers', () => {
      const old = online();
      session.wake();
      assert.deepEqual([controls.length, old.probes], [2, 1]);
      old.handler.onHeard();
      assert.deepEqual([old.closed, latest().closed], [false, true]);
    });

    it('stops the session when another client takes over, while a new connection is dialled', () => {
      doubting().handler.onEnd(REPLACED);
      assert.deepEqual([session.state.name, latest().closed, clock.waiting], ['offline', true, []]);
    });

    it('may be replaced by a try whose response was lost, once for each, within two minutes', () => {
      const old = doubting();
      for (let tries = 0; tries < 2; tries += 1) {
        latest().mayHaveArrived = true;
        end(SILENT);
        clock.advance(250);
      }
      open();
      assert.deepEqual([controls.length, old.closed], [4, true]);
      for (let tries = 0; tries < 2; tries += 1) {
        clock.advance(50_000);
        end(REPLACED);
        assert.deepEqual([session.state.name, controls.length], ['online', 5 + tries]);
        open();
      }
      end(REPLACED);
      assert.equal(session.state.name, 'offline');
    });

    for (const [what, first, how, laterMs] of [
      ['after the relay broke off tries without one', () => session.start(), LOST, 0],
      ['later', doubting, SILENT, 120_000],
    ] as const) {
      it(`may be replaced by another client ${what}`, () => {
        first();
        latest().mayHaveArrived = true;
        end(how);
        clock.advance(250);
        open();
        clock.advance(laterMs);
        end(REPLACED);
        assert.equal(session.state.name, 'offline');
      });
    }

    it('is not in doubt while the relay asks the client to move', () => {
      told().handler.onSilent();
      assert.deepEqual([controls.length, clock.waiting], [1, [1000]]);
    });
  });

  describe('a relay that drains', () => {
    it('is left within 2 s, after another connection is open', () => {
      const old = told();
      assert.deepEqual(clock.waiting, [1000]);
      clock.advance(1000);
      assert.deepEqual([controls.length, old.closed, draining], [2, false, 1]);
      old.handler.onConnection('one');
      open();
      assert.deepEqual([old.closed, renewed, served], [true, 1, ['one']]);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    for (const failure of [LOST, REFUSED]) {
      it(`causes no failure report: tries that are ${failure.kind} continue while the old connection is open`, () => {
        const old = told();
        clock.advance(1000);
        for (const ms of [250, 500]) {
          end(failure);
          assert.deepEqual([old.closed, clock.waiting], [false, [ms]]);
          clock.advance(ms);
        }
        open();
        assert.deepEqual([controls.length, old.closed], [4, true]);
        assert.deepEqual(names(), ['connecting', 'online']);
      });

      it(`can announce it while another connection is opened for another reason, and ${failure.kind}`, () => {
        const old = online();
        session.wake();
        old.handler.onDrain();
        assert.deepEqual([controls.length, clock.waiting], [2, []]);
        end(failure);
        // Without a network, the old connection is lost as well.
        assert.equal(session.state.name, failure === LOST ? 'reconnecting' : 'online');
        assert.deepEqual(clock.waiting, [250]);
      });
    }

    it('is tried again only after its Retry-After', () => {
      told();
      clock.advance(1000);
      end(refused(503, 'service unavailable', 1000));
      assert.deepEqual(clock.waiting, [1250]);
    });

    it('gets no more tries once it ends the connection, which is then reopened as usual', () => {
      told().handler.onEnd(DRAINED);
      assert.deepEqual(states.at(-1), reconnecting(250, 1, 'The relay is shutting down.'));
      assert.deepEqual(clock.waiting, [250]);
      clock.advance(250);
      assert.equal(controls.length, 2);
    });

    it('can report that the tunnel is gone', () => {
      const old = told();
      for (const ms of [1000, 500]) {
        clock.advance(ms);
        end(GONE);
      }
      assert.deepEqual([session.state.name, old.closed], ['offline', true]);
    });

    it('can report that the tunnel is taken over', () => {
      told().handler.onEnd(REPLACED);
      assert.deepEqual([session.state.name, clock.waiting], ['offline', []]);
    });

    it('can report a replacement by a try whose response was lost, which does not stop the session', () => {
      const old = told();
      clock.advance(1000);
      latest().mayHaveArrived = true;
      end(LOST);
      old.handler.onEnd(REPLACED);
      assert.deepEqual([controls.length, session.state.name, clock.waiting], [3, 'online', []]);
      open();
      assert.equal(session.state.name, 'online');
    });

    it('is reported once, and only for the current connection', () => {
      told().handler.onDrain();
      clock.advance(1000);
      latest().handler.onDrain();
      assert.deepEqual([draining, clock.waiting], [1, []]);
      open();
      latest().handler.onDrain();
      assert.equal(draining, 2);
    });
  });

  describe('suspend', () => {
    it('disconnects without counting a failure, until wake', () => {
      const old = online();
      session.suspend();
      assert.equal(old.closed, true);
      assert.deepEqual(states.at(-1), reconnecting(60_000, 0, 'This computer is going to sleep.'));
      session.wake();
      open();
      assert.deepEqual([session.state.name, clock.waiting], ['online', []]);
    });

    it('ends by itself if the machine stays awake', () => {
      online();
      session.suspend();
      clock.advance(59_999);
      assert.equal(controls.length, 1);
      clock.advance(1);
      assert.equal(controls.length, 2);
    });
  });

  it('leaks nothing over a day of every kind of ending', () => {
    session.start();
    for (let round = 0; clock.monotonic() < 24 * 3_600_000; round += 1) {
      if (round % 3 > 0) open();
      if (round % 11 === 0) latest().handler.onDrain();
      if (round % 5 === 0) session.wake();
      if (round % 7 === 0) session.suspend();
      else end(round % 2 === 0 ? LOST : DRAINED);
      const live = controls.filter((control) => !control.closed && !control.ended);
      assert.ok(live.length <= 1, `${live.length} connections`);
      assert.ok(clock.waiting.length <= 1, `${clock.waiting.length} timers`);
      clock.advance(60_000);
    }
    assert.ok(controls.length > 1000);
    session.stop();
    assert.deepEqual(clock.waiting, []);
  });
});
