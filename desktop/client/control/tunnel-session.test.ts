import assert from 'node:assert/strict';
import { checkScript } from '../../../shared/testing/script.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { textOf } from '../messages.ts';
import { RelayRefusal } from '../relay/errors.ts';
import type { ControlEnd, ControlHandler } from './control-connection.ts';
import { TunnelSession, type TunnelState } from './tunnel-session.ts';

interface FakeControl {
  readonly handler: ControlHandler;
  mayHaveArrived: boolean;
  strays: number;
  isOver: boolean;
}

const refused = (status: number, error: string, retryAfterMs?: number): ControlEnd => ({
  kind: 'refused',
  refusal: new RelayRefusal(status, error, { retryAfterMs }),
});

/** How a control connection ends. */
const ENDS: Readonly<Record<string, ControlEnd>> = {
  lost: { kind: 'lost', why: 'the connection was reset' },
  offline: { kind: 'lost', why: 'the host name does not exist', isOffline: true },
  silent: { kind: 'lost', why: 'it did not answer', isSilent: true },
  replaced: { kind: 'closed', code: 4000, reason: '' },
  drained: { kind: 'closed', code: 1001, reason: '' },
  busy: refused(503, 'service unavailable'),
  'busy for 1 s': refused(503, 'service unavailable', 1000),
  'busy for 5 s': refused(503, 'service unavailable', 5000),
  invalid: refused(401, 'invalid api key'),
  gone: refused(404, 'tunnel not found'),
  wrong: refused(400, 'tunnel_id is required'),
};

/** A session whose control connections and clock the test controls, and what it does. */
class Played {
  readonly clock = new FakeClock();
  readonly controls: FakeControl[] = [];
  readonly states: TunnelState[] = [];
  #did: string[] = [];
  readonly session = new TunnelSession({
    clock: this.clock,
    random: () => 0.5,
    openControl: (handler, isCut) => this.#open(handler, isCut),
    serve: (id) => void this.#did.push(`serve ${id}`),
    onState: (state) => {
      this.states.push(state);
      const { name } = state;
      if (name === 'reconnecting') this.#did.push(`retry ${state.attempt} in ${state.retryInMs}`);
      else this.#did.push(name === 'offline' ? state.reason : name);
    },
    onKnock: () => {},
    onProblem: () => {},
    onDraining: () => void this.#did.push('draining'),
    onRenewed: () => void this.#did.push('renewed'),
  });

  #open(handler: ControlHandler, isCut: boolean) {
    const number = this.controls.length + 1;
    const end = (): void => {
      if (!control.isOver) this.#did.push(`close ${number}`);
      control.isOver = true;
    };
    const control = {
      mayHaveArrived: false,
      strays: 0,
      isOver: false,
      probe: () => void this.#did.push(`probe ${number}`),
      close: end,
      // Like the real one, it is silent after its end.
      handler: {
        ...handler,
        onOpen() {
          control.mayHaveArrived = true;
          if (!control.isOver) handler.onOpen('127.0.0.1');
        },
        onEnd(how: ControlEnd) {
          if (control.isOver) return;
          control.isOver = true;
          handler.onEnd(how);
        },
      },
    };
    this.#did.push(isCut ? 'dial as cut' : 'dial');
    this.controls.push(control);
    return control;
  }

  /** Takes a step of {@link play}. @returns what the session has done, and its timers */
  step(step: string): string {
    const { session, clock } = this;
    const [, number = this.controls.length, what = ''] = /^(?:(\d)\.)?(.*)$/.exec(step) ?? [];
    const control = this.controls[Number(number) - 1];
    const handler = control?.handler;
    if (what.startsWith('+')) clock.advance(Number(what.slice(1)));
    else if (what === 'start' || what === 'stop' || what === 'wake' || what === 'suspend') session[what]();
    else if (what === 'trunk lost') session.lostTrunk();
    else if (control === undefined || handler === undefined) assert.fail(`${step}: nothing was opened`);
    else if (what === 'open') handler.onOpen('127.0.0.1');
    else if (what === 'quiet') handler.onSilent();
    else if (what === 'heard') handler.onHeard();
    else if (what === 'draining') handler.onDrain();
    else if (what === 'visitor') handler.onConnection('v');
    else if (what === 'arrived') control.mayHaveArrived = true;
    else if (what === 'stray') control.strays = 1;
    else handler.onEnd(ENDS[what] ?? assert.fail(step));
    const timers = clock.waiting.map((ms) => `${ms} ms`);
    return [...this.#did.splice(0), ...timers].join(', ');
  }
}

