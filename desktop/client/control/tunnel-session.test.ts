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

/** A session whose control connections the test opens and ends. */
function setUp(random = 0.5) {
  const clock = new FakeClock();
  const states: TunnelState[] = [];
  const served: string[] = [];
  const controls: FakeControl[] = [];
  const renewed = { times: 0 };
  const draining = { times: 0 };
  const session = new TunnelSession({
    clock,
    random: () => random,
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
    onDraining: () => void (draining.times += 1),
    onRenewed: () => void (renewed.times += 1),
  });
  const latest = () => controls.at(-1) ?? assert.fail('no control connection was opened');
  return {
    clock,
    session,
    states,
    served,
    controls,
    renewed,
    draining,
    latest,
    names: () => states.map(({ name }) => name),
    open: () => latest().handler.onOpen('127.0.0.1'),
    end: (end: ControlEnd) => latest().handler.onEnd(end),
  };
}

const LOST: ControlEnd = { kind: 'lost', why: 'the connection was reset' };
const refused = (refusal: RelayRefusal): ControlEnd => ({ kind: 'refused', refusal });
const REFUSED = refused(new RelayRefusal(503, 'service unavailable'));

/** Online, and asked to move. */
function told(random = 0.5) {
  const world = setUp(random);
  world.session.start();
  world.open();
  const [old = assert.fail()] = world.controls;
  old.handler.onDrain();
  return { ...world, old };
}

/** Online, with a connection that may be dead. */
function doubting(random = 0.5) {
  const world = setUp(random);
  world.session.start();
  world.open();
  const [old = assert.fail()] = world.controls;
  // Long after it was opened.
  world.clock.advance(3_600_000);
  old.handler.onSilent();
  return { ...world, old };
}

