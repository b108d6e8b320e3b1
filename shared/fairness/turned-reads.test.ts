import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { BULK_TURN_MS, LoopTurns } from './loop-turns.ts';
import { BULK_READ_BYTES, TurnedReads } from './turned-reads.ts';

const MUCH = 'x'.repeat(BULK_READ_BYTES);
const LITTLE = MUCH.slice(1);

describe('TurnedReads', () => {
  let now: number;
  /** what is to happen in the next turn of the loop */
  let coming: (() => void)[];
  let turns: LoopTurns;
  let socket: PassThrough;
  let came: string;
  let hasEnded: boolean;
  let reads: TurnedReads;

  beforeEach(() => {
    now = 0;
    coming = [];
    came = '';
    hasEnded = false;
    turns = new LoopTurns({ now: () => now, nextTurn: (callback) => void coming.push(callback) });
    socket = new PassThrough();
    reads = new TurnedReads(
      socket,
      () => 'a',
      { onChunk: (chunk) => (came += chunk.toString()), onEnd: () => (hasEnded = true) },
      turns,
    );
  });

  /** Others use up the time of this turn. */
  function occupy(): void {
    turns.run('others', () => (now += BULK_TURN_MS));
  }

  function turn(): void {
    for (const callback of coming.splice(0)) callback();
  }

  it('hands over small pieces at once, whoever else has used up the turn', () => {
    occupy();
    socket.emit('data', Buffer.from(LITTLE));
    assert.equal(came, LITTLE);
    assert.equal(socket.isPaused(), false);
  });

  it('hands over much at once while the turn has time', () => {
    socket.emit('data', Buffer.from(MUCH));
    assert.equal(came, MUCH);
  });

  it('holds much back for its turn and reads nothing until then', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    assert.equal(came, '');
    assert.ok(socket.isPaused());
    turn();
    assert.equal(came, MUCH);
    assert.equal(socket.isPaused(), false);
  });

  it('keeps the order if more comes that had been read before', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('data', Buffer.from('end'));
    assert.equal(came, '');
    turn();
    assert.equal(came, `${MUCH}end`);
  });

  it('does not read on in its turn while its owner does not want it to, nor for its owner before its turn', () => {
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

  it('reports the end at once if nothing is held back', () => {
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('end');
    assert.ok(hasEnded);
  });

  it('reports the end after what is held back', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    socket.emit('end');
    assert.equal(hasEnded, false);
    turn();
    assert.equal(came, MUCH);
    assert.ok(hasEnded);
  });

  it('hands over what is held back when it is told to, and not again in the turn', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.flush();
    assert.equal(came, MUCH);
    turn();
    assert.equal(came, MUCH);
  });

  it('leaves the socket alone that was given away because of what was held back', () => {
    const given: string[] = [];
    const other = new TurnedReads(
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

  it('takes nothing more once it has stopped, and keeps nothing back', () => {
    occupy();
    socket.emit('data', Buffer.from(MUCH));
    reads.stop();
    assert.equal(came, MUCH);
    socket.emit('data', Buffer.from('more'));
    assert.equal(came, MUCH);
  });
});
