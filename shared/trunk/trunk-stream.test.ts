import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import {
  abort,
  data,
  end,
  FLUSH_MS,
  handlerOf,
  StreamRecorder,
  TrunkEnd,
  window,
} from '../testing/trunk-world.ts';
import { WINDOW_BYTES } from './frames.ts';
import { type Carried, Run, type TrunkStream } from './trunk-stream.ts';

const KIB = 1024;
const long = (letter: string): Buffer => data(1, letter.repeat(16 * KIB - 1));

describe('TrunkStream', () => {
  let turns: FakeScheduler;
  let near: TrunkEnd;
  /** stream 1, which the peer knows */
  let recorder: StreamRecorder;
  let stream: TrunkStream;

  function start(): void {
    near = new TrunkEnd(turns, 'this');
    recorder = near.begin();
    stream = recorder.stream;
  }

  beforeEach(() => {
    turns = new FakeScheduler();
    start();
  });

  afterEach(() => turns.reset());

  describe('writes', () => {
    it('asks a writer to wait from 16 KiB on, and reports room once when all data was sent', () => {
      assert.equal(stream.write(Buffer.alloc(16 * KIB - 1)), true);
      assert.equal(stream.write(Buffer.alloc(60 * KIB)), false);
      assert.equal(stream.write(Buffer.from('x')), false);
      near.sent();
      assert.equal(recorder.drained, 0);
      near.hear(window(1, 12 * KIB));
      near.sent();
      assert.equal(recorder.drained, 0);
      near.hear(window(1, 1));
      near.sent();
      assert.equal(recorder.drained, 1);
      stream.write(Buffer.from('y'));
      near.hear(window(1, 1));
      near.sent();
      assert.equal(recorder.drained, 1);
    });

    it('accepts data from a writer who continues as soon as there is room', () => {
      const drains: boolean[] = [];
      stream.attach(
        handlerOf({ onStreamDrain: () => void drains.push(stream.write(Buffer.alloc(16 * KIB))) }),
      );
      stream.write(Buffer.alloc(16 * KIB));
      assert.deepEqual(near.sent(), [
        ...Array<string>(3).fill(`data 1 ${16 * KIB}`),
        `data 1 ${16 * KIB - 1}`,
      ]);
      assert.deepEqual(drains, [false, false, false]);
    });

    it('sends nothing for an empty write, nor after the end of the stream', () => {
      assert.equal(stream.write(Buffer.alloc(0)), true);
      assert.deepEqual(near.sent(), []);
      near.hear(end(1));
      assert.equal(stream.write(Buffer.alloc(100 * KIB)), true);
      assert.deepEqual([near.sent(), recorder.drained], [['end 1'], 0]);
    });
  });

  describe('while it is paused', () => {
    it('holds received data, grants nothing, and hands all of it over after it is resumed', () => {
      stream.pause();
      near.hear(data(1, 'a'), data(1, WINDOW_BYTES - 2), data(1, 'b'));
      turns.settle();
      assert.deepEqual([stream.isPaused, recorder.text, near.sent()], [true, '', []]);
      stream.resume();
      assert.deepEqual([stream.isPaused, recorder.text], [false, '']);
      turns.settle();
      assert.equal(recorder.text, `a${'.'.repeat(WINDOW_BYTES - 2)}b`);
      assert.deepEqual(near.sent(), ['window 1 65536']);
    });

    it('keeps the order of earlier and later data, and stops in between', () => {
      stream.pause();
      near.hear(long('a'), long('b'));
      stream.resume();
      near.hear(long('c'));
      const order: string[] = [];
      stream.attach({
        onStreamData(piece) {
          order.push(String.fromCharCode(piece[0] ?? 0));
          stream.pause();
        },
        onStreamDrain() {},
        onStreamClose: (code) => order.push(String(code)),
      });
      turns.settle();
      assert.deepEqual(order, ['a']);
      near.hear(long('d'), end(1));
      for (let count = 0; count < 4; count += 1) {
        stream.resume();
        turns.settle();
      }
      assert.deepEqual(order, ['a', 'b', 'c', 'd', '1000']);
      assert.equal(recorder.text, '');
    });

    it('grants nothing for data that its handler has no room for', () => {
      stream.attach(handlerOf({ onStreamData: () => stream.pause() }));
      near.hear(data(1, WINDOW_BYTES));
      turns.settle();
      assert.deepEqual(near.sent(), []);
      stream.resume();
      assert.deepEqual(near.sent(), ['window 1 131072']);
    });

    it('reports its end after held data, and immediately without any', () => {
      stream.pause();
      near.hear(data(1, 'last'), abort(1, CloseCode.internalError));
      turns.settle();
      assert.deepEqual(recorder.closed, []);
      stream.resume();
      turns.settle();
      assert.deepEqual([recorder.text, recorder.closed], ['last', [CloseCode.internalError]]);
      start();
      stream.pause();
      near.hear(abort(1, CloseCode.internalError));
      assert.deepEqual(recorder.closed, [CloseCode.internalError]);
      stream.resume();
      turns.settle();
      assert.deepEqual(recorder.closed, [CloseCode.internalError]);
    });

    it('hands over held data even if its trunk is lost in between', () => {
      stream.pause();
      near.hear(data(1, 'last'));
      near.socket.lose();
      turns.settle();
      stream.resume();
      turns.settle();
      assert.deepEqual([recorder.text, recorder.closed], ['last', [CloseCode.abnormal]]);
    });

    for (const how of ['close', 'destroy'] as const) {
      it(`hands over nothing after ${how}`, () => {
        stream.pause();
        near.hear(data(1, 'x'), abort(1, CloseCode.internalError));
        stream.resume();
        if (how === 'close') stream.close(CloseCode.normal);
        else stream.destroy();
        stream.resume();
        turns.settle();
        assert.deepEqual([recorder.text, recorder.closed, near.sent()], ['', [], ['end 1']]);
      });
    }
  });

  describe('without a handler', () => {
    it('holds received data for the next handler', () => {
      stream = near.trunk.open();
      stream.write(Buffer.from('x'));
      near.sent();
      near.hear(data(2, 'early'), end(2));
      turns.settle();
      const late = new StreamRecorder(stream);
      assert.equal(late.text, '');
      turns.settle();
      assert.deepEqual([late.text, late.closed], ['early', [CloseCode.normal]]);
    });
  });

  describe('close', () => {
    for (const [code, last] of [
      [CloseCode.normal, 'end 1'],
      // The source of the data broke off.
      [CloseCode.internalError, 'abort 1 1011'],
    ] as const) {
      it(`with ${code} ends the stream after the written data, as the peer accepts it, and makes no more callbacks`, () => {
        stream.write(Buffer.alloc(70 * KIB));
        stream.close(code);
        assert.deepEqual(near.sent(), [`data 1 ${64 * KIB - 1}`]);
        near.hear(data(1, 'unheard'), window(1, 64 * KIB - 1));
        assert.deepEqual(near.sent(), [`data 1 ${6 * KIB + 1}`, last]);
        near.hear(end(1));
        assert.deepEqual([recorder.text, recorder.closed, recorder.drained], ['', [], 0]);
        assert.deepEqual([near.trunk.size, near.sent()], [0, []]);
      });
    }

    it('breaks the stream off after as much data as the peer accepts now', () => {
      stream.write(Buffer.alloc(70 * KIB));
      stream.close(CloseCode.goingAway);
      assert.deepEqual(near.sent(), [`data 1 ${64 * KIB - 1}`, 'abort 1 1001']);
      stream.close(CloseCode.normal);
      stream.destroy();
      assert.deepEqual(near.sent(), []);
    });

    it('lets the peer keep sending dropped data, so that it can reach its end as well', () => {
      stream.pause();
      near.hear(data(1, WINDOW_BYTES - 1));
      stream.write(Buffer.alloc(64 * KIB));
      stream.close(CloseCode.normal);
      assert.deepEqual(near.sent(), ['window 1 65535', `data 1 ${64 * KIB - 1}`]);
      near.hear(data(1, WINDOW_BYTES));
      assert.deepEqual(near.sent(), ['window 1 65536']);
      near.hear(data(1, 'x'), end(1));
      assert.deepEqual([near.sent(), near.trunk.size, near.closed], [['end 1'], 0, []]);
    });

    it('accepts data that arrived together with the reason to close', () => {
      const other = near.begin();
      stream.write(Buffer.alloc(70 * KIB));
      near.sent();
      other.stream.attach(handlerOf({ onStreamData: () => stream.close(CloseCode.normal) }));
      near.hear(data(2, 'x'), data(1, WINDOW_BYTES));
      assert.deepEqual([recorder.text, near.sent()], ['', ['window 1 65536']]);
    });

    it('breaks off a stream whose peer reads nothing for five minutes, or only a little now and then', () => {
      stream.write(Buffer.alloc(164 * KIB, '.'));
      stream.close(CloseCode.normal);
      near.sent();
      turns.pass(FLUSH_MS - 1);
      near.hear(window(1, 16 * KIB));
      assert.deepEqual(near.sent(), [`data 1 ${16 * KIB}`]);
      turns.pass(FLUSH_MS - 1);
      near.hear(window(1, 16 * KIB - 1));
      assert.deepEqual(near.sent(), [`data 1 ${16 * KIB - 1}`]);
      turns.pass(1);
      assert.deepEqual(near.sent(), ['abort 1 1001']);
    });

    for (const [what, act, sent] of [
      ['all data was sent', () => near.hear(window(1, 64 * KIB - 1)), [`data 1 ${6 * KIB + 1}`, 'end 1']],
      ['the peer no longer wants the rest', () => near.hear(end(1)), ['end 1']],
      ['the stream is broken off', () => stream.destroy(), ['abort 1 1001']],
      ['its trunk is lost', () => near.socket.lose(), []],
    ] as const) {
      it(`waits until ${what}`, () => {
        stream.write(Buffer.alloc(70 * KIB));
        stream.close(CloseCode.normal);
        near.sent();
        assert.deepEqual([turns.timers, near.trunk.size], [1, 1]);
        act();
        assert.deepEqual([near.sent(), turns.timers], [sent, 0]);
      });
    }
  });

  describe('destroy', () => {
    it('breaks the stream off, and drops unsent data', () => {
      stream.write(Buffer.alloc(10));
      stream.destroy();
      assert.deepEqual(near.sent(), ['abort 1 1001']);
      near.hear(data(1, 'unheard'), end(1));
      assert.deepEqual([recorder.text, recorder.closed, near.trunk.size], ['', [], 0]);
    });
  });

  describe('the end of the peer', () => {
    it('is reported once, with its code, and drops unsent data', () => {
      stream.write(Buffer.alloc(100 * KIB));
      near.hear(abort(1, CloseCode.keyRevoked));
      assert.deepEqual(near.sent(), ['end 1']);
      assert.deepEqual([recorder.closed, recorder.drained, near.trunk.size], [[4003], 0, 0]);
      near.socket.lose();
      assert.deepEqual(recorder.closed, [4003]);
    });

    it('may be answered by a handler that closes or writes', () => {
      for (const code of [CloseCode.normal, CloseCode.internalError]) {
        start();
        const onStreamClose = (): void => {
          stream.write(Buffer.from('x'));
          stream.close(code);
          stream.destroy();
        };
        stream.attach(handlerOf({ onStreamClose }));
        near.hear(end(1));
        assert.deepEqual([near.sent(), near.trunk.size], [['end 1'], 0]);
      }
    });
  });
});

