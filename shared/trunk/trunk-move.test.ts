import assert from 'node:assert/strict';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import {
  abort,
  data,
  end,
  type FakeTrunkSocket,
  FLUSH_MS,
  joinedTrunkSockets,
  move,
  moved,
  open,
  StreamRecorder,
  TrunkEnd,
  window,
} from '../testing/trunk-world.ts';
import { WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';
import type { TrunkStream } from './trunk-stream.ts';

const KIB = 1024;
const ENDS = ['relay', 'client'] as const;

/** One end of a moving stream 1. The test plays the other end, on the trunk and on the data socket. */
class Moving {
  readonly turns: FakeScheduler;
  readonly near: TrunkEnd;
  readonly recorder: StreamRecorder;
  readonly stream: TrunkStream;
  /** the data socket, and its other end */
  readonly own: FakeTrunkSocket;
  readonly far: FakeTrunkSocket;
  /** data received by the other end of the data socket */
  farText = '';
  readonly farClosed: number[] = [];

  /** The peer was asked to move, or has asked. */
  constructor(turns: FakeScheduler, which: (typeof ENDS)[number]) {
    this.turns = turns;
    [this.own, this.far] = joinedTrunkSockets({ highWater: 16 * KIB });
    this.far.attach({
      onStreamData: (piece) => (this.farText += piece.toString()),
      onStreamDrain() {},
      onStreamClose: (code) => this.farClosed.push(code),
    });
    this.near = new TrunkEnd(turns, which === 'relay' ? 'this' : 'peer');
    if (which === 'relay') {
      this.recorder = this.near.open();
      this.recorder.stream.write(Buffer.from('?'));
      this.recorder.stream.offerMove('id');
      assert.deepEqual(this.near.sent(), ['open 1', 'move 1 id', 'data 1 ?']);
    } else {
      this.near.hear(open(1), data(1, '?'));
      this.recorder = this.near.begun[0] ?? assert.fail();
      this.recorder.pieces.length = 0;
      this.near.hear(move(1, 'id'));
      assert.deepEqual(this.near.moves, [[this.recorder.stream, 'id']]);
      // As much as the relay has sent.
      this.recorder.stream.write(Buffer.from('!'));
      this.near.sent();
    }
    this.stream = this.recorder.stream;
  }

  moveTo(): void {
    this.stream.moveTo(this.own);
  }

  /** Fills the peer's window, with that many more bytes waiting. */
  fill(more: number): void {
    this.stream.write(Buffer.alloc(WINDOW_BYTES - 1 + more, '.'));
    assert.deepEqual(this.near.sent(), [`data 1 ${WINDOW_BYTES - 1}`]);
  }

  /** Data arrives on the data socket, which must be read. */
  come(text: string): void {
    assert.equal(this.own.isPaused, false, 'nobody reads the data socket');
    this.own.receive(Buffer.from(text));
  }

  /** Passes written data and the close of the data socket on to its other end. */
  pass(): void {
    while (this.own.isBusy) this.own.passOn(Infinity);
  }

  /** What the peer receives on the trunk. */
  sent(): string[] {
    return this.near.sent();
  }

  /** The data handed over, the end of the stream, and the end at the other side of the data socket. */
  state(): [text: string, closed: number[], farClosed: number[]] {
    this.turns.settle();
    this.pass();
    return [this.recorder.text, this.recorder.closed, this.farClosed];
  }
}

/** The states of an open stream that moves. */
const STATES = {
  'waits for its data socket': () => {},
  'waits for its data socket, and whose peer has moved': ({ near }: Moving) => near.hear(moved(1)),
  'has moved, and whose peer has not': (it: Moving) => {
    it.moveTo();
    assert.deepEqual(it.sent(), ['moved 1']);
  },
  'has something to send on the trunk, and whose peer has moved': (it: Moving) => {
    it.fill(4);
    it.moveTo();
    it.near.hear(moved(1));
    assert.deepEqual(it.sent(), []);
  },
  'has moved, as its peer has': (it: Moving) => {
    it.moveTo();
    it.near.hear(moved(1));
    assert.deepEqual([it.sent(), it.near.trunk.size], [['moved 1'], 0]);
  },
} as const;
type State = keyof typeof STATES;

const LARGE_BYTES = 2 * WINDOW_BYTES;

describe('TrunkStream, when it moves', () => {
  let turns: FakeScheduler;

  beforeEach(() => {
    turns = new FakeScheduler();
  });

  afterEach(() => turns.reset());

  /** The same test for each end, with a new stream. */
  function atBothEnds(title: string, act: (it: Moving, which: (typeof ENDS)[number]) => void): void {
    for (const which of ENDS) it(`${title}, at the ${which}`, () => act(new Moving(turns, which), which));
  }

  describe('is large', () => {
    let near: TrunkEnd;
    let recorder: StreamRecorder;
    let told: number;

    beforeEach(() => {
      near = new TrunkEnd(turns, 'this');
      recorder = near.open();
      told = 0;
      recorder.stream.run.whenLarge({ bytes: LARGE_BYTES }, () => (told += 1));
    });

    it('when more than 128 KiB were sent, not when they are written', () => {
      recorder.stream.write(Buffer.alloc(LARGE_BYTES + 1));
      near.sent();
      near.hear(window(1, WINDOW_BYTES));
      near.sent();
      assert.equal(told, 0);
      near.hear(window(1, 1));
      near.sent();
      assert.equal(told, 1);
    });

    it('when more than 128 KiB were received, counted from each sent byte', () => {
      recorder.stream.write(Buffer.from('?'));
      near.sent();
      const full = (): void => {
        near.hear(data(1, WINDOW_BYTES));
        assert.match(near.sent().join(), /^window 1 \d+$/);
      };
      full();
      full();
      recorder.stream.write(Buffer.from('?'));
      near.sent();
      full();
      full();
      assert.equal(told, 0);
      near.hear(data(1, 'x'));
      assert.equal(told, 1);
    });
  });

  describe('asks the peer', () => {
    it('with the id of the data socket, before waiting data', () => {
      const near = new TrunkEnd(turns, 'this');
      const { stream } = near.open();
      stream.write(Buffer.alloc(WINDOW_BYTES + 1));
      near.sent();
      stream.offerMove('the id');
      assert.deepEqual(near.sent(), ['move 1 the id']);
      near.hear(window(1, 1));
      assert.equal(near.sent().length, 1);
    });

    for (const [what, over, sent] of [
      ['was closed', ({ stream }: StreamRecorder) => stream.close(CloseCode.normal), ['end 1']],
      ['was broken off', ({ stream }: StreamRecorder) => stream.destroy(), ['abort 1 1001']],
      ['the peer has ended', (_: StreamRecorder, near: TrunkEnd) => near.hear(end(1)), ['end 1']],
    ] as const) {
      for (const order of ['after', 'before'] as const) {
        it(`nothing ${order} the stream ${what}`, () => {
          const near = new TrunkEnd(turns, 'this');
          const recorder = near.begin();
          if (order === 'before') recorder.stream.offerMove('id');
          over(recorder, near);
          if (order === 'after') recorder.stream.offerMove('id');
          assert.deepEqual(near.sent(), sent);
        });
      }
    }
  });

  for (const [what, over] of [
    ['was closed', (stream: TrunkStream) => stream.close(CloseCode.normal)],
    ['was broken off', (stream: TrunkStream) => stream.destroy()],
  ] as const) {
    it(`needs no data socket when it ${what} before the request to move arrives`, () => {
      const near = new TrunkEnd(turns, 'peer');
      near.hear(open(1), data(1, '?'));
      over(near.begun[0]?.stream ?? assert.fail());
      near.hear(move(1, 'id'));
      near.sent();
      near.hear(end(1));
      assert.deepEqual([near.moves, near.trunk.size, near.closed], [[], 0, []]);
    });
  }

  describe('sends', () => {
    atBothEnds(
      'MOVED after all waiting data, including data without room, and later data immediately over the data socket',
      (it) => {
        it.stream.write(Buffer.from('abc'));
        it.fill(10 - 3);
        it.moveTo();
        it.stream.write(Buffer.from('later'));
        it.pass();
        assert.deepEqual([it.farText, it.sent()], ['later', []]);
        it.near.hear(window(1, 6));
        assert.deepEqual(it.sent(), ['data 1 ......']);
        it.near.hear(window(1, 4));
        assert.deepEqual(it.sent(), ['data 1 ....', 'moved 1']);
        it.stream.write(Buffer.from(', and still'));
        it.pass();
        assert.deepEqual([it.farText, it.sent()], ['later, and still', []]);
      },
    );

    atBothEnds('room once to a waiting writer, first from the trunk and then from the data socket', (it) => {
      it.fill(0);
      assert.equal(it.stream.write(Buffer.alloc(16 * KIB)), false);
      it.moveTo();
      const drained = it.recorder.drained;
      it.near.hear(window(1, 16 * KIB));
      it.near.sent();
      assert.equal(it.recorder.drained, drained + 1);
      assert.equal(it.stream.write(Buffer.alloc(16 * KIB)), false);
      it.pass();
      assert.equal(it.recorder.drained, drained + 2);
      assert.equal(it.stream.write(Buffer.from('x')), true);
      it.pass();
      assert.equal(it.recorder.drained, drained + 2);
    });

    for (const first of ['trunk', 'data socket']) {
      atBothEnds(`room once to a waiting writer when both have room again (${first})`, (it) => {
        it.fill(16 * KIB);
        it.moveTo();
        it.stream.write(Buffer.alloc(16 * KIB));
        const drained = it.recorder.drained;
        if (first === 'data socket') it.pass();
        it.near.hear(window(1, 16 * KIB));
        it.near.sent();
        assert.equal(it.recorder.drained, drained + (first === 'trunk' ? 0 : 1));
        it.pass();
        assert.equal(it.recorder.drained, drained + 1);
      });
    }

    atBothEnds('room from the data socket alone, also once the peer has moved', (it) => {
      STATES['has moved, as its peer has'](it);
      assert.equal(it.stream.write(Buffer.alloc(16 * KIB)), false);
      it.pass();
      assert.equal(it.recorder.drained, 1);
    });

    atBothEnds(
      'WINDOW for data that the peer sends on the trunk after our MOVED, and none for data after both',
      (it) => {
        STATES['has moved, and whose peer has not'](it);
        it.near.hear(data(1, 40 * KIB));
        const passedOn = 40 * KIB + (it.near.begun.length > 0 ? 1 : 0);
        assert.deepEqual(it.sent(), [`window 1 ${passedOn + WINDOW_BYTES}`]);
        it.stream.pause();
        it.near.hear(data(1, 40 * KIB), moved(1));
        it.stream.resume();
        turns.settle();
        it.come('x'.repeat(WINDOW_BYTES));
        assert.deepEqual([it.recorder.size, it.sent()], [80 * KIB + WINDOW_BYTES, []]);
      },
    );
  });

  describe('hands over', () => {
    atBothEnds('early data of the data socket after data of the trunk', (it) => {
      it.moveTo();
      assert.equal(it.own.isPaused, true);
      it.own.receive(Buffer.from('c'));
      it.own.receive(Buffer.from('d'));
      it.near.hear(data(1, 'a'));
      assert.deepEqual(it.state(), ['a', [], []]);
      it.near.hear(data(1, 'b'), moved(1));
      assert.deepEqual(it.state(), ['abcd', [], []]);
      it.come('e');
      assert.deepEqual(it.state(), ['abcde', [], []]);
    });

    atBothEnds('data of a data socket that is opened after the peer has moved', (it) => {
      it.near.hear(data(1, 'a'), moved(1));
      it.moveTo();
      it.come('b');
      assert.equal(it.near.trunk.size, 1);
      assert.deepEqual([it.sent(), it.state(), it.near.trunk.size], [['moved 1'], ['ab', [], []], 0]);
      it.come('c');
      assert.equal(it.recorder.text, 'abc');
    });

    for (const [when, acts] of Object.entries({
      'nothing was moved': [],
      'it has moved': [(it: Moving) => it.moveTo()],
      'both have moved': [(it: Moving) => it.moveTo(), (it: Moving) => it.near.hear(moved(1))],
    })) {
      atBothEnds(`nothing while it is paused since ${when}, and then all of it in order`, (it) => {
        for (const act of acts) act(it);
        if (when === 'both have moved') it.sent();
        it.stream.pause();
        if (acts.length === 0) it.moveTo();
        if (acts.length < 2) {
          it.near.hear(data(1, 'a'));
          it.own.receive(Buffer.from('c'));
          it.near.hear(data(1, 'b'), moved(1));
        }
        it.sent();
        assert.deepEqual([it.state()[0], it.own.isPaused, it.stream.isPaused], ['', true, true]);
        it.stream.resume();
        assert.deepEqual(it.state()[0], acts.length < 2 ? 'abc' : '');
        assert.equal(it.stream.isPaused, false);
        it.come('d');
        assert.deepEqual(it.state()[0], acts.length < 2 ? 'abcd' : 'd');
      });
    }

    atBothEnds(
      'nothing to a handler that pauses in between, until it is resumed, and then all of it in order',
      (it) => {
        let text = '';
        it.stream.attach({
          onStreamData(piece) {
            text += piece[0] === 0x2e ? String(piece.length) : piece.toString();
            it.stream.pause();
          },
          onStreamDrain() {},
          onStreamClose() {},
        });
        it.moveTo();
        it.own.receive(Buffer.from('c'));
        it.near.hear(data(1, 20_000));
        it.near.hear(data(1, 'b'), moved(1));
        it.sent();
        assert.deepEqual([text, it.own.isPaused], ['20000', true]);
        for (const expected of ['20000b', '20000bc', '20000bc']) {
          // The last two are held in one piece.
          it.stream.resume();
          turns.settle();
          assert.ok(text === expected || text === '20000bc', text);
        }
        assert.deepEqual([text, it.own.isPaused], ['20000bc', false]);
        it.come('d');
        assert.deepEqual([text, it.own.isPaused], ['20000bcd', true]);
      },
    );

    for (const state of Object.keys(STATES) as State[]) {
      atBothEnds(`data to a handler that is attached in the meantime (${state})`, (it) => {
        STATES[state](it);
        const later = new StreamRecorder(it.stream);
        if (!state.endsWith('peer has moved') && !state.startsWith('has moved, as'))
          it.near.hear(data(1, 'a'), moved(1));
        if (state.startsWith('waits')) it.moveTo();
        it.come('b');
        turns.settle();
        it.come('c');
        turns.settle();
        assert.match(later.text, /^a?bc$/, state);
        assert.equal(it.recorder.text, '');
      });
    }

    it('data to a handler that is attached only after the move', () => {
      const near = new TrunkEnd(turns, 'this');
      const stream = near.trunk.open();
      const [own] = joinedTrunkSockets();
      stream.write(Buffer.from('?'));
      stream.offerMove('id');
      near.sent();
      stream.moveTo(own);
      near.hear(moved(1));
      near.sent();
      const recorder = new StreamRecorder(stream);
      turns.settle();
      assert.equal(own.isPaused, false);
      own.receive(Buffer.from('a'));
      turns.settle();
      assert.equal(recorder.text, 'a');
    });
  });

  describe('ends with its data socket', () => {
    for (const code of [CloseCode.normal, CloseCode.noStatus]) {
      atBothEnds(`after outstanding data of the trunk, if the socket closes cleanly (${code})`, (it) => {
        it.moveTo();
        it.own.receive(Buffer.from('b'));
        it.own.closeFrom(code);
        it.near.hear(data(1, 'a'));
        assert.deepEqual([it.state(), it.sent()], [['a', [], []], ['moved 1']]);
        it.near.hear(moved(1));
        assert.deepEqual([it.state(), it.sent(), it.near.trunk.size], [['ab', [code], []], [], 0]);
      });
    }

    atBothEnds('after held data, if it is paused', (it) => {
      it.moveTo();
      it.stream.pause();
      it.near.hear(data(1, 'a'));
      it.own.receive(Buffer.from('b'));
      it.own.closeFrom(CloseCode.normal);
      it.near.hear(moved(1));
      assert.deepEqual(it.state(), ['', [], []]);
      it.stream.resume();
      assert.deepEqual(it.state(), ['ab', [CloseCode.normal], []]);
    });

    atBothEnds('immediately with an unclean code, even if data is outstanding on the trunk', (it) => {
      STATES['has moved, and whose peer has not'](it);
      it.near.hear(data(1, 'a'));
      it.own.receive(Buffer.from('unheard'));
      it.own.closeFrom(CloseCode.goingAway);
      assert.deepEqual([it.state()[0], it.state()[1], it.sent()], ['a', [CloseCode.goingAway], []]);
      it.near.hear(data(1, 'unheard'), moved(1));
      assert.deepEqual([it.state()[0], it.near.trunk.size, it.near.closed], ['a', 0, []]);
    });

    atBothEnds('and reports that on the trunk, if it has not moved', (it) => {
      it.fill(1);
      it.moveTo();
      it.own.lose();
      assert.deepEqual([it.state()[1], it.sent()], [[CloseCode.abnormal], ['abort 1 1001']]);
      it.near.hear(end(1));
      assert.deepEqual([it.near.trunk.size, it.near.closed], [0, []]);
    });

    for (const code of [CloseCode.normal, CloseCode.internalError, CloseCode.goingAway]) {
      atBothEnds(`with ${code} that arrived with the handshake`, (it) => {
        it.own.closeFrom(code);
        it.moveTo();
        it.near.hear(data(1, 'a'));
        const isClean = code !== CloseCode.goingAway;
        assert.deepEqual(it.state(), isClean ? ['a', [], []] : ['', [code], []]);
        assert.deepEqual(it.sent(), [isClean ? 'moved 1' : 'abort 1 1001']);
        it.near.hear(isClean ? moved(1) : end(1));
        assert.deepEqual([it.recorder.closed, it.near.trunk.size], [[code], 0]);
      });
    }

    for (const code of [CloseCode.normal, CloseCode.internalError]) {
      for (const [state, sent] of [
        ['has something to send on the trunk, and whose peer has moved', ['moved 1']],
        ['has moved, as its peer has', []],
      ] as const) {
        atBothEnds(
          `with ${code} if it ${state}, reported once, and drops data that waits for the trunk`,
          (it) => {
            STATES[state](it);
            it.come('a');
            it.own.closeFrom(code);
            assert.deepEqual([it.state(), it.sent(), it.near.trunk.size], [['a', [code], []], sent, 0]);
          },
        );
      }
    }
  });

  describe('once both have moved', () => {
    atBothEnds('no longer uses its trunk', (it) => {
      STATES['has moved, as its peer has'](it);
      it.near.trunk.retire();
      assert.deepEqual(it.near.closed, [CloseCode.normal]);
      // Immediately, without a detour.
      it.come('a');
      assert.equal(it.recorder.text, 'a');
      it.stream.write(Buffer.from('b'));
      it.pass();
      assert.deepEqual([it.recorder.closed, it.farText], [[], 'b']);
    });

    atBothEnds('no longer needs its trunk for held data', (it) => {
      it.stream.pause();
      it.near.hear(data(1, 'a'));
      STATES['has moved, as its peer has'](it);
      it.near.socket.lose();
      assert.deepEqual([it.state(), it.near.closed], [['', [], []], [CloseCode.abnormal]]);
      it.stream.resume();
      turns.settle();
      it.come('b');
      assert.deepEqual(it.state(), ['ab', [], []]);
    });

    for (const [state, last] of [
      ['has moved, and whose peer has not', moved(1)],
      ['has something to send on the trunk, and whose peer has moved', window(1, 4)],
    ] as const) {
      atBothEnds(`closes a retired trunk after the last moved stream, which ${state}`, (it) => {
        STATES[state](it);
        it.near.trunk.retire();
        assert.deepEqual(it.near.closed, []);
        it.near.hear(last);
        it.sent();
        assert.deepEqual([it.near.closed, it.recorder.closed], [[CloseCode.normal], []]);
      });
    }
  });

  describe('asks for a sign of life', () => {
    for (const state of Object.keys(STATES) as State[]) {
      atBothEnds(`on the connection in use, as a stream that ${state}`, (it) => {
        STATES[state](it);
        it.stream.probe();
        const isOwn = !state.startsWith('waits');
        assert.deepEqual([it.own.probes, it.near.socket.probes], isOwn ? [1, 0] : [0, 1]);
        assert.equal(it.stream.isSilent, true);
        (isOwn ? it.own : it.near.socket).isSilent = false;
        assert.equal(it.stream.isSilent, false);
      });
    }
  });

  /** The end of a stream by state: what the peer receives, and how the data socket ends. */
  const CLOSES: Record<State, [clean: string[], broken: string[], hasOwn: boolean]> = {
    'waits for its data socket': [['end 1'], ['abort 1 1011'], false],
    'waits for its data socket, and whose peer has moved': [['end 1'], ['abort 1 1011'], false],
    'has moved, and whose peer has not': [[], [], true],
    'has something to send on the trunk, and whose peer has moved': [[], ['abort 1 1011'], true],
    'has moved, as its peer has': [[], [], true],
  };

  for (const [state, [clean, broken, hasOwn]] of Object.entries(CLOSES) as [
    State,
    (typeof CLOSES)[State],
  ][]) {
    describe(`as a stream that ${state}`, () => {
      for (const code of [CloseCode.normal, CloseCode.internalError]) {
        atBothEnds(
          `closes with ${code}, makes no further callbacks, and lets the peer reach its end`,
          (it) => {
            STATES[state](it);
            it.stream.write(Buffer.from('last'));
            it.stream.close(code);
            const sent = it.sent();
            if (!hasOwn) assert.deepEqual(sent.shift(), 'data 1 last');
            assert.deepEqual(sent, hasOwn || code === CloseCode.normal ? clean : broken);
            assert.equal(it.state()[0], '');
            assert.deepEqual([it.farText, it.farClosed], hasOwn ? ['last', [code]] : ['', []]);
            if (state.startsWith('has something')) {
              it.near.hear(window(1, 4));
              assert.deepEqual(it.sent(), ['data 1 ....', 'moved 1']);
            }
            const isPeerThere =
              state === 'waits for its data socket' || state === 'has moved, and whose peer has not';
            if (isPeerThere) it.near.hear(data(1, 'unheard'), hasOwn ? moved(1) : end(1));
            assert.deepEqual([it.near.trunk.size, it.near.closed, it.recorder.closed], [0, [], []]);
            assert.deepEqual([it.recorder.text, turns.timers], ['', 0]);
            // A data socket that arrives too late is not used.
            if (!hasOwn) it.moveTo();
            assert.deepEqual(it.state()[2], [hasOwn ? code : CloseCode.goingAway]);
          },
        );
      }

      atBothEnds('is broken off, makes no further callbacks, and lets the peer reach its end', (it) => {
        STATES[state](it);
        it.stream.destroy();
        assert.deepEqual(it.sent(), broken.length > 0 ? ['abort 1 1001'] : []);
        assert.deepEqual(it.state(), ['', [], hasOwn ? [CloseCode.abnormal] : []]);
        if (state === 'waits for its data socket') it.near.hear(data(1, 'x'), end(1));
        if (state === 'has moved, and whose peer has not') it.near.hear(data(1, 'x'), moved(1));
        assert.deepEqual([it.near.trunk.size, it.near.closed, it.recorder.text], [0, [], '']);
        assert.equal(it.stream.write(Buffer.alloc(100 * KIB)), true);
        if (!hasOwn) it.moveTo();
        assert.deepEqual(
          [it.state()[2], it.sent()],
          [[hasOwn ? CloseCode.abnormal : CloseCode.goingAway], []],
        );
      });

      const needsTrunk = state !== 'has moved, as its peer has';
      atBothEnds(`${needsTrunk ? 'is broken' : 'continues'} when its trunk is lost`, (it) => {
        STATES[state](it);
        it.near.socket.lose();
        assert.deepEqual(it.state()[1], needsTrunk ? [CloseCode.abnormal] : []);
        assert.deepEqual(it.state()[2], needsTrunk && hasOwn ? [CloseCode.abnormal] : []);
        assert.deepEqual([it.near.trunk.size, it.near.closed, it.sent()], [0, [CloseCode.abnormal], []]);
        if (!hasOwn) it.moveTo();
        assert.deepEqual(it.state()[1], needsTrunk ? [CloseCode.abnormal] : []);
      });
    });
  }

  describe('ends as the peer ends it on the trunk', () => {
    for (const state of ['waits for its data socket', 'has moved, and whose peer has not'] as const) {
      for (const [frame, code] of [
        [end(1), CloseCode.normal],
        [abort(1, CloseCode.keyRevoked), CloseCode.keyRevoked],
      ] as const) {
        atBothEnds(`with ${code}, as one that ${state}`, (it) => {
          STATES[state](it);
          if (state.startsWith('has')) it.own.receive(Buffer.from('unheard'));
          it.near.hear(data(1, 'a'), frame);
          const hadOwn = state.startsWith('has');
          assert.deepEqual(it.state(), ['a', [code], hadOwn ? [CloseCode.abnormal] : []]);
          assert.deepEqual([it.sent(), it.near.trunk.size], [hadOwn ? [] : ['end 1'], 0]);
          if (!hadOwn) it.moveTo();
          assert.deepEqual(it.state()[2], [hadOwn ? CloseCode.abnormal : CloseCode.goingAway]);
        });
      }
    }
  });

  for (const when of ['has moved', 'is about to']) {
    atBothEnds(
      `accepts outstanding data of the trunk after it has ended on its data socket, even more than a window (${when})`,
      (it) => {
        it.moveTo();
        if (when === 'has moved') it.sent();
        it.stream.close(CloseCode.normal);
        assert.deepEqual(it.sent(), when === 'has moved' ? [] : ['moved 1']);
        it.near.hear(data(1, 40 * KIB));
        assert.equal(it.sent().length, 1);
        it.near.hear(data(1, 40 * KIB), moved(1));
        assert.deepEqual(
          [it.near.trunk.size, it.near.closed, it.state()],
          [0, [], ['', [], [CloseCode.normal]]],
        );
      },
    );
  }

  describe('without a data socket', () => {
    atBothEnds('continues on the trunk', (it) => {
      it.stream.moveFailed();
      it.stream.write(Buffer.from('b'));
      it.near.hear(data(1, 'a'));
      assert.deepEqual([it.state(), it.sent()], [['a', [], []], ['data 1 b']]);
      it.stream.close(CloseCode.normal);
      assert.deepEqual(it.sent(), ['end 1']);
    });

    for (const order of ['before', 'after'] as const) {
      atBothEnds(`is broken off if the peer has moved, which is known ${order} the failure`, (it) => {
        if (order === 'after') it.stream.moveFailed();
        it.near.hear(data(1, 'a'), moved(1));
        if (order === 'before') it.stream.moveFailed();
        assert.deepEqual([it.state(), it.sent()], [['a', [CloseCode.abnormal], []], ['abort 1 1001']]);
        assert.deepEqual([it.near.trunk.size, it.near.closed], [0, []]);
      });
    }

    atBothEnds('reports a failure once, even if the stream ended before', (it) => {
      it.near.hear(moved(1));
      it.near.socket.lose();
      it.stream.moveFailed();
      assert.deepEqual(it.state()[1], [CloseCode.abnormal]);
    });
  });

  atBothEnds(
    'is broken off when it is closed, and the peer reads none of the data before MOVED for five minutes',
    (it) => {
      it.fill(16 * KIB + 1);
      it.moveTo();
      it.stream.close(CloseCode.normal);
      assert.deepEqual([it.sent(), turns.timers], [[], 1]);
      turns.pass(FLUSH_MS - 1);
      it.near.hear(window(1, 16 * KIB));
      turns.pass(FLUSH_MS - 1);
      assert.deepEqual(it.sent(), [`data 1 ${16 * KIB}`]);
      turns.pass(1);
      assert.deepEqual([it.sent(), turns.timers], [['abort 1 1001'], 0]);
      it.near.hear(end(1));
      assert.equal(it.near.trunk.size, 0);
    },
  );

  describe('ends its trunk with a protocol error', () => {
    const VIOLATIONS: [what: string, which: (typeof ENDS)[number] | 'both', frames: Buffer[]][] = [
      ['MOVED twice', 'both', [moved(1), moved(1)]],
      ['DATA behind MOVED', 'both', [moved(1), data(1, 'x')]],
      ['END behind MOVED', 'both', [moved(1), end(1)]],
      ['MOVED behind END', 'both', [end(1), moved(1)]],
      ['MOVED behind ABORT', 'both', [abort(1), moved(1)]],
      [
        'a WINDOW too large behind MOVED',
        'both',
        [moved(1), window(1, WINDOW_MAX_BYTES - WINDOW_BYTES), window(1, 2)],
      ],
      ['MOVED of an unknown stream', 'both', [moved(2)]],
      ['MOVE twice', 'client', [move(1, 'other')]],
      ['MOVE behind MOVED', 'client', [moved(1), move(1, 'other')]],
      ['MOVE of an unknown stream', 'client', [move(2, 'id')]],
      ['MOVE', 'relay', [move(1, 'id')]],
    ];
    for (const [what, at, frames] of VIOLATIONS) {
      for (const which of at === 'both' ? ENDS : [at]) {
        it(`at ${what}, at the ${which}`, () => {
          const it = new Moving(turns, which);
          it.near.hear(...frames);
          assert.deepEqual([it.near.socket.closedWith?.code, it.near.closed], [1002, [CloseCode.abnormal]]);
          assert.deepEqual(
            [it.recorder.closed.length, it.recorder.text, it.near.moves.length],
            [1, '', which === 'client' ? 1 : 0],
          );
          assert.deepEqual([it.sent(), it.near.trunk.size], [[], 0]);
        });
      }
    }

    for (const which of ENDS) {
      it(`at MOVED of a stream that was not asked to move, at the ${which}`, () => {
        const near = new TrunkEnd(turns, which === 'relay' ? 'this' : 'peer');
        if (which === 'relay') near.open().stream.write(Buffer.from('?'));
        else near.hear(open(1), data(1, '?'));
        near.sent();
        near.hear(moved(1));
        assert.deepEqual([near.socket.closedWith?.code, near.closed], [1002, [CloseCode.abnormal]]);
      });
    }

    atBothEnds('but not at WINDOW after MOVED, nor for a stream that has ended', (it) => {
      it.moveTo();
      it.near.hear(moved(1), window(1, 1));
      assert.deepEqual([it.sent(), it.near.trunk.size], [['moved 1'], 0]);
      it.near.hear(window(1, WINDOW_BYTES));
      assert.deepEqual([it.near.closed, it.sent()], [[], []]);
      it.near.hear(window(2, 1));
      assert.deepEqual(it.near.closed, [CloseCode.abnormal]);
    });
  });
});