/**
 * Steps, each with what the session does then and how long its timers still wait: calls of the session; `+MS` of time;
 * and what happens to the latest control connection, or to the one with that number.
 */
const SCRIPTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    'goes from idle through connecting to online once, and serves the connections announced to it': `
      start: connecting, dial; start; open: online; visitor: serve v`,
    'takes the line for cut from silence or a changed network until something answers': `
      start: connecting, dial; lost: retry 1 in 250, 250 ms; +60000: dial; silent: retry 2 in 250, 250 ms;
      +60000: dial as cut; busy: retry 3 in 1000, 1000 ms; +60000: dial; open: online; +60000;
      quiet: dial as cut; open: close 4, renewed; wake: probe 5, dial as cut; open: close 5, renewed;
      drained: retry 1 in 250, 250 ms; +60000: dial`,
    'comes back as often as handshakes that it has dropped may have replaced the current one': `
      start: connecting, dial; stray; open: online; replaced: dial; open: renewed; replaced: replaced`,
    'reconnects after a random part of 0.5 s': `
      start: connecting, dial; open: online; lost: retry 1 in 250, 250 ms; +249: 1 ms; +1: dial;
      open: online`,
    'confirms over another connection that the key is refused': `
      start: connecting, dial; invalid: retry 1 in 250, 250 ms; +250: dial; invalid: key-refused`,
    'confirms over another connection that the tunnel is gone': `
      start: connecting, dial; gone: retry 1 in 250, 250 ms; +250: dial; gone: gone`,
    'confirms over another connection that its request is wrong': `
      start: connecting, dial; wrong: retry 1 in 250, 250 ms; +250: dial; wrong: refused`,
    'continues after a single 401, or a 401 and a 404': `
      start: connecting, dial; invalid: retry 1 in 250, 250 ms; +2000: dial; gone: retry 2 in 500, 500 ms;
      +2000: dial; invalid: retry 3 in 1000, 1000 ms; +2000: dial; open: online;
      lost: retry 4 in 750, 750 ms; +2000: dial; invalid: retry 5 in 4000, 4000 ms`,
    'starts with short delays again after a connection that lasted 10 s, not after a shorter one': `
      start: connecting, dial; lost: retry 1 in 250, 250 ms; +250: dial; open: online; +9999;
      lost: retry 2 in 500, 500 ms; +500: dial; open: online; +10000; lost: retry 1 in 250, 250 ms`,
    'honours Retry-After': `
      start: connecting, dial; busy for 5 s: retry 1 in 5250, 5250 ms`,
    'stops permanently at an error that no retry can fix': `
      start: connecting, dial; open: online; replaced: replaced; +60000`,
    'closes its control connection when stopped': `
      start: connecting, dial; open: online; stop: close 1, stopped`,
    'ignores a retry that was due when it was stopped': `
      start: connecting, dial; lost: retry 1 in 250, 250 ms; stop: stopped; +60000`,
    'goes offline only once': `
      stop: stopped; stop; start`,
  },
  wake: {
    'retries immediately instead of waiting, and starts with short delays again': `
      start: connecting, dial; lost: retry 1 in 250, 250 ms; +15000: dial; lost: retry 2 in 500, 500 ms;
      +15000: dial; lost: retry 3 in 750, 750 ms; +15000: dial; lost: retry 4 in 750, 750 ms;
      wake: dial as cut, retry 0 in 0; lost: retry 1 in 250, 250 ms`,
    'gives up a try that may hang on the previous network': `
      start: connecting, dial; wake: close 1, dial as cut; open: online`,
    'keeps the open connection until the new one is open': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; 1.visitor: serve v;
      open: close 1, renewed`,
    'continues when its own new connection replaces the old one': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; arrived; 1.replaced; open: renewed;
      replaced: replaced`,
    'reports that it is not online when both connections have failed, the old one first': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; 1.lost: retry 0 in 0;
      2.lost: retry 1 in 250, 250 ms`,
    'reports that it is not online when both connections have failed, the new one first': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut;
      2.lost: close 1, retry 1 in 250, 250 ms; 1.lost: 250 ms`,
    'keeps the open connection when the relay responds that it cannot accept another': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; busy`,
    'stops at a tunnel that is gone': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; gone: 250 ms; +250: dial;
      gone: close 1, gone`,
    'does nothing before the start and after the end': `
      wake; stop: stopped; wake; suspend`,
    'keeps a connection that answers, and gives up the new one': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; 1.heard: close 2`,
  },
  'an open connection in doubt': {
    'is followed by another one immediately when a ping is unanswered, and stays in service until that one is open': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; 1.quiet; 1.visitor: serve v;
      open: close 1, renewed`,
    'is trusted again when anything arrives on it, but not on one that is being opened': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; 1.heard: close 2;
      1.quiet: dial as cut; heard`,
    'is trusted again, but lets another one open that the relay may be accepting': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; arrived; 1.heard;
      open: close 1, renewed`,
    'is trusted again, although another one fails that the relay may be accepting': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; arrived; 1.heard; lost`,
    'stays in service while attempts to open another one get no answer and are repeated within 0.5 s': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; silent: 250 ms;
      +250: dial as cut; silent: 250 ms; +250: dial as cut; silent: 250 ms; +250: dial as cut;
      silent: 250 ms; +250: dial as cut; arrived; lost: 750 ms`,
    'is given up when another one cannot be opened': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut;
      lost: close 1, retry 1 in 250, 250 ms`,
    'is kept when the relay responds that it cannot accept another one': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; busy`,
    'is asked for a sign of life when a trunk is lost, and followed by another one within 0.5 s': `
      start: connecting, dial; trunk lost; open: online; trunk lost: probe 1, 250 ms;
      trunk lost: probe 1, 250 ms; +250: dial as cut`,
    'is not followed by another one after a lost trunk if it answers': `
      start: connecting, dial; open: online; trunk lost: probe 1, 250 ms; heard`,
    'stops the session when another client takes over, while a new connection is dialled': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; 1.replaced: close 2, replaced`,
    'may be replaced by a try whose response was lost, once for each, within two minutes': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; arrived; silent: 250 ms;
      +250: dial as cut; arrived; silent: 250 ms; +250: dial as cut; open: close 1, renewed; +50000;
      replaced: dial; open: renewed; +50000; replaced: dial; open: renewed; replaced: replaced`,
    'may be replaced by another client after the relay broke off tries without one': `
      start: connecting, dial; arrived; lost: retry 1 in 250, 250 ms; +250: dial; open: online;
      replaced: replaced`,
    'may be replaced by another client later': `
      start: connecting, dial; open: online; +3600000; quiet: dial as cut; arrived; silent: 250 ms;
      +250: dial as cut; open: close 1, renewed; +120000; replaced: replaced`,
    'is not in doubt while the relay asks the client to move': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; quiet: 1000 ms`,
  },
  'a relay that drains': {
    'is left within 2 s, after another connection is open': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; 1.visitor: serve v;
      open: close 1, renewed`,
    'causes no failure report: lost tries continue while the old connection is open': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; lost: 250 ms;
      +250: dial; lost: 500 ms; +500: dial; open: close 1, renewed`,
    'causes no failure report: refused tries continue while the old connection is open': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; busy: 250 ms;
      +250: dial; busy: 500 ms; +500: dial; open: close 1, renewed`,
    'can announce it while another connection is opened for another reason, and lost as the old one must be': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; 1.draining: draining;
      lost: close 1, retry 1 in 250, 250 ms`,
    'can announce it while another connection is opened for another reason, and refused': `
      start: connecting, dial; open: online; wake: probe 1, dial as cut; 1.draining: draining; busy: 250 ms`,
    'is tried again only after its Retry-After': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; busy for 1 s: 1250 ms`,
    'gets no more tries once it ends the connection, which is then reopened as usual': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; drained: retry 1 in 250, 250 ms;
      +250: dial`,
    'can report that the tunnel is gone': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; gone: 250 ms;
      +500: dial; gone: close 1, gone`,
    'can report that the tunnel is taken over': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; replaced: replaced`,
    'can report a replacement by a try whose response was lost, which does not stop the session': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; +1000: dial; arrived;
      lost: 250 ms; 1.replaced: dial; open: renewed`,
    'is reported once, and only for the current connection': `
      start: connecting, dial; open: online; draining: draining, 1000 ms; draining: 1000 ms; +1000: dial;
      draining; open: close 1, renewed; draining: draining, 1000 ms`,
  },
  suspend: {
    'disconnects without counting a failure, until wake': `
      start: connecting, dial; open: online; suspend: close 1, retry 0 in 60000, 60000 ms;
      wake: dial as cut, retry 0 in 0; open: online`,
    'ends by itself if the machine stays awake': `
      start: connecting, dial; open: online; suspend: close 1, retry 0 in 60000, 60000 ms; +59999: 1 ms;
      +1: dial`,
  },
};

