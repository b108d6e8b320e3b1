import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { checkScript } from '../testing/script.ts';
import {
  BULK_READ_BYTES,
  BULK_TURN_BESIDE_SMALL_MS,
  BULK_TURN_MS,
  FairQueue,
  LoopScheduler,
  QUIET_TURNS,
  ScheduledReads,
} from './fair-reads.ts';

describe('LoopScheduler', () => {
  let now: number;
  /** the callbacks of the next turn of the loop */
  let coming: (() => void)[];
  /** the groups that have worked, in order */
  let order: string;
  let turns: LoopScheduler;

  beforeEach(() => {
    now = 0;
    coming = [];
    order = '';
    turns = new LoopScheduler({ now: () => now, nextTurn: (callback) => void coming.push(callback) });
  });

  /** Work of a group that takes that many ms. */
  function work(group: string, ms: number): ReturnType<LoopScheduler['run']> {
    return turns.run(group, () => {
      order += group;
      now += ms;
    });
  }

  function turn(): void {
    for (const callback of coming.splice(0)) callback();
  }

  /** Work of a group, in turns of the loop, each with the groups that work then. */
  for (const [title, script] of Object.entries({
    'runs work immediately while there is time': 'a .2 & a .2 & a .2 & a .2: aaaa',
    'defers the rest to later turns, one turn each if each takes that long':
      'a 1 & a 1 & a 1 & a 1: a; turn: a; turn: a; turn: a; turn: no turn comes',
    'alternates between waiting groups, no matter how many pieces one of them has':
      'a 1 & a 1 & a 1 & a 1: a; b 1 & c 1; turn: a; turn: b; turn: c; turn: a; turn: a',
    'does not run new work before waiting work': 'a 1 & a 1: a; turn: a; a 1 & b 0; turn: a; turn: b',
    'starts each turn with its full time, and uses no turn of the loop without work':
      'a 1: a; turn & b 0: b; turn: no turn comes',
    'does not run cancelled work': 'a 1: a; cancelled 0; turn: no turn comes',
  }))
    it(title, () => {
      checkScript(script, (step) => {
        order = '';
        for (const action of step.split(' & ')) {
          const [group = '', ms] = action.split(' ');
          const begun = group === 'turn' ? turn() : work(group, Number(ms) * BULK_TURN_MS);
          if (group === 'cancelled' && typeof begun === 'function') begun();
        }
        return order === '' && coming.length === 0 ? 'no turn comes' : order;
      });
    });

  it('gives large work less of each turn while small reads arrive, and its full time again afterwards', () => {
    const ms = BULK_TURN_BESIDE_SMALL_MS;
    turns.noteSmall();
    for (let piece = 0; piece < 4; piece += 1) work('a', ms);
    assert.equal(order, 'a');
    turn();
    assert.equal(order, 'aa');
    for (let count = 0; count < QUIET_TURNS; count += 1) {
      work('a', ms);
      turn();
    }
    turn();
    order = '';
    for (let piece = 0; piece < 4; piece += 1) work('b', BULK_TURN_MS / 4);
    assert.equal(order, 'bbbb');
  });
});

const MUCH = 'x'.repeat(BULK_READ_BYTES);
const LITTLE = MUCH.slice(1);

/** Scheduled reads of a socket, and what they do. */
class Played {
  now = 0;
  /** the callbacks of the next turn of the loop */
  #coming: (() => void)[] = [];
  readonly turns = new LoopScheduler({
    now: () => this.now,
    nextTurn: (callback) => void this.#coming.push(callback),
  });
  readonly socket = new PassThrough();
  #did: string[] = [];
  #wasPaused = false;
  readonly reads = new ScheduledReads(
    this.socket,
    () => 'a',
    {
      onChunk: (chunk) => {
        const text = chunk.toString().replace(MUCH, ' much').replace(LITTLE, ' little').replace('1', ' one');
        this.#did.push(`got${text}`);
      },
      onEnd: () => this.#did.push('ended'),
    },
    this.turns,
  );

