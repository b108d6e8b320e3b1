import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import type { ControlEnd, ControlHandler } from './control-connection.ts';
import { RelayRefusal } from './errors.ts';
import { TunnelSession, type TunnelState } from './tunnel-session.ts';

/** A session whose control connections the test opens and ends. */
function setUp(random = 0.5) {
  const clock = new FakeClock();
  const states: TunnelState[] = [];
  const served: string[] = [];
  const controls: { handler: ControlHandler; closed: boolean }[] = [];
  const session = new TunnelSession({
    clock,
    random: () => random,
    openControl(handler) {
      const control = { handler, closed: false };
      controls.push(control);
      return { close: () => void (control.closed = true) };
    },
    serve: (id) => void served.push(id),
    onState: (state) => void states.push(state),
  });
  const latest = () => controls.at(-1) ?? assert.fail('no control connection was opened');
  return {
    clock,
    session,
    states,
    served,
    controls,
    latest,
    names: () => states.map(({ name }) => name),
    open: () => latest().handler.onOpen('127.0.0.1'),
    end: (end: ControlEnd) => latest().handler.onEnd(end),
  };
}

const LOST: ControlEnd = { kind: 'lost', why: 'the connection was reset' };

describe('TunnelSession', () => {
  it('goes from idle over connecting to online', () => {
    const { session, open, names } = setUp();
    assert.deepEqual(session.state, { name: 'idle' });
    session.start();
    open();
    assert.deepEqual(names(), ['connecting', 'online']);
  });

  it('connects once, however often it is started', () => {
    const { session, controls } = setUp();
    session.start();
    session.start();
    assert.equal(controls.length, 1);
  });

  it('serves the connections it is told of', () => {
    const { session, open, latest, served } = setUp();
    session.start();
    open();
    latest().handler.onConnection('one');
    assert.deepEqual(served, ['one']);
  });

  it('reconnects after a random part of 0.5 s, and says why', () => {
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

  it('waits longer with every try that fails', () => {
    const { session, end, clock, states } = setUp(0.5);
    session.start();
    for (let attempt = 0; attempt < 7; attempt++) {
      end(LOST);
      clock.advance(15_000);
    }
    const delays = states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));
    assert.deepEqual(delays, [250, 500, 1000, 2000, 4000, 7500, 7500]);
  });

  it('starts with short delays again after a connection that held 10 s, not after a shorter one', () => {
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
    end({ kind: 'refused', refusal: new RelayRefusal(503, 'service unavailable', 5000) });
    const why = 'The relay refused for now: service unavailable.';
    assert.deepEqual(states.at(-1), { name: 'reconnecting', attempt: 1, retryInMs: 5250, why });
  });

  it('stops for good at what no retry can heal', () => {
    const { session, open, end, clock, controls, states } = setUp();
    session.start();
    open();
    end({ kind: 'closed', code: 4000 });
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

  it('is not woken by a retry that was due when it was stopped', () => {
    const { session, end, clock, controls } = setUp();
    session.start();
    end(LOST);
    session.stop();
    clock.advance(60_000);
    assert.equal(controls.length, 1);
    assert.deepEqual(clock.waiting, []);
  });

  it('is offline once', () => {
    const { session, names } = setUp();
    session.stop();
    session.stop();
    session.start();
    assert.deepEqual(names(), ['offline']);
  });
});
