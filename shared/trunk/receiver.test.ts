import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { checkScript } from '../testing/script.ts';
import { handlerOf } from '../testing/trunk-world.ts';
import { FLUSH_STEP_BYTES, FRAME_HEADER_BYTES, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';
import { BufferedBytes, Receiver, ReceiveWindow, withArrival } from './receiver.ts';

const HALF = WINDOW_BYTES / 2;

/** A window that has grown to its maximum. */
const GROWN = 'attach; pass 32K: first, got 32768, grant 98304; pass 32K: first, got 32768, grant 163840;';

/**
 * Steps, each with what the receiver answers, reports to its owner and hands over. `in` is data that arrives, `over`
 * the end of the arriving data, `pass` both, and `add` other data.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  'is open while a handler gets data immediately': `attach & open?: yes; in a & open?: first, no;
    over & open?: got a, yes; pause & open?: no; in b: more; resume & open?: no, got b, emptied; open?: yes`,
  'hands over any amount of other data after the received data': `attach; in a & over: first, got a; add b & add 128K:
    got b, got 131072, grant 196610, emptied`,
  'reports that it is empty once everything was handed over, but not if the handler pauses at the last piece': `
    attach pausing; add 40000 & add 40000: got 40000; resume: grant 105536, got 40000; paused?: yes;
    resume & attach & add c: grant 171072, got c, emptied`,
  'grants more than was handed over while the handler keeps up, and nothing while it has no room': `attach;
    pass 32K: first, got 32768, grant 98304; pause; in 128K: more; in 1: refused`,
  'grants as much as before while the window has its maximum size': `${GROWN}
    pass 32K: first, got 32768, grant 32768; pass 32K: first, got 32768, grant 32768; pause; in 256K: more;
    in 1: refused`,
  'lets the window grow if as much waits as one read may cause': `attach; pause; in 32K: more;
    resume: got 32768, grant 98304, emptied`,
  'does not let the window grow if a byte more waits': `attach; pause; in 32K: more; in 1: more;
    resume: got 32768, grant 32768, got 1, emptied`,
  'counts data that was about to be handed over when the handler paused': `attach; in 32769: first;
    pause & resume: got 32769, grant 32769, emptied`,
  'lets 64 KiB wait again after the handler has fallen behind, and more once it has caught up': `${GROWN} pause;
    in 256K: more; resume: got 262144, grant 65536, emptied; pause; in 64K: more;
    resume: got 65536, grant 65536, emptied; pass 32K: first, got 32768, grant 98304; pause; in 128K: more;
    in 1: refused`,
  'drops held and new data, and grants more for it, once it is silenced': `attach; pause; in 32K: more; end 1000;
    silence: grant 32768; in 32K: grant 32768, more; resume`,
  'reports the end after other data, including to a handler attached later': `add a & end 1011; attach: got a, ended 1011,
    emptied`,
  'reports immediately that the peer has left, and drops held data, even while it is paused': `attach; pause;
    in a: more; end 1001: ended 1001; resume`,
  'hands over data to a handler with room before it reports that the peer has left': `add a & attach & end 1001:
    got a, ended 1001, emptied`,
  'reports an end that waits after held data when asked for it': `attach; pause; in a: more; tell; end 1000;
    tell: ended 1000`,
};

function bytesOf(text: string): Buffer {
  const [, number, unit] = /^(\d+)(K?)$/.exec(text) ?? [];
  return number === undefined ? Buffer.from(text) : Buffer.alloc(Number(number) * (unit === 'K' ? 1024 : 1));
}

describe('Receiver', () => {
  let turns: FakeScheduler;
  let did: string[];
  let inlet: Receiver;

  beforeEach(() => {
    turns = new FakeScheduler();
    did = [];
    inlet = new Receiver((event) => did.push(event === 'grant' ? `grant ${inlet.grant()}` : event));
  });

  afterEach(() => turns.reset());

  function attach(isPausing = false): void {
    inlet.attach({
      onStreamData: (piece) => {
        did.push(
          `got ${piece.length > 8 || piece.every((byte) => byte === 0) ? piece.length : piece.toString()}`,
        );
        if (isPausing) inlet.pause();
      },
      onStreamDrain() {},
      onStreamClose: (code) => did.push(`ended ${code}`),
    });
  }

  function act(action: string): void {
    const [verb, what = ''] = action.split(' ');
    if (verb === 'attach') attach(what === 'pausing');
    else if (verb === 'in' || verb === 'pass') {
      did.push(inlet.received(bytesOf(what)));
      if (verb === 'pass') inlet.handOverArrived();
    } else if (verb === 'over') inlet.handOverArrived();
    else if (verb === 'add') inlet.add(bytesOf(what));
    else if (verb === 'pause' || verb === 'resume' || verb === 'silence') inlet[verb]();
    else if (verb === 'end') inlet.end(Number(what));
    else if (verb === 'tell') inlet.tellEndNow();
    else did.push((verb === 'open?' ? inlet.isOpen : inlet.isPaused) ? 'yes' : 'no');
  }

  for (const [title, script] of Object.entries(SCRIPTS))
    it(title, () =>
      checkScript(script, (step) => {
        for (const action of step.split(' & ')) act(action);
        turns.settle();
        return did.splice(0).join(', ');
      }),
    );

  /** Receives that many bytes, which are handed over immediately. */
  function pass(bytes: number): void {
    act(`pass ${bytes}`);
  }

  function grants(): string[] {
    return did.splice(0).filter((what) => what.startsWith('grant'));
  }

  it('grants little as long as anything waits for a handler that has fallen behind, even if nothing more arrives', () => {
    attach();
    pass(HALF);
    pass(HALF);
    grants();
    attach(true);
    inlet.pause();
    for (let count = 0; count < 16; count += 1) inlet.received(Buffer.alloc(WINDOW_MAX_BYTES / 16));
    for (let count = 0; count < 17; count += 1) {
      inlet.resume();
      turns.settle();
    }
    assert.deepEqual(grants(), Array<string>(8).fill(`grant ${FLUSH_STEP_BYTES}`));
  });

  it('lets ever less wait for a handler that stays behind, until it is 64 KiB', () => {
    const sizes = fc.array(fc.integer({ min: 1000, max: HALF }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(sizes, (pieces) => {
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

  it('never grants more than was dropped once it is silenced, and less if the window had grown', () => {
    attach();
    pass(HALF);
    pass(HALF);
    grants();
    inlet.silence();
    assert.equal(inlet.handler, undefined);
    for (let count = 0; count < 20; count += 1) inlet.received(Buffer.alloc(HALF));
    const shrinks = (WINDOW_MAX_BYTES - WINDOW_BYTES) / (HALF - FLUSH_STEP_BYTES);
    assert.deepEqual(grants(), [
      ...Array<string>(shrinks).fill(`grant ${FLUSH_STEP_BYTES}`),
      ...Array<string>(20 - shrinks).fill(`grant ${HALF}`),
    ]);
  });
});

describe('ReceiveWindow', () => {
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
