import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import { FakeTurns } from '../testing/fake-turns.ts';
import { WINDOW_BYTES } from './frames.ts';
import { Inlet } from './inlet.ts';

const HALF = WINDOW_BYTES / 2;

describe('Inlet', () => {
  let turns: FakeTurns;
  /** what its owner and its handler were told */
  let owner: string[];
  let heard: string[];
  let inlet: Inlet;

  beforeEach(() => {
    turns = new FakeTurns();
    owner = [];
    heard = [];
    inlet = new Inlet({
      arrived: () => owner.push('arrived'),
      letSend: () => owner.push(`let send ${inlet.grant()}`),
      emptied: () => owner.push('emptied'),
    });
  });

  afterEach(() => turns.reset());

  function attach(): void {
    inlet.attach({
      onStreamData: (piece) => heard.push(piece.length > 8 ? String(piece.length) : piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => heard.push(String(code)),
    });
  }

  it('is open while a handler gets at once what comes', () => {
    attach();
    assert.equal(inlet.isOpen, true);
    inlet.received(Buffer.from('a'));
    assert.deepEqual([inlet.isOpen, owner, heard], [false, ['arrived'], []]);
    inlet.handOverArrived();
    assert.deepEqual([inlet.isOpen, heard], [true, ['a']]);
    inlet.pause();
    assert.equal(inlet.isOpen, false);
    inlet.received(Buffer.from('b'));
    inlet.resume();
    assert.equal(inlet.isOpen, false);
    turns.settle();
    assert.deepEqual([inlet.isOpen, heard], [true, ['a', 'b']]);
  });

  it('hands what comes another way over behind what has come, however much that is', () => {
    attach();
    inlet.received(Buffer.from('a'));
    inlet.handOverArrived();
    inlet.add(Buffer.from('b'));
    inlet.add(Buffer.alloc(2 * WINDOW_BYTES));
    assert.deepEqual(heard, ['a']);
    turns.settle();
    assert.deepEqual(heard, ['a', 'b', String(2 * WINDOW_BYTES)]);
    assert.equal(owner.filter((what) => what === 'emptied').length, 1);
  });

  it('tells that it is empty once all was handed over, but not who pauses it with the last of it', () => {
    inlet.attach({ onStreamData: () => inlet.pause(), onStreamDrain() {}, onStreamClose() {} });
    inlet.add(Buffer.alloc(40_000));
    inlet.add(Buffer.alloc(40_000));
    turns.settle();
    inlet.resume();
    turns.settle();
    assert.deepEqual([inlet.isPaused, owner.includes('emptied')], [true, false]);
    inlet.resume();
    attach();
    inlet.add(Buffer.from('c'));
    turns.settle();
    assert.deepEqual([heard, owner.at(-1)], [['c'], 'emptied']);
  });

  it('lets as much come as was handed over, and no more while the handler has no room', () => {
    attach();
    assert.equal(inlet.received(Buffer.alloc(HALF)), true);
    inlet.handOverArrived();
    assert.deepEqual(owner, ['arrived', `let send ${HALF}`]);
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(WINDOW_BYTES)), true);
    turns.settle();
    assert.deepEqual([owner.length, inlet.received(Buffer.alloc(1))], [2, false]);
  });

  it('drops what it holds, and what still comes, and makes room for it, once nobody hears it', () => {
    attach();
    inlet.pause();
    inlet.received(Buffer.alloc(HALF));
    inlet.end(CloseCode.normal);
    inlet.silence();
    inlet.received(Buffer.alloc(HALF));
    inlet.resume();
    turns.settle();
    assert.deepEqual([heard, owner], [[], [`let send ${HALF}`, `let send ${HALF}`]]);
    assert.equal(inlet.handler, undefined);
  });

  it('tells of the end behind what came another way, and to who is attached later', () => {
    inlet.add(Buffer.from('a'));
    inlet.end(CloseCode.internalError);
    turns.settle();
    attach();
    turns.settle();
    assert.deepEqual(heard, ['a', '1011']);
  });

  it('tells immediately that the peer has left, and drops what it holds, even while it is paused', () => {
    attach();
    inlet.pause();
    inlet.received(Buffer.from('a'));
    inlet.end(CloseCode.goingAway);
    assert.deepEqual(heard, ['1001']);
    inlet.resume();
    turns.settle();
    assert.deepEqual(heard, ['1001']);
  });

  it('tells of an end that waits behind what it holds when somebody asks for it', () => {
    attach();
    inlet.pause();
    inlet.received(Buffer.from('a'));
    inlet.tellEndNow();
    assert.deepEqual(heard, []);
    inlet.end(CloseCode.normal);
    assert.deepEqual(heard, []);
    inlet.tellEndNow();
    assert.deepEqual(heard, ['1000']);
  });
});