describe('TunnelSession', () => {
  for (const [subject, scripts] of Object.entries(SCRIPTS))
    for (const [title, script] of Object.entries(scripts))
      it(`${subject} ${title}`.trim(), () => {
        const played = new Played();
        checkScript(script, (step) => played.step(step));
        assert.deepEqual(played.session.state, played.states.at(-1));
      });

  it('is idle until it is started', () => {
    assert.deepEqual(new Played().session.state, { name: 'idle' });
  });

  it('tells why it is not online', () => {
    const { states } = playing('start; lost; +250; busy; suspend; stop');
    assert.deepEqual(
      states.flatMap((state) => ('why' in state ? textOf(state.why) : [])),
      [
        'No connection to the relay: the connection was reset.',
        'The relay is not accepting the connection at the moment: service unavailable.',
        'This computer is going to sleep.',
        'Stopped.',
      ],
    );
  });

  const quick = Array<number>(6).fill(750);
  for (const [what, round, rounds, delays] of [
    ['waits longer after each failed try', 'lost; +15000', 10, [250, 500, ...quick, 7500, 7500]],
    [
      'reconnects immediately when the relay drains, however short the connection was',
      'open; drained; +1000',
      5,
      [250, 500, 500, 500, 500],
    ],
    ['keeps trying quickly while there is no network', 'offline; +60000', 60, [750]],
    [
      'does not mistake a relay that drops every connection for a short network outage',
      'open; lost; +15000',
      180,
      [7500],
    ],
  ] as const)
    it(what, () => {
      const { states } = playing(['start', ...Array<string>(rounds).fill(round)].join('; '));
      const waited = states.flatMap((state) => (state.name === 'reconnecting' ? [state.retryInMs] : []));
      assert.deepEqual(waited.slice(-delays.length), delays);
      assert.equal(waited.length, rounds);
    });

  it('leaks nothing over a day of every kind of ending', () => {
    const played = playing('start');
    for (let round = 0; played.clock.monotonic() < 24 * 3_600_000; round += 1) {
      if (round % 3 > 0) played.step('open');
      if (round % 11 === 0) played.step('draining');
      if (round % 5 === 0) played.step('wake');
      played.step(round % 7 === 0 ? 'suspend' : round % 2 === 0 ? 'lost' : 'drained');
      const live = played.controls.filter(({ isOver }) => !isOver);
      assert.ok(live.length <= 1, `${live.length} connections`);
      assert.ok(played.clock.waiting.length <= 1, `${played.clock.waiting.length} timers`);
      played.step('+60000');
    }
    assert.ok(played.controls.length > 1000);
    played.session.stop();
    assert.deepEqual(played.clock.waiting, []);
  });
});

/** A session after these steps. */
function playing(steps: string): Played {
  const played = new Played();
  for (const step of steps.split('; ')) played.step(step);
  return played;
}
