import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { FRAME_HEADER_BYTES, WINDOW_BYTES } from './frames.ts';
import { BufferedBytes, Receiver, ReceiveWindow, withArrival } from './receiver.ts';

const HALF = WINDOW_BYTES / 2;

describe('Receiver', () => {
  let turns: FakeScheduler;
  /** the recorded calls of its owner and its handler */
  let owner: string[];
  let heard: string[];
  let inlet: Receiver;

  beforeEach(() => {
    turns = new FakeScheduler();
    owner = [];
    heard = [];
    inlet = new Receiver((event) => owner.push(event === 'grant' ? `grant ${inlet.grant()}` : event));
  });

  afterEach(() => turns.reset());

  function attach(): void {
    inlet.attach({
      onStreamData: (piece) => heard.push(piece.length > 8 ? String(piece.length) : piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => heard.push(String(code)),
    });
  }

  it('is open while a handler gets data immediately', () => {
    attach();
    assert.equal(inlet.isOpen, true);
    assert.equal(inlet.received(Buffer.from('a')), 'first');
    assert.deepEqual([inlet.isOpen, owner, heard], [false, [], []]);
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

  it('hands over any amount of other data after the received data', () => {
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

  it('reports that it is empty once everything was handed over, but not if the handler pauses at the last piece', () => {
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

  it('grants as much as was handed over, and no more while the handler has no room', () => {
    attach();
    assert.equal(inlet.received(Buffer.alloc(HALF)), 'first');
    inlet.handOverArrived();
    assert.deepEqual(owner, [`grant ${HALF}`]);
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(WINDOW_BYTES)), 'more');
    turns.settle();
    assert.deepEqual([owner.length, inlet.received(Buffer.alloc(1))], [1, 'refused']);
  });

  it('drops held and new data, and grants more for it, once it is silenced', () => {
    attach();
    inlet.pause();
    inlet.received(Buffer.alloc(HALF));
    inlet.end(CloseCode.normal);
    inlet.silence();
    inlet.received(Buffer.alloc(HALF));
    inlet.resume();
    turns.settle();
    assert.deepEqual([heard, owner], [[], [`grant ${HALF}`, `grant ${HALF}`]]);
    assert.equal(inlet.handler, undefined);
  });

  it('reports the end after other data, including to a handler attached later', () => {
    inlet.add(Buffer.from('a'));
    inlet.end(CloseCode.internalError);
    turns.settle();
    attach();
    turns.settle();
    assert.deepEqual(heard, ['a', '1011']);
  });

  it('reports immediately that the peer has left, and drops held data, even while it is paused', () => {
    attach();
    inlet.pause();
    inlet.received(Buffer.from('a'));
    inlet.end(CloseCode.goingAway);
    assert.deepEqual(heard, ['1001']);
    inlet.resume();
    turns.settle();
    assert.deepEqual(heard, ['1001']);
  });

  it('reports an end that waits after held data when asked for it', () => {
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

describe('ReceiveWindow', () => {
  it('allows 64 KiB, and not a byte more, before data is passed on', () => {
    const window = new ReceiveWindow();
    assert.equal(window.received(WINDOW_BYTES - 1), true);
    assert.equal(window.received(1), true);
    assert.equal(window.received(1), false);
  });

  it('grants half a window at a time, or more if more was passed on together', () => {
    const window = new ReceiveWindow();
    window.received(WINDOW_BYTES);
    assert.equal(window.passedOn(WINDOW_BYTES / 2 - 1), false);
    assert.equal(window.passedOn(1), true);
    assert.equal(window.grant(), WINDOW_BYTES / 2);
    assert.equal(window.passedOn(1), false);
    assert.equal(window.passedOn(WINDOW_BYTES / 2 - 1), true);
    assert.equal(window.grant(), WINDOW_BYTES / 2);
    window.received(WINDOW_BYTES);
    assert.equal(window.passedOn(WINDOW_BYTES), true);
    assert.equal(window.grant(), WINDOW_BYTES);
  });

  it('allows nothing more for data that was passed on before the peer is told', () => {
    const window = new ReceiveWindow();
    window.received(WINDOW_BYTES);
    window.passedOn(WINDOW_BYTES);
    assert.equal(window.received(1), false);
  });

  it('never has more than a window in transit or waiting, and never stops a peer whose data is passed on', () => {
    const parts = fc.array(fc.tuple(fc.integer({ min: 1, max: WINDOW_BYTES }), fc.boolean()), {
      maxLength: 100,
    });
    fc.assert(
      fc.property(parts, (happens) => {
        const window = new ReceiveWindow();
        let mayCome = WINDOW_BYTES;
        let held = 0;
        const pass = (bytes: number): void => {
          held -= bytes;
          if (window.passedOn(bytes)) mayCome += window.grant();
        };
        for (const [bytes, comes] of happens) {
          if (!comes) pass(Math.min(held, bytes));
          else if (bytes <= mayCome) {
            assert.ok(window.received(bytes));
            mayCome -= bytes;
            held += bytes;
          }
          assert.ok(held + mayCome <= WINDOW_BYTES);
        }
        if (held > 0) pass(held);
        assert.ok(mayCome > WINDOW_BYTES / 2);
      }),
    );
  });
});

const KIB = 1024;

function takeAll(held: BufferedBytes): Buffer[] {
  const pieces: Buffer[] = [];
  for (let piece = held.shift(); piece !== undefined; piece = held.shift()) pieces.push(piece);
  return pieces;
}

describe('BufferedBytes', () => {
  it('returns the bytes in order, even if some are removed in between', () => {
    const length = fc.oneof(
      fc.integer({ min: 1, max: 200 }),
      fc.constantFrom(16 * KIB - 1, 16 * KIB, 40 * KIB),
    );
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ length, first: fc.nat(255) }) },
      { weight: 1, arbitrary: fc.constant(undefined) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const held = new BufferedBytes();
        const memory = Buffer.alloc(100 * KIB);
        const given: Buffer[] = [];
        const taken: Buffer[] = [];
        let size = 0;
        for (const added of steps) {
          if (added === undefined) {
            const piece = held.shift();
            taken.push(piece ?? Buffer.alloc(0));
            size -= piece?.length ?? 0;
          } else {
            const piece = memory.subarray(added.first, added.first + added.length).fill(added.first);
            given.push(Buffer.from(piece));
            size += piece.length;
            held.add(piece);
            // The reader may reuse the memory.
            piece.fill(0xff);
          }
          assert.equal(held.size, size);
        }
        taken.push(...takeAll(held));
        assert.ok(Buffer.concat(taken).equals(Buffer.concat(given)));
        assert.equal(held.size, 0);
      }),
    );
  });

  it('uses little more memory than the bytes it holds', () => {
    const held = new BufferedBytes();
    const memory = Buffer.alloc(64 * KIB, 'x');
    for (let at = 0; at < memory.length; at += 1) held.add(memory.subarray(at, at + 1));
    const pieces = takeAll(held);
    assert.deepEqual(
      pieces.map(({ length, buffer }) => [length, buffer.byteLength]),
      Array.from({ length: 4 }, () => [16 * KIB, 16 * KIB]),
    );
    held.add(memory.subarray(0, 20 * KIB));
    held.add(memory);
    held.add(memory.subarray(0, 5));
    assert.deepEqual(
      takeAll(held).map(({ buffer }) => buffer.byteLength),
      [20 * KIB, 64 * KIB, 5],
    );
  });

  it('holds nothing after it was cleared', () => {
    const held = new BufferedBytes();
    held.add(Buffer.from('a'));
    held.clear();
    assert.deepEqual([held.size, held.shift()], [0, undefined]);
    held.add(Buffer.from('b'));
    assert.equal(String(held.shift()), 'b');
  });
});

const content = fc.uint8Array({ minLength: 1, maxLength: 40 });
/** Pieces of one stream, with the bytes between them: a header, or more. */
const arrivals = fc.array(
  fc.record({ piece: content, between: fc.constantFrom(FRAME_HEADER_BYTES, 2 * FRAME_HEADER_BYTES, 30) }),
  { minLength: 1, maxLength: 12 },
);

describe('withArrival', () => {
  it('joins the received pieces, and changes only what is between them', () => {
    fc.assert(
      fc.property(arrivals, fc.boolean(), (parts, together) => {
        const bytes = Buffer.concat(
          parts.flatMap(({ piece, between }) => [Buffer.alloc(between, '-'), piece]),
        );
        const memory = Buffer.concat([Buffer.alloc(50, 'a'), bytes, Buffer.alloc(50, 'z')]);
        let held: Buffer | undefined;
        let at = 50;
        for (const { piece, between } of parts) {
          at += between;
          const part = memory.subarray(at, at + piece.length);
          held = withArrival(held, together ? part : Buffer.from(part));
          at += piece.length;
        }
        assert.ok(held?.equals(Buffer.concat(parts.map(({ piece }) => piece))));
        assert.equal(memory.subarray(0, 50).toString(), 'a'.repeat(50));
        assert.equal(memory.subarray(at).toString(), 'z'.repeat(50));
      }),
    );
  });

  it('copies neither of two pieces with a header between them', () => {
    for (const [first, second] of [
      ['long', 'x'],
      ['x', 'long'],
    ] as const) {
      const memory = Buffer.from(`${first}${'-'.repeat(FRAME_HEADER_BYTES)}${second}`);
      const joined = withArrival(
        memory.subarray(0, first.length),
        memory.subarray(first.length + FRAME_HEADER_BYTES),
      );
      assert.equal(joined.toString(), first + second);
      assert.equal(joined.buffer, memory.buffer);
    }
  });
});
