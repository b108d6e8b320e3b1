import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { BULK_READ_BYTES, BULK_TURN_MS, LoopScheduler, ScheduledReads } from './fair-reads.ts';

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

  it('runs work immediately while there is time', () => {
    for (let piece = 0; piece < 4; piece += 1) assert.equal(work('a', BULK_TURN_MS / 5), 'begun');
    assert.equal(order, 'aaaa');
  });

  it('defers the rest to later turns, one turn each if each takes that long', () => {
    for (let piece = 0; piece < 4; piece += 1) work('a', BULK_TURN_MS);
    assert.equal(order, 'a');
    turn();
    assert.equal(order, 'aa');
    turn();
    turn();
    assert.equal(order, 'aaaa');
  });

  it('alternates between waiting groups, no matter how many pieces one of them has', () => {
    for (let piece = 0; piece < 4; piece += 1) work('a', BULK_TURN_MS);
    work('b', BULK_TURN_MS);
    work('c', BULK_TURN_MS);
    for (let left = 0; left < 5; left += 1) turn();
    assert.equal(order, 'aabcaa');
  });

  it('does not run new work before waiting work', () => {
    work('a', BULK_TURN_MS);
    work('a', BULK_TURN_MS);
    turn();
    work('a', BULK_TURN_MS);
    work('b', 0);
    assert.equal(order, 'aa');
    turn();
    assert.equal(order, 'aaa');
    turn();
    assert.equal(order, 'aaab');
  });

  it('starts each turn with its full time, and uses no turn of the loop without work', () => {
    work('a', BULK_TURN_MS);
    turn();
    assert.equal(coming.length, 0);
    assert.equal(work('b', 0), 'begun');
    assert.equal(coming.length, 1);
  });

  it('does not run cancelled work', () => {
    work('a', BULK_TURN_MS);
    const leave = work('b', 0);
    assert.notEqual(leave, 'begun');
    if (leave !== 'begun') leave();
    turn();
    assert.equal(order, 'a');
    assert.equal(coming.length, 0);
  });
});

const MUCH = 'x'.repeat(BULK_READ_BYTES);
const LITTLE = MUCH.slice(1);

describe('ScheduledReads', () => {
  let now: number;
  /** the callbacks of the next turn of the loop */
  let coming: (() => void)[];
  let turns: LoopScheduler;
  let socket: PassThrough;
  let came: string;
  let hasEnded: boolean;
  let reads: ScheduledReads;

  beforeEach(() => {
    now = 0;
    coming = [];
    came = '';
    hasEnded = false;
    turns = new LoopScheduler({ now: () => now, nextTurn: (callback) => void coming.push(callback) });
    socket = new PassThrough();
    reads = new ScheduledReads(
      socket,
      () => 'a',
      { onChunk: (chunk) => (came += chunk.toString()), onEnd: () => (hasEnded = true) },
      turns,
    );
  });

  /** Another group uses up the time of this turn. */
  function occupy(): void {
    turns.run('others', () => (now += BULK_TURN_MS));
  }

  function turn(): void {
    for (const callback of coming.splice(0)) callback();
  }

  it('hands over small pieces immediately, even if the turn is used up', () => {
    occupy();
    socket.emit('data', Buffer.from(LITTLE));
    assert.equal(came, LITTLE);
    assert.equal(socket.isPaused(), false);
  });

  it('hands over large data immediately while the turn has time', () => {
    socket.emit('data', Buffer.from(MUCH));
    assert.equal(came, MUCH);
  });

  it('holds large data back for its turn and reads nothing until then', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    assert.equal(came, '');
    assert.ok(socket.isPaused());
    turn();
    assert.equal(came, MUCH);
    assert.equal(socket.isPaused(), false);
  });

  it('keeps the order if more data that was already read arrives', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('data', Buffer.from('end'));
    assert.equal(came, '');
    turn();
    assert.equal(came, `${MUCH}end`);
  });

  it('does not read on in its turn while its owner has paused it, nor for its owner before its turn', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.pause();
    assert.ok(reads.isPaused);
    turn();
    assert.equal(came, MUCH);
    assert.ok(socket.isPaused());
    reads.resume();
    assert.equal(socket.isPaused(), false);
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.resume();
    assert.ok(socket.isPaused());
  });

  it('reports the end immediately if nothing is held back', () => {
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('end');
    assert.ok(hasEnded);
  });

  it('reports the end after data that is held back', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('end');
    assert.equal(hasEnded, false);
    turn();
    assert.equal(came, MUCH);
    assert.ok(hasEnded);
  });

  it('hands over held data when flushed, and not again in the turn', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.flush();
    assert.equal(came, MUCH);
    turn();
    assert.equal(came, MUCH);
  });

  it('does not touch a socket that was given away because of held data', () => {
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
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    turn();
    assert.deepEqual(given, [MUCH]);
    assert.ok(socket.isPaused());
  });

  it('reads nothing once it has stopped, and keeps no data', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.stop();
    assert.equal(came, MUCH);
    socket.emit('data', Buffer.from('more'));
    assert.equal(came, MUCH);
  });
});