describe('TunnelSession', () => {
  it('takes the line for cut from silence or a changed network until something answers', () => {
    const { session, open, end, latest, clock, controls } = setUp();
    const cuts = (): boolean[] => controls.splice(0).map(({ isCut }) => isCut);
    session.start();
    end({ kind: 'lost', why: 'reset' });
    clock.advance(60_000);
    end({ kind: 'lost', why: 'silent', isSilent: true });
    clock.advance(60_000);
    end(REFUSED);
    clock.advance(60_000);
    open();
    const current = latest();
    assert.deepEqual(cuts(), [false, false, true, false]);
    clock.advance(60_000);
    current.handler.onSilent();
    open();
    session.wake();
    open();
    latest().handler.onEnd({ kind: 'closed', code: 1001, reason: '' });
    clock.advance(60_000);
    assert.deepEqual(cuts(), [true, true, false]);
  });

  it('comes back as often as handshakes that it has dropped may have replaced the current one', () => {
    const { session, open, end, latest, controls } = setUp();
    session.start();
    latest().strays = 1;
    open();
    end({ kind: 'closed', code: 4000, reason: '' });
    assert.equal(controls.length, 2);
    open();
    end({ kind: 'closed', code: 4000, reason: '' });
    assert.equal(session.state.name, 'offline');
  });

  it('goes from idle through connecting to online', () => {
    const { session, open, names } = setUp();
    assert.deepEqual(session.state, { name: 'idle' });
    session.start();
    open();
    assert.deepEqual(names(), ['connecting', 'online']);
  });

  it('connects only once, even if it is started several times', () => {
    const { session, controls } = setUp();
    session.start();
    session.start();
    assert.equal(controls.length, 1);
  });

  it('serves the connections announced to it', () => {
    const { session, open, latest, served } = setUp();
    session.start();
    open();
    latest().handler.onConnection('one');
    assert.deepEqual(served, ['one']);
  });

  it('reconnects after a random part of 0.5 s, and reports why', () => {
    const { session, open, end, clock, controls, states } = setUp(0.5);
    session.start();
    open();
    end(LOST);
    const why = 'No connection to the relay: the connection was reset.';
    assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 250, why });
    clock.advance(249);
    assert.equal(controls.length, 1);
    clock.advance(1);
    assert.equal(controls.length, 2);
    open();
    assert.deepEqual(session.state, { name: 'online' });
  });

  describe('confirms a response that ends the tunnel over another connection', () => {
    const INVALID = new RelayRefusal(401, 'invalid api key');
    const GONE = new RelayRefusal(404, 'tunnel not found');

    for (const [refusal, reason] of [
      [INVALID, 'key-refused'],
      [GONE, 'gone'],
      [new RelayRefusal(400, 'tunnel_id is required'), 'refused'],
    ] as const) {
      it(`${refusal.status} twice: ${reason}`, () => {
        const { session, states, end, clock, controls, names } = setUp();
        session.start();
        end(refused(refusal));
        assert.deepEqual(names(), ['connecting', 'reconnecting']);
        clock.advance(250);
        assert.equal(controls.length, 2);
        end(refused(refusal));
        const last = states.at(-1);
        assert.equal(last?.name === 'offline' && last.reason, reason);
      });
    }

    it('continues after a single 401, or a 401 and a 404', () => {
      const { session, open, end, clock } = setUp();
      session.start();
      for (const refusal of [INVALID, GONE, INVALID]) {
        end(refused(refusal));
        clock.advance(2000);
      }
      open();
      assert.equal(session.state.name, 'online');
      end(LOST);
      clock.advance(2000);
      end(refused(INVALID));
      assert.equal(session.state.name, 'reconnecting');
    });
  });

  it('waits longer after each failed try', () => {
    const { session, end, clock, states } = setUp(0.5);
    session.start();
    for (let attempt = 0; attempt < 7; attempt++) {
      end(LOST);
      clock.advance(15_000);
    }
    const delays = states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));
    assert.deepEqual(delays, [250, 500, 750, 750, 750, 750, 750]);
    for (let attempt = 0; attempt < 3; attempt++) {
      end(LOST);
      clock.advance(15_000);
    }
    const later = states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));
    assert.deepEqual(later.slice(7), [750, 7500, 7500]);
  });

  it('starts with short delays again after a connection that lasted 10 s, not after a shorter one', () => {
    const { session, open, end, clock, states } = setUp(0.5);
    const delay = () => {
      const state = states.at(-1);
      return state?.name === 'reconnecting' ? state.retryInMs : undefined;
    };
    session.start();
    end(LOST);
    clock.advance(250);
    open();
    clock.advance(9999);
    end(LOST);
    assert.equal(delay(), 500);
    clock.advance(500);
    open();
    clock.advance(10_000);
    end(LOST);
    assert.equal(delay(), 250);
  });

  it('honours Retry-After', () => {
    const { session, end, states } = setUp(0.5);
    session.start();
    end({ kind: 'refused', refusal: new RelayRefusal(503, 'service unavailable', { retryAfterMs: 5000 }) });
    const why = 'The relay is not accepting the connection at the moment: service unavailable.';
    assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 5250, why });
  });

  it('stops permanently at an error that no retry can fix', () => {
    const { session, open, end, clock, controls, states } = setUp();
    session.start();
    open();
    end({ kind: 'closed', code: 4000, reason: '' });
    const why = 'Another client has taken over this tunnel.';
    assert.deepEqual(states.at(-1), { name: 'offline', reason: 'replaced', why });
    clock.advance(60_000);
    assert.equal(controls.length, 1);
  });

  it('closes its control connection when stopped', () => {
    const { session, open, latest, names } = setUp();
    session.start();
    open();
    session.stop();
    assert.equal(latest().closed, true);
    assert.deepEqual(names(), ['connecting', 'online', 'offline']);
  });

  it('ignores a retry that was due when it was stopped', () => {
    const { session, end, clock, controls } = setUp();
    session.start();
    end(LOST);
    session.stop();
    clock.advance(60_000);
    assert.equal(controls.length, 1);
    assert.deepEqual(clock.waiting, []);
  });

  it('goes offline only once', () => {
    const { session, names } = setUp();
    session.stop();
    session.stop();
    session.start();
    assert.deepEqual(names(), ['offline']);
  });

  it('reconnects immediately when the relay drains, however short the connection was', () => {
    const { session, open, end, clock, states } = setUp(0.5);
    session.start();
    for (let round = 0; round < 5; round += 1) {
      open();
      end({ kind: 'closed', code: 1001, reason: '' });
      clock.advance(1000);
    }
    const delays = states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));
    assert.deepEqual(delays, [250, 500, 500, 500, 500]);
  });

  it('does not mistake a relay that drops every connection for a short network outage', () => {
    const { session, open, end, clock, states } = setUp(0.5);
    session.start();
    for (let round = 0; round < 180; round += 1) {
      open();
      end(LOST);
      clock.advance(1000);
      if (clock.waiting.length > 0) clock.advance(15_000);
    }
    const state = states.at(-1);
    assert.equal(state?.name === 'reconnecting' ? state.retryInMs : undefined, 7500);
  });

  it('keeps trying quickly while there is no network', () => {
    const { session, end, clock, states } = setUp(0.5);
    session.start();
    for (let minutes = 0; minutes < 60; minutes += 1) {
      end({ kind: 'lost', why: 'the host name does not exist', isOffline: true });
      clock.advance(60_000);
    }
    const state = states.at(-1);
    assert.equal(state?.name === 'reconnecting' ? state.retryInMs : undefined, 750);
  });

  describe('wake', () => {
    it('retries immediately instead of waiting, and starts with short delays again', () => {
      const { session, end, clock, controls, states } = setUp(0.5);
      session.start();
      for (let round = 0; round < 6; round += 1) {
        end(LOST);
        clock.advance(15_000);
      }
      end(LOST);
      const before = controls.length;
      session.wake();
      assert.equal(controls.length, before + 1);
      const why = 'No connection to the relay: the connection was reset.';
      assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 0, retryInMs: 0, why });
      assert.deepEqual(clock.waiting, []);
      end(LOST);
      assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 250, why });
    });

    it('gives up a try that may hang on the previous network', () => {
      const { session, controls, open, names } = setUp();
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
      const { session, controls, open, names, renewed, served } = setUp();
      session.start();
      open();
      session.wake();
      const [old] = controls;
      assert.equal(old?.closed, false);
      old?.handler.onConnection('one');
      open();
      assert.deepEqual(
        [old?.closed, renewed.times, served, names()],
        [true, 1, ['one'], ['connecting', 'online']],
      );
    });

    it('continues when its own new connection replaces the old one', () => {
      const { session, controls, open, renewed, latest } = setUp();
      session.start();
      open();
      session.wake();
      latest().mayHaveArrived = true;
      controls[0]?.handler.onEnd({ kind: 'closed', code: 4000, reason: '' });
      assert.equal(session.state.name, 'online');
      open();
      assert.deepEqual([session.state.name, renewed.times], ['online', 1]);
      controls[1]?.handler.onEnd({ kind: 'closed', code: 4000, reason: '' });
      assert.equal(session.state.name, 'offline');
    });

    it('reports that it is not online when both connections have failed', () => {
      for (const first of [0, 1]) {
        const { session, controls, open, clock } = setUp(0.5);
        session.start();
        open();
        session.wake();
        controls[first]?.handler.onEnd(LOST);
        assert.equal(session.state.name, 'reconnecting');
        controls[1 - first]?.handler.onEnd(LOST);
        assert.equal(session.state.name, 'reconnecting');
        assert.deepEqual(clock.waiting, [250]);
      }
    });

    it('keeps the open connection when the relay responds that it cannot accept another', () => {
      const { session, controls, open, end, clock } = setUp();
      session.start();
      open();
      session.wake();
      end({ kind: 'refused', refusal: new RelayRefusal(503, 'service unavailable') });
      assert.deepEqual([session.state.name, controls[0]?.closed, clock.waiting], ['online', false, []]);
    });

    it('stops at a tunnel that is gone', () => {
      const { session, controls, clock, open, end } = setUp();
      session.start();
      open();
      session.wake();
      for (const state of ['online', 'offline']) {
        end({ kind: 'refused', refusal: new RelayRefusal(404, 'tunnel not found') });
        assert.deepEqual([session.state.name, controls[0]?.closed], [state, state === 'offline']);
        clock.advance(250);
      }
    });

    it('does nothing before the start and after the end', () => {
      const { session, controls } = setUp();
      session.wake();
      session.stop();
      session.wake();
      session.suspend();
      assert.deepEqual([controls.length, session.state.name], [0, 'offline']);
    });
  });

  describe('an open connection in doubt', () => {
    const REPLACED: ControlEnd = { kind: 'closed', code: 4000, reason: '' };
    const SILENT: ControlEnd = { kind: 'lost', why: 'it did not answer', isSilent: true };

    it('is followed by another one immediately when a ping is unanswered, and stays in service until that one is open', () => {
      const { old, controls, open, served, renewed, names } = doubting();
      assert.deepEqual([controls.length, old.closed], [2, false]);
      old.handler.onSilent();
      old.handler.onConnection('one');
      assert.equal(controls.length, 2);
      open();
      assert.deepEqual([old.closed, renewed.times, served], [true, 1, ['one']]);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('is trusted again when anything arrives on it: the other one is given up', () => {
      const { old, controls, clock, names } = doubting();
      old.handler.onHeard();
      assert.deepEqual([controls[1]?.closed, old.closed, clock.waiting], [true, false, []]);
      old.handler.onSilent();
      assert.equal(controls.length, 3);
      // What arrives on a connection that is being opened says nothing about it.
      controls[2]?.handler.onHeard();
      assert.equal(controls[2]?.closed, false);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('is trusted again, but lets another one open that the relay may be accepting', () => {
      for (const ending of ['opens', 'fails'] as const) {
        const { old, latest, open, end, renewed, session } = doubting();
        latest().mayHaveArrived = true;
        old.handler.onHeard();
        assert.equal(latest().closed, false);
        if (ending === 'opens') open();
        else end(LOST);
        assert.deepEqual([old.closed, renewed.times], ending === 'opens' ? [true, 1] : [false, 0]);
        assert.equal(session.state.name, 'online');
      }
    });

    it('stays in service while attempts to open another one get no answer and are repeated within 0.5 s', () => {
      const { old, controls, end, clock, names, latest } = doubting();
      for (let tries = 2; tries < 8; tries += 1) {
        end(SILENT);
        assert.deepEqual([old.closed, clock.waiting, controls.length], [false, [250], tries]);
        clock.advance(250);
      }
      latest().mayHaveArrived = true;
      end(LOST);
      assert.deepEqual([old.closed, clock.waiting], [false, [750]]);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('is given up when another one cannot be opened', () => {
      const { old, end, states } = doubting();
      end(LOST);
      assert.equal(old.closed, true);
      const why = 'No connection to the relay: the connection was reset.';
      assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 250, why });
    });

    it('is kept when the relay responds that it cannot accept another one', () => {
      const { old, end, clock, session } = doubting();
      end(REFUSED);
      assert.deepEqual([session.state.name, old.closed, clock.waiting], ['online', false, []]);
    });

    it('is asked for a sign of life when a trunk is lost, and followed by another one within 0.5 s', () => {
      const { session, controls, open, clock } = setUp(0.5);
      session.start();
      session.lostTrunk();
      open();
      session.lostTrunk();
      session.lostTrunk();
      assert.deepEqual([controls.length, controls[0]?.probes, clock.waiting], [1, 2, [250]]);
      clock.advance(250);
      assert.equal(controls.length, 2);
    });

    it('is not followed by another one after a lost trunk if it answers', () => {
      const { session, controls, open, clock } = setUp(0.5);
      session.start();
      open();
      session.lostTrunk();
      controls[0]?.handler.onHeard();
      assert.deepEqual([controls.length, clock.waiting], [1, []]);
    });

    it('is asked for a sign of life when the network has changed, and stays if it answers', () => {
      const { session, controls, open } = setUp();
      session.start();
      open();
      session.wake();
      assert.deepEqual([controls.length, controls[0]?.probes], [2, 1]);
      controls[0]?.handler.onHeard();
      assert.deepEqual([controls[0]?.closed, controls[1]?.closed], [false, true]);
    });

    it('stops the session when another client takes over, while a new connection is dialled', () => {
      const { old, session, latest, clock } = doubting();
      old.handler.onEnd(REPLACED);
      assert.deepEqual([session.state.name, latest().closed, clock.waiting], ['offline', true, []]);
    });

    it('may be replaced by a try whose response was lost, once for each, within two minutes', () => {
      const { old, session, latest, controls, end, open, clock } = doubting();
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

    it('may be replaced by another client after the relay broke off tries without one', () => {
      const { session, latest, end, open, clock } = setUp();
      session.start();
      latest().mayHaveArrived = true;
      end(LOST);
      clock.advance(250);
      open();
      end(REPLACED);
      assert.equal(session.state.name, 'offline');
    });

    it('may be replaced by another client later', () => {
      const { session, latest, end, open, clock } = doubting();
      latest().mayHaveArrived = true;
      end(SILENT);
      clock.advance(250);
      open();
      clock.advance(120_000);
      end(REPLACED);
      assert.equal(session.state.name, 'offline');
    });

    it('is not in doubt while the relay asks the client to move', () => {
      const { old, controls, clock } = told(0.5);
      old.handler.onSilent();
      assert.deepEqual([controls.length, clock.waiting], [1, [1000]]);
    });
  });

  describe('a relay that drains', () => {
    it('is left within 2 s, after another connection is open', () => {
      const { old, clock, controls, open, names, renewed, draining, served } = told(0.5);
      assert.deepEqual(clock.waiting, [1000]);
      clock.advance(1000);
      assert.deepEqual([controls.length, old.closed, draining.times], [2, false, 1]);
      old.handler.onConnection('one');
      open();
      assert.deepEqual([old.closed, renewed.times, served], [true, 1, ['one']]);
      assert.deepEqual(names(), ['connecting', 'online']);
    });

    it('causes no failure report: tries continue while the old connection is open', () => {
      for (const failure of [LOST, REFUSED]) {
        const { old, clock, controls, end, open, names } = told(0.5);
        clock.advance(1000);
        for (const ms of [250, 500]) {
          end(failure);
          assert.deepEqual([old.closed, clock.waiting], [false, [ms]]);
          clock.advance(ms);
        }
        open();
        assert.deepEqual([controls.length, old.closed], [4, true]);
        assert.deepEqual(names(), ['connecting', 'online']);
      }
    });

    it('is tried again only after its Retry-After', () => {
      const { clock, end } = told(0.5);
      clock.advance(1000);
      end({ kind: 'refused', refusal: new RelayRefusal(503, 'service unavailable', { retryAfterMs: 1000 }) });
      assert.deepEqual(clock.waiting, [1250]);
    });

    it('gets no more tries once it ends the connection, which is then reopened as usual', () => {
      const { old, clock, controls, states } = told(0.5);
      old.handler.onEnd({ kind: 'closed', code: 1001, reason: '' });
      const why = 'The relay is shutting down.';
      assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 250, why });
      assert.deepEqual(clock.waiting, [250]);
      clock.advance(250);
      assert.equal(controls.length, 2);
    });

    it('can report that the tunnel is gone, or taken over', () => {
      const gone = told();
      for (const ms of [1000, 500]) {
        gone.clock.advance(ms);
        gone.end({ kind: 'refused', refusal: new RelayRefusal(404, 'tunnel not found') });
      }
      assert.deepEqual([gone.session.state.name, gone.old.closed], ['offline', true]);
      const taken = told();
      taken.old.handler.onEnd({ kind: 'closed', code: 4000, reason: '' });
      assert.deepEqual([taken.session.state.name, taken.clock.waiting], ['offline', []]);
    });

    it('can report a replacement by a try whose response was lost, which does not stop the session', () => {
      const { old, clock, controls, end, open, session, latest } = told();
      clock.advance(1000);
      latest().mayHaveArrived = true;
      end(LOST);
      old.handler.onEnd({ kind: 'closed', code: 4000, reason: '' });
      assert.deepEqual([controls.length, session.state.name, clock.waiting], [3, 'online', []]);
      open();
      assert.equal(session.state.name, 'online');
    });

    it('can announce it while another connection is opened for another reason', () => {
      for (const failure of [LOST, REFUSED]) {
        const { session, controls, clock, open, end } = setUp(0.5);
        session.start();
        open();
        session.wake();
        controls[0]?.handler.onDrain();
        assert.deepEqual([controls.length, clock.waiting], [2, []]);
        end(failure);
        // Without a network, the old connection is lost as well.
        assert.equal(session.state.name, failure === LOST ? 'reconnecting' : 'online');
        assert.deepEqual(clock.waiting, [250]);
      }
    });

    it('is reported once, and only for the current connection', () => {
      const { old, clock, draining, open, controls } = told();
      old.handler.onDrain();
      clock.advance(1000);
      controls[1]?.handler.onDrain();
      assert.deepEqual([draining.times, clock.waiting], [1, []]);
      open();
      controls[1]?.handler.onDrain();
      assert.equal(draining.times, 2);
    });
  });

  describe('suspend', () => {
    it('disconnects without counting a failure, until wake', () => {
      const { session, controls, open, states, clock } = setUp();
      session.start();
      open();
      session.suspend();
      assert.equal(controls[0]?.closed, true);
      const why = 'This computer is going to sleep.';
      assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 0, retryInMs: 60_000, why });
      session.wake();
      open();
      assert.deepEqual([session.state.name, clock.waiting], ['online', []]);
    });

    it('ends by itself if the machine stays awake', () => {
      const { session, controls, open, clock } = setUp();
      session.start();
      open();
      session.suspend();
      clock.advance(59_999);
      assert.equal(controls.length, 1);
      clock.advance(1);
      assert.equal(controls.length, 2);
    });
  });

  it('leaks nothing over a day of every kind of ending', () => {
    const { session, open, end, clock, controls } = setUp(0.5);
    session.start();
    for (let round = 0; clock.monotonic() < 24 * 3_600_000; round += 1) {
      if (round % 3 > 0) open();
      if (round % 11 === 0) controls.at(-1)?.handler.onDrain();
      if (round % 5 === 0) session.wake();
      if (round % 7 === 0) session.suspend();
      else if (round % 2 === 0) end(LOST);
      else end({ kind: 'closed', code: 1001, reason: '' });
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