/** Bytes, negative for sent ones; after how many steps a limit of 100 is reported. */
const RUNS: [what: string, steps: number[], toldAfter: number | undefined][] = [
  ['more that comes', [60, 40, 1], 3],
  ['more that is sent', [-60, -40, -1], 3],
  ['more at once', [101], 1],
  ['as much', [100], undefined],
  ['as much both ways', [100, -100, 100, -100], undefined],
  ['more behind a byte that is sent', [100, -1, 100, 1], 4],
  ['more behind a byte that comes', [-100, 1, -100, -1], 4],
];

function take(run: Run, step: number): void {
  if (step > 0) run.received(step);
  else run.sent(-step);
}

describe('Run', () => {
  const FROM = { bytes: 100, crowded: { bytes: 20, rate: 1 } };
  let carried: Carried;
  let now: number;

  beforeEach(() => {
    now = 0;
    carried = { sent: 0, received: 0 };
  });

  for (const [what, steps, toldAfter] of RUNS) {
    it(`is ${toldAfter === undefined ? 'small' : 'large'} after ${what}`, () => {
      const run = new Run(carried);
      const told: number[] = [];
      let taken = 0;
      run.whenLarge(FROM, () => told.push(taken));
      for (const step of steps) {
        taken += 1;
        take(run, step);
      }
      assert.deepEqual(told, toldAfter === undefined ? [] : [toldAfter]);
    });
  }

  it('is reported once', () => {
    const run = new Run(carried);
    let told = 0;
    run.whenLarge(FROM, () => (told += 1));
    for (const step of [101, 1, -101, -1]) take(run, step);
    assert.equal(told, 1);
  });

  for (const [what, others, ms, isLarge] of [
    ['the others have carried as many on a slow trunk', [21], 42, true],
    ['the others have carried that together', [10, 11], 42, true],
    ['the trunk is fast', [21], 41.9, false],
    ['the others have carried less', [20], 1000, false],
    ['the others have carried it in the other direction', [-21], 1000, false],
  ] as const) {
    it(`is ${isLarge ? 'large' : 'small'} after more than the lower limit if ${what}`, () => {
      for (const direction of [1, -1]) {
        const start = now;
        const run = new Run(carried, () => now);
        let told = 0;
        run.whenLarge(FROM, () => (told += 1));
        take(run, direction);
        for (const bytes of others) take(new Run(carried), direction * bytes);
        take(run, direction * 19);
        assert.equal(told, 0);
        now = start + ms + 0.1;
        take(run, direction);
        assert.equal(told, isLarge ? 1 : 0);
      }
    });
  }

  it('does not count what others have carried before it', () => {
    const run = new Run(carried, () => now);
    let told = 0;
    run.whenLarge(FROM, () => (told += 1));
    take(run, 20);
    take(new Run(carried), 1000);
    take(new Run(carried), -1000);
    now = 1e6;
    take(run, -21);
    take(run, 21);
    now *= 2;
    take(run, 21);
    assert.equal(told, 0);
  });

  it('may be large without a listener', () => {
    take(new Run(carried), 1e12);
  });
});