  turn(): void {
    for (const callback of this.#coming.splice(0)) callback();
  }

  /** Takes a step of {@link SCRIPTS}. @returns what happened */
  step(step: string): string {
    if (step === 'much') this.socket.emit('data', Buffer.from(MUCH));
    else if (step === 'little') this.socket.emit('data', Buffer.from(LITTLE));
    else if (step === 'one') this.socket.emit('data', Buffer.from('1'));
    else if (step === 'end') this.socket.emit('end');
    else if (step === 'turn') this.turn();
    else if (step === 'others') this.turns.run('others', () => (this.now += BULK_TURN_MS));
    else if (step === 'others briefly')
      this.turns.run('others', () => (this.now += BULK_TURN_BESIDE_SMALL_MS));
    else if (step === 'pause' || step === 'resume' || step === 'flush' || step === 'stop') this.reads[step]();
    else assert.fail(step);
    if (step === 'pause') assert.ok(this.reads.isPaused);
    const isPaused = this.socket.isPaused();
    if (isPaused !== this.#wasPaused) this.#did.push(isPaused ? 'pauses' : 'reads on');
    this.#wasPaused = isPaused;
    return this.#did.splice(0).join(', ');
  }
}

/** Steps, each with what the reads do then. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'hand over small pieces immediately, even if the turn is used up': 'others; little: got little',
  'hand over large data immediately while the turn has time': 'much: got much',
  'tell the scheduler about small pieces, so that large ones soon leave room for more of them':
    'little: got little; others briefly; much: pauses',
  'hold large data back for its turn and read nothing until then':
    'others; much: pauses; turn: got much, reads on',
  'keep the order if more data that was already read arrives':
    'others; much: pauses; one; turn: got much one, reads on',
  'do not read on in their turn while their owner has paused them, nor for the owner before the turn':
    'others; much: pauses; pause; turn: got much; resume: reads on; others; much: pauses; resume',
  'report the end immediately if nothing is held back': 'much: got much; end: ended',
  'report the end after data that is held back': 'others; much: pauses; end; turn: got much, ended, reads on',
  'hand over held data when flushed, and not again in the turn':
    'others; much: pauses; flush: got much; turn',
  'read nothing once they have stopped, and keep no data': 'others; much: pauses; stop: got much; one; turn',
};

describe('ScheduledReads', () => {
  for (const [title, script] of Object.entries(SCRIPTS))
    it(title, () => {
      const played = new Played();
      checkScript(script, (step) => played.step(step));
    });

  it('does not touch a socket that was given away because of held data', () => {
    const played = new Played();
    const { socket, turns, reads } = played;
    const given: string[] = [];
    const other = new ScheduledReads(
      socket,
      () => 'b',
      {
        onChunk(chunk) {
          given.push(chunk.toString());
          other.stop();
          socket.pause();
        },
      },
      turns,
    );
    reads.stop();
    for (const step of ['others', 'much', 'turn']) played.step(step);
    assert.deepEqual(given, [MUCH]);
    assert.ok(socket.isPaused());
  });
});

function drain(queue: FairQueue<string>): string {
  let order = '';
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) order += next.item;
  return order;
}

describe('FairQueue', () => {
  for (const [given, order] of [
    ['aaa', 'aaa'],
    ['aaab', 'abaa'],
    ['aaabbc', 'abcaba'],
    ['', ''],
  ] as const) {
    it(`returns "${given}" as "${order}"`, () => {
      const queue = new FairQueue<string>();
      for (const group of given) queue.push(group, group);
      assert.equal(queue.size, given.length);
      assert.equal(drain(queue), order);
      assert.equal(queue.size, 0);
    });
  }

  it('puts a group after the waiting others once it has had its turn, and skips groups that may not go', () => {
    const queue = new FairQueue<string>();
    for (const group of 'aab') queue.push(group, group);
    assert.equal(queue.shift()?.item, 'a');
    queue.push('c', 'c');
    assert.deepEqual(
      queue.shift((group) => group === 'c'),
      { group: 'c', item: 'c' },
    );
    assert.equal(
      queue.shift(() => false),
      undefined,
    );
    assert.equal(drain(queue), 'ba');
  });

  it('does not return removed items, and removes nothing twice', () => {
    const queue = new FairQueue<string>();
    queue.push('a', '1');
    const remove = queue.push('a', '2');
    remove();
    remove();
    assert.equal(queue.size, 1);
    const gone = queue.push('b', '3');
    assert.equal(drain(queue), '13');
    gone();
    assert.equal(queue.size, 0);
  });

  /** Events of a queue: an item of a group arrives, the next one leaves, a waiting one is removed. */
  const event = fc.oneof(
    fc.record({ kind: fc.constant('come'), group: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ kind: fc.constant('go') }),
    fc.record({ kind: fc.constant('leave'), which: fc.nat(20) }),
  );

  it('makes no group wait for more turns than there are others, keeps the order within it, and loses no item', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const queue = new FairQueue<number>();
        /** by group, its waiting items in order; and the turns of others since its last */
        const waiting = new Map<string, { id: number; remove: () => void }[]>();
        const passed = new Map<string, Map<string, number>>();
        let id = 0;
        for (const given of events) {
          if (given.kind === 'come' && 'group' in given) {
            const line = waiting.get(given.group) ?? [];
            waiting.set(given.group, line);
            if (line.length === 0) passed.set(given.group, new Map());
            const own = (id += 1);
            line.push({ id: own, remove: queue.push(given.group, own) });
          } else if (given.kind === 'leave' && 'which' in given) {
            const line = [...waiting.values()].find((one) => one.length > given.which);
            line?.splice(given.which, 1)[0]?.remove();
          } else {
            const next = queue.shift();
            const size = [...waiting.values()].reduce((sum, line) => sum + line.length, 0);
            assert.equal(next === undefined, size === 0);
            if (next === undefined) continue;
            assert.equal(waiting.get(next.group)?.shift()?.id, next.item);
            for (const [group, line] of waiting) {
              if (group === next.group || line.length === 0) continue;
              const times = (passed.get(group)?.get(next.group) ?? 0) + 1;
              // Another group goes before it once, and never twice.
              assert.ok(times <= 1, `${next.group} went twice before ${group}`);
              passed.get(group)?.set(next.group, times);
            }
            passed.set(next.group, new Map());
          }
        }
        assert.equal(
          queue.size,
          [...waiting.values()].reduce((sum, line) => sum + line.length, 0),
        );
      }),
    );
  });
});
