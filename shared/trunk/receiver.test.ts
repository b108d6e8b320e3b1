import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { handlerOf } from '../testing/trunk-world.ts';
import { FLUSH_STEP_BYTES, FRAME_HEADER_BYTES, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';
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
    inlet.attach(handlerOf({ onStreamData: () => inlet.pause() }));
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

  /** Receives that many bytes, which are handed over immediately. */
  function pass(bytes: number): void {
    assert.equal(inlet.received(Buffer.alloc(bytes)), 'first');
    inlet.handOverArrived();
  }

  /** Lets the window grow to its maximum, with nothing waiting. */
  function grow(): void {
    pass(HALF);
    pass(HALF);
    assert.deepEqual(owner.splice(0), [`grant ${HALF + WINDOW_BYTES}`, `grant ${HALF + 2 * WINDOW_BYTES}`]);
  }

  it('grants more than was handed over while the handler keeps up, and nothing while it has no room', () => {
    attach();
    pass(HALF);
    assert.deepEqual(owner, [`grant ${HALF + WINDOW_BYTES}`]);
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(2 * WINDOW_BYTES)), 'more');
    turns.settle();
    assert.deepEqual([owner.length, inlet.received(Buffer.alloc(1))], [1, 'refused']);
  });

  it('grants as much as before while the window has its maximum size', () => {
    attach();
    grow();
    for (let count = 0; count < 20; count += 1) pass(HALF);
    assert.deepEqual(owner, Array<string>(20).fill(`grant ${HALF}`));
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(WINDOW_MAX_BYTES)), 'more');
    assert.equal(inlet.received(Buffer.alloc(1)), 'refused');
  });

  it('lets the window grow if as much waits as one read may cause, and not if a byte more does', () => {
    for (const more of [0, 1]) {
      inlet = new Receiver((event) => event === 'grant' && owner.push(`grant ${inlet.grant()}`));
      attach();
      inlet.pause();
      inlet.received(Buffer.alloc(HALF));
      if (more > 0) inlet.received(Buffer.alloc(more));
      inlet.resume();
      turns.settle();
      assert.deepEqual(owner.splice(0), [`grant ${more > 0 ? HALF : HALF + WINDOW_BYTES}`]);
    }
  });

  it('counts data that was about to be handed over when the handler paused', () => {
    attach();
    inlet.received(Buffer.alloc(HALF + 1));
    inlet.pause();
    inlet.resume();
    turns.settle();
    assert.deepEqual(owner, [`grant ${HALF + 1}`, 'emptied']);
  });

  it('lets 64 KiB wait again after the handler has fallen behind, and more once it has caught up', () => {
    attach();
    grow();
    inlet.pause();
    inlet.received(Buffer.alloc(WINDOW_MAX_BYTES));
    inlet.resume();
    turns.settle();
    assert.deepEqual(owner.splice(0), [`grant ${WINDOW_BYTES}`, 'emptied']);
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(WINDOW_BYTES)), 'more');
    inlet.resume();
    turns.settle();
    assert.deepEqual(owner.splice(0), [`grant ${WINDOW_BYTES}`, 'emptied']);
    pass(HALF);
    assert.deepEqual(owner.splice(0), [`grant ${HALF + WINDOW_BYTES}`]);
    inlet.pause();
    assert.equal(inlet.received(Buffer.alloc(2 * WINDOW_BYTES)), 'more');
    assert.equal(inlet.received(Buffer.alloc(1)), 'refused');
  });

  it('grants little as long as anything waits for a handler that has fallen behind, even if nothing more arrives', () => {
    attach();
    grow();
    inlet.attach(handlerOf({ onStreamData: () => inlet.pause() }));
    inlet.pause();
    for (let count = 0; count < 16; count += 1) inlet.received(Buffer.alloc(WINDOW_MAX_BYTES / 16));
    for (let count = 0; count < 17; count += 1) {
      inlet.resume();
      turns.settle();
    }
    assert.deepEqual(owner, Array<string>(8).fill(`grant ${FLUSH_STEP_BYTES}`));
  });

  it('lets ever less wait for a handler that stays behind, until it is 64 KiB', () => {
    const sizes = fc.array(fc.integer({ min: 1000, max: HALF }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(sizes, (pieces) => {
        owner = [];
        heard = [];
        let mayCome = WINDOW_BYTES;
        const reader = { waiting: 0, taken: 0 };
        inlet = new Receiver((event) => {
          if (event === 'grant') mayCome += inlet.grant();
        });
        attach();
        for (let count = 0; count < 2; count += 1) {
          pass(HALF);
          mayCome -= HALF;
        }
        assert.equal(mayCome, WINDOW_MAX_BYTES);
        const onStreamData = ({ length }: Buffer): void => {
          reader.waiting -= length;
          reader.taken += length;
          inlet.pause();
        };
        inlet.attach(handlerOf({ onStreamData }));
        inlet.pause();
        const come = (): void => {
          for (let at = 0; mayCome > 0; at += 1) {
            const bytes = Math.min(mayCome, pieces[at % pieces.length] ?? 0);
            assert.equal(inlet.received(Buffer.alloc(bytes)), 'more');
            mayCome -= bytes;
            reader.waiting += bytes;
          }
        };
        // A grant follows at most two pieces that are half a window together, and is at least 16 KiB less.
        const enough = (2 * HALF * (WINDOW_MAX_BYTES - WINDOW_BYTES)) / FLUSH_STEP_BYTES;
        while (reader.taken < 2 * enough) {
          come();
          const { waiting, taken } = reader;
          assert.ok(
            waiting <= (taken > enough ? WINDOW_BYTES : WINDOW_MAX_BYTES),
            `${waiting} after ${taken}`,
          );
          inlet.resume();
          turns.settle();
        }
      }),
      { numRuns: 30 },
    );
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

  it('never grants more than was dropped once it is silenced, and less if the window had grown', () => {
    attach();
    grow();
    inlet.silence();
    for (let count = 0; count < 20; count += 1) inlet.received(Buffer.alloc(HALF));
    const shrinks = (WINDOW_MAX_BYTES - WINDOW_BYTES) / (HALF - FLUSH_STEP_BYTES);
    assert.deepEqual(owner, [
      ...Array<string>(shrinks).fill(`grant ${FLUSH_STEP_BYTES}`),
      ...Array<string>(20 - shrinks).fill(`grant ${HALF}`),
    ]);
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
  it('does not change if it begins with 256 KiB', () => {
    const window = new ReceiveWindow(WINDOW_MAX_BYTES);
    for (const keepsUp of [true, false, true]) {
      window.received(WINDOW_MAX_BYTES);
      assert.equal(window.passedOn(WINDOW_MAX_BYTES / 2 - 1), false);
      assert.equal(window.passedOn(WINDOW_MAX_BYTES / 2 + 1), true);
      assert.equal(window.grant(keepsUp), WINDOW_MAX_BYTES);
    }
  });

  it('never has more than its size in transit or waiting, and never stops a peer whose data is passed on', () => {
    const parts = fc.array(
      fc.tuple(
        fc.oneof(fc.integer({ min: 1, max: WINDOW_BYTES }), fc.integer({ min: 1, max: WINDOW_MAX_BYTES })),
        fc.boolean(),
        fc.boolean(),
      ),
      { maxLength: 100 },
    );
    fc.assert(
      fc.property(parts, (happens) => {
        const window = new ReceiveWindow();
        let mayCome = WINDOW_BYTES;
        let held = 0;
        /** passed on since the last grant */
        let passed = 0;
        /** by the rules of protocol.md section 10.2 */
        let size = WINDOW_BYTES;
        const pass = (bytes: number, keepsUp: boolean): void => {
          held -= bytes;
          passed += bytes;
          assert.equal(window.passedOn(bytes), passed >= HALF);
          if (passed < HALF) return;
          const grant = window.grant(keepsUp);
          if (keepsUp) size = Math.min(2 * size, WINDOW_MAX_BYTES);
          else size = Math.max(size - passed + FLUSH_STEP_BYTES, WINDOW_BYTES);
          passed = 0;
          mayCome += grant;
          assert.equal(held + mayCome, size);
          assert.ok(grant >= FLUSH_STEP_BYTES && grant <= WINDOW_MAX_BYTES);
        };
        for (const [bytes, comes, keepsUp] of happens) {
          if (!comes) pass(Math.min(held, bytes), keepsUp);
          else if (bytes <= mayCome) {
            assert.ok(window.received(bytes));
            mayCome -= bytes;
            held += bytes;
          }
          assert.equal(held + mayCome + passed, size);
          assert.ok(size <= WINDOW_MAX_BYTES);
        }
        if (held > 0) pass(held, false);
        assert.ok(mayCome > HALF);
        assert.equal(window.received(mayCome + 1), false);
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
