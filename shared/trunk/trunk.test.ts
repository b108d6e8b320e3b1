import assert from 'node:assert/strict';
import { mock } from 'node:test';
import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { checkScript } from '../testing/script.ts';
import { type TrunkScripts, trunkScripts } from '../testing/trunk-script.ts';
import {
  abort,
  data,
  end,
  open,
  read,
  type StreamRecorder,
  TrunkEnd,
  window,
} from '../testing/trunk-world.ts';
import { LAST_STREAM_ID, WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';
import { WIDE_STREAMS_MAX } from './receiver.ts';
import { FAR_PATH_MS, SendRounds, STREAMS_MAX } from './trunk.ts';

const KIB = 1024;

/** Ids of streams in the order of sending, each with KiB or the kind of frame. */
function turnsOf(bytes: Buffer): string[] {
  return read(bytes)
    .filter((frame) => frame.startsWith('data'))
    .map((frame) => frame.split(' '))
    .map(([, id, size]) => `${id}: ${Number(size) / KIB || size}`);
}

function grants(frames: readonly string[]): string[] {
  return frames.filter((text) => text.startsWith('window'));
}

const WHERE_IT_BEGINS: TrunkScripts = {
  'on the side that begins streams': {
    'announces a stream with its first bytes, all of a turn in one write': `
      open & open: / 2 streams; 2 write b & 1 write a & 2 write c & 1 close 1000: / >open 1, >data 1 bc,
      >open 2, >data 2 a, >end 2`,
    'sends nothing for a stream that ends before its first bytes': `
      open & 1 close 1000; open & 2 write x & 2 destroy & 2 destroy; open & 3 write y: / >open 1, >data 1 y,
      1 stream`,
    'hands over the response of the peer and its end, and answers the end': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; hear data 1 answer + end 1: 1 got answer,
      1 ended 1000 / >end 1, 0 streams`,
  },
  'when it ends': {
    'closes after the last stream once it is retired, with all pending frames': `
      open & open & 1 write ? & 2 write ?: / >open 1, >data 1 ?, >open 2, >data 2 ?, 2 streams; retire;
      hear data 1 late + end 1 + end 2: 1 got late, 1 ended 1000, 2 ended 1000 / trunk closed 1000, >end 1,
      >end 2, socket closed 1000, 0 streams`,
    'closes after its own last end once it is retired, without waiting for an answer': `
      open & open & open & 1 write ? & 2 write ? & 3 write ?: / >open 1, >data 1 ?, >open 2, >data 2 ?,
      >open 3, >data 3 ?, 3 streams; 2 close 1000: / >end 2; retire;
      3 destroy & hear data 2 late: / >abort 3 1001; hear end 1: 1 ended 1000 / trunk closed 1000, >end 1,
      socket closed 1000, 0 streams`,
    'is closed if the peer has not answered an end since before the last check': `
      open & open & open & 1 write ? & 2 write ? & 3 write ?: / >open 1, >data 1 ?, >open 2, >data 2 ?,
      >open 3, >data 3 ?, 3 streams; 1 close 1000 & answers: / >end 1; answers & 2 destroy: / >abort 2 1001;
      hear end 1: / 2 streams; answers; hear window 2 1; answers: 3 ended 1006,
      trunk closed 1006 / socket closed 1002, 0 streams`,
    'gives a moved stream time for outstanding data, and an ended one none': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 offer id & 1 moves: / >move 1 id, >moved 1;
      answers & answers & answers; 1 close 1000 & retire & answers: / own closed 1000;
      answers: trunk closed 1006 / socket closed 1002, 0 streams`,
    'closes immediately when it is retired without streams, and only once': `
      retire & retire: trunk closed 1000 / socket closed 1000`,
    'breaks off all streams when it is closed, and notifies its owner last': `
      open & open & open: / 3 streams; 1 write x & 2 write x: / >open 1, >data 1 x, >open 2, >data 2 x;
      2 close 1000 & shut 4003: 1 ended 1006, 3 ended 1006, trunk closed 4003 / socket closed 4003,
      0 streams; shut 1000`,
  },
  sends: {
    'nothing to a waiting writer if another one ends the trunk at that moment': `
      open & open & 1 write ? & 2 write ?: / >open 1, >data 1 ?, >open 2, >data 2 ?, 2 streams;
      1 on room do shut 1001; 2 pause & hear data 2 held; 1 write 16K & 2 write 16K: 1 must wait,
      2 must wait / 1 has room, 1 ended 1006, trunk closed 1001, >data 1 16384, >data 2 16384,
      socket closed 1001, 0 streams`,
    'at most the bytes of a stream that the peer accepts': `
      open: / 1 stream; 1 write 100K: 1 must wait / >open 1, >data 1 65536; hear window 1 10: / >data 1 10;
      hear window 1 60K: / 1 has room, >data 1 36854`,
  },
};

const WHERE_THE_PEER_BEGINS: TrunkScripts = {
  'on the side that serves streams': {
    'passes a stream with its first bytes to its owner, and the rest to its handler': `
      hear open 1: / 1 stream; hear data 1 first + data 1 more + end 1: 1 begins with 9 bytes,
      1 ended 1000 / >end 1, 0 streams`,
    'answers the end of a stream without data': `
      hear open 1 + end 1 + open 2 + abort 2 1001: / >end 1, >end 2`,
  },
  'when it ends': {
    'notifies streams that waited for anything, and keeps none of them': `
      hear open 1 + data 1 x + open 2 + data 2 x + open 3 + data 3 x + open 4 + data 4 x: 1 begins with x,
      2 begins with x, 3 begins with x, 4 begins with x / 4 streams;
      1 write 100K & 3 write 100K & 3 close 1000 & hear end 2 & 4 pause & lose: 1 must wait, 3 must wait,
      2 ended 1000, 1 ended 1006, 4 ended 1006, trunk closed 1006 / 0 streams`,
  },
  'hands over data that arrives together': {
    'in one piece per stream, before its end': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      hear data 1 a + data 2 bcd + data 1 ef + data 1 g + data 2 h + end 1 + data 2 i: 1 got aefg,
      1 ended 1000, 2 got bcdhi / >end 1, 1 stream`,
    'but not to a stream that another one pauses when it gets its own': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      1 on data do 2 pause; hear data 1 a + data 2 b: 1 got a; 2 resume & hear data 2 d: / 2 got bd`,
    'but not to a stream that another one pauses when it gets its own, or ends with more to come': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      1 on data do 2 pause; hear data 2 b + data 1 a + end 1 + data 2 c: 1 got a, 1 ended 1000 / >end 1,
      1 stream; 2 resume & hear data 2 d: / 2 got bcd`,
    'but not to a stream that was closed': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      1 on data do 2 close 1000; hear data 1 a + data 2 b: 1 got a / >end 2`,
    'and to a stream whose trunk another one closes, before its end': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      1 on data do shut 1000; hear data 1 a + data 2 b: 1 got a, 1 ended 1006, 2 got b, 2 ended 1006,
      trunk closed 1000 / socket closed 1000, 0 streams`,
    'even after the end of the trunk that arrives with it': `
      hear open 1 + data 1 ? + open 2 + data 2 ?: 1 begins with ?, 2 begins with ? / 2 streams;
      hear data 1 last + broken: 1 got last, 1 ended 1006, 2 ended 1006,
      trunk closed 1006 / socket closed 1002, 0 streams`,
  },
};

/** How much larger than at first a window may become. */
const GROWTH = WINDOW_MAX_BYTES - WINDOW_BYTES;
const REST = WINDOW_BYTES - 'first'.length;
const OPENS = Array.from({ length: STREAMS_MAX }, (_, index) => `open ${index + 4}`);
/** Frames after which a trunk with stream 3 ends, and whether that stream has to be paused. */
const VIOLATIONS: readonly (readonly [what: string, frames: string, isPaused?: true])[] = [
  ['DATA beyond the window', `data 3 ${REST} + data 3 x`, true],
  ['DATA beyond the window in a frame that begins within it', `data 3 ${REST - 1} + data 3 xx`, true],
  ['OPEN with the same id', 'open 3'],
  ['OPEN with an id that was left out', 'open 2'],
  ['OPEN with the id of a stream that has ended', 'end 3 + open 3'],
  ['OPEN of one stream too many', OPENS.join(' + ')],
  ['DATA after END', 'end 3 + data 3 x'],
  ['DATA after ABORT', 'abort 3 1001 + data 3 x'],
  ['a second END', 'end 3 + end 3'],
  ['END after ABORT', 'abort 3 1001 + end 3'],
  ['ABORT after END', 'end 3 + abort 3 1001'],
  ['WINDOW after END', 'end 3 + window 3 1'],
  ['WINDOW that is too large for what was sent', `window 3 ${GROWTH + 2001}`],
  [
    'many WINDOWs that are too much together',
    `window 3 ${GROWTH} + window 3 1000 + window 3 1000 + window 3 1`,
  ],
  ['DATA for an unknown stream', 'data 4 x'],
  ['DATA for a stream that was left out', 'data 2 x'],
  ['WINDOW for an unknown stream', 'window 4 1'],
  ['END of an unknown stream', 'end 4'],
  ['ABORT of an unknown stream', 'abort 4 1001'],
  ['what is no frame', 'broken'],
];

/** The scripts of {@link VIOLATIONS}. Nothing is read behind the violation, and nothing happens afterwards. */
function violations(isPaused: boolean): TrunkScripts {
  const rows = VIOLATIONS.filter(([, , onlyPaused]) => isPaused || onlyPaused === undefined).map(
    ([what, frames, isHeld]) => {
      const code = frames.startsWith('end 3') ? 1000 : frames.startsWith('abort 3') ? 1001 : 1006;
      const ended = isHeld === true ? '' : `1 ended ${code}, `;
      const over = `${ended}trunk closed 1006 / socket closed 1002, 0 streams`;
      const script = `hear ${frames} + data 3 x + open 9000 + data 9000 x: ${over}; 1 write y`;
      return [
        what,
        `hear open 3 + data 3 first: 1 begins with first / 1 stream; 1 write 2000: / >data 3 2000;
        1 ${isPaused ? 'pause' : 'resume'}; ${script}`,
      ];
    },
  );
  return { 'ends with a protocol error at': Object.fromEntries(rows) as Record<string, string> };
}

const BEGUN = 'hear open 1 + data 1 x: 1 begins with x / 1 stream;';
const OVER = 'trunk closed 1006 / socket closed 1002';
const AFTER_THE_END = Object.fromEntries(
  ['data 1 x', 'end 1', 'abort 1 1001', 'moved 1', 'move 1 id', 'open 1'].map((frame) => [
    `${frame} for a stream that has ended`,
    `${BEGUN} hear end 1: 1 ended 1000 / >end 1, 0 streams; hear ${frame}: ${OVER}`,
  ]),
);
const OF_THE_PEER: TrunkScripts = {
  'ends with a protocol error at': {
    'DATA beyond the window of a closed stream': `${BEGUN} 1 close 1000: / >end 1; hear data 1 65535; hear data 1 x:
      ${OVER}, 0 streams`,
    'DATA beyond the window of a stream that was broken off': `${BEGUN} 1 destroy: / >abort 1 1001;
      hear data 1 65535; hear data 1 x: ${OVER}, 0 streams`,
    'DATA that has room but no grant yet': `hear open 1 + data 1 64K & hear data 1 x: 1 begins with 65536 bytes,
      1 ended 1006, ${OVER}`,
    ...AFTER_THE_END,
  },
};
const FROM_ONE_WHO_MAY_NOT_BEGIN = Object.fromEntries(
  ['open 1', 'data 1 x', 'end 1'].map((frame) => [
    `${frame} from a peer that may not begin streams`,
    `open: / 1 stream; hear ${frame}: 1 ended 1006, ${OVER}, 0 streams; 1 write x`,
  ]),
);

describe('Trunk', () => {
  trunkScripts(WHERE_IT_BEGINS, 'this');
  trunkScripts(WHERE_THE_PEER_BEGINS, 'peer');
  trunkScripts(violations(false), 'peer', '', ', on a stream as it is');
  trunkScripts(violations(true), 'peer', '', ', on a stream paused');
  trunkScripts(OF_THE_PEER, 'peer');
  trunkScripts({ 'ends with a protocol error at': FROM_ONE_WHO_MAY_NOT_BEGIN }, 'this');

  let turns: FakeScheduler;
  let near: TrunkEnd;

  beforeEach(() => {
    turns = new FakeScheduler();
  });

  afterEach(() => turns.reset());

  describe('on the side that begins streams', () => {
    beforeEach(() => {
      near = new TrunkEnd(turns, 'this');
    });

    it('accepts as many streams as a trunk may have, including unannounced ones', () => {
      const recorders = Array.from({ length: STREAMS_MAX }, () => {
        assert.ok(near.trunk.takesStreams);
        return near.open();
      });
      assert.equal(near.trunk.takesStreams, false);
      for (const { stream } of recorders) stream.write(Buffer.from('x'));
      near.sent();
      assert.equal(near.trunk.takesStreams, false);
      near.hear(end(7));
      assert.equal(near.trunk.takesStreams, false);
      near.sent();
      assert.equal(near.trunk.takesStreams, true);
    }).timeout(20_000);
  });

  describe('on the side that serves streams', () => {
    beforeEach(() => {
      near = new TrunkEnd(turns, 'peer');
    });

    it('accepts gaps between ids, and the last one', () => {
      near.hear(open(3), open(LAST_STREAM_ID));
      assert.deepEqual([near.trunk.size, near.closed], [2, []]);
    });

    it('accepts as many streams as a trunk may have, and another for each that both sides have ended', () => {
      for (let id = 1; id <= STREAMS_MAX; id += 1) near.hear(open(id));
      near.hear(data(9, 'x'));
      near.begun[0]?.stream.close(CloseCode.normal);
      near.sent();
      near.hear(end(9), open(STREAMS_MAX + 1));
      assert.deepEqual([near.trunk.size, near.closed], [STREAMS_MAX, []]);
    }).timeout(20_000);
  });

  describe('allows', () => {
    beforeEach(() => {
      near = new TrunkEnd(turns, 'peer');
      near.hear(open(1), data(1, 'first'));
      near.begun[0]?.stream.write(Buffer.alloc(2000));
      near.sent();
    });

    const rest = WINDOW_BYTES - 'first'.length;
    for (const [what, frames] of [
      ['all of a window of DATA', [data(1, rest)]],
      ['WINDOW up to the most', [window(1, GROWTH), window(1, 1), window(1, 1999)]],
      ['WINDOW up to the most at once', [window(1, GROWTH + 2000)]],
    ] as const) {
      it(what, () => {
        near.begun[0]?.stream.pause();
        near.hear(...frames);
        assert.deepEqual(near.closed, []);
      });
    }

    for (const [what, frames] of [
      ['DATA', [data(1, rest)]],
      ['WINDOW', [window(1, 1000)]],
      ['END', [data(1, 'more'), end(1)]],
      ['ABORT', [abort(1, CloseCode.internalError)]],
    ] as const) {
      for (const how of ['closed', 'broken off'] as const) {
        it(`${what} of a peer who does not know yet that the stream was ${how}`, () => {
          const recorder = near.begun[0] as StreamRecorder;
          if (how === 'closed') recorder.stream.close(CloseCode.normal);
          else recorder.stream.destroy();
          near.sent();
          near.hear(...frames, open(2));
          assert.deepEqual([near.closed, recorder.text, recorder.closed], [[], 'first', []]);
        });
      }
    }
  });

  it('lets the windows of only some streams grow, and of another one as soon as one of them has ended', () => {
    near = new TrunkEnd(turns, 'peer');
    const count = WIDE_STREAMS_MAX + 1;
    for (let id = 1; id <= count; id += 1) near.hear(open(id), data(id, WINDOW_BYTES / 2));
    const grown = `${WINDOW_BYTES / 2 + WINDOW_BYTES}`;
    const first = grants(near.sent());
    assert.equal(first.filter((text) => text.endsWith(` ${grown}`)).length, WIDE_STREAMS_MAX);
    assert.equal(first.at(-1), `window ${count} ${WINDOW_BYTES / 2}`);
    near.begun[0]?.stream.close(CloseCode.normal);
    near.sent();
    near.hear(end(1), data(count, WINDOW_BYTES / 2));
    assert.deepEqual(grants(near.sent()), [`window ${count} ${grown}`]);
  });

  it('measures its distance while it sends, at most once a second and ten times, until it is near', () => {
    let now = 0;
    const clock = mock.method(performance, 'now', () => (now += 250));
    near = new TrunkEnd(turns, 'peer');
    const measure = mock.method(near.socket, 'measureRoundTrip', () => true);
    near.hear(open(1), data(1, '?'));
    const send = (): void => {
      near.begun[0]?.stream.write(Buffer.from('x'));
      near.sent();
    };
    for (let count = 0; count < 8; count += 1) send();
    assert.equal(measure.mock.callCount(), 2);
    for (let count = 0; count < 80; count += 1) send();
    assert.equal(measure.mock.callCount(), 10);
    near = new TrunkEnd(turns, 'peer');
    near.socket.roundTripMs = FAR_PATH_MS - 0.1;
    const unneeded = mock.method(near.socket, 'measureRoundTrip');
    near.hear(open(1), data(1, '?'));
    send();
    assert.equal(unneeded.mock.callCount(), 0);
    clock.mock.restore();
  });

  describe('sends', () => {
    beforeEach(() => {
      near = new TrunkEnd(turns, 'this', { highWater: 64 * KIB });
    });

    it('small before large, and large in turns while others wait', () => {
      const streams = [near.open(), near.open(), near.open()].map(({ stream }) => stream);
      for (const stream of streams.slice(0, 2)) stream.write(Buffer.alloc(64 * KIB));
      turns.end();
      streams[2]?.write(Buffer.from('small'));
      assert.deepEqual(turnsOf(near.socket.take()), ['1: 16', '2: 16', '1: 16', '2: 16']);
      assert.deepEqual(turnsOf(near.socket.take()), ['3: small', '1: 16', '2: 16', '1: 16', '2: 16']);
    });

    it('to a nearby peer a whole frame of each stream in turn', () => {
      near.socket.roundTripMs = FAR_PATH_MS - 0.1;
      const streams = [near.open(), near.open(), near.open()].map(({ stream }) => stream);
      for (const stream of streams.slice(0, 2)) stream.write(Buffer.alloc(64 * KIB));
      turns.end();
      streams[2]?.write(Buffer.from('small'));
      assert.deepEqual(turnsOf(near.socket.take()), ['1: 64']);
      assert.deepEqual(turnsOf(near.socket.take()), ['2: 64']);
      assert.deepEqual(turnsOf(near.socket.take()), ['3: small']);
    });

    it('as much of a single stream as fits into one write', () => {
      near.open().stream.write(Buffer.alloc(64 * KIB));
      turns.end();
      assert.deepEqual(turnsOf(near.socket.take()), ['1: 64']);
    });

    it('nothing while the socket has no room, and then all waiting data together', () => {
      const [first, second] = [near.open(), near.open()];
      first.stream.write(Buffer.alloc(64 * KIB));
      turns.end();
      second.stream.write(Buffer.from('a'));
      turns.end();
      second.stream.write(Buffer.from('b'));
      turns.end();
      assert.equal(near.socket.writes.length, 1);
      near.socket.take();
      assert.deepEqual(read(near.socket.take()), ['open 2', 'data 2 ab']);
    });

    it('nothing at the end of a turn in which the socket has become full', () => {
      for (let count = 0; count < 2; count += 1) near.open().stream.write(Buffer.alloc(100 * KIB));
      // As after a ping that had to wait.
      near.trunk.onStreamDrain();
      assert.equal(near.socket.writes.length, 1);
      turns.end();
      assert.equal(near.socket.writes.length, 1);
    });
  });

  it('waits for a response of the peer while a stream with sent data is open, without a probe', () => {
    near = new TrunkEnd(turns, 'this');
    const { stream } = near.open();
    assert.equal(near.trunk.isUnanswered, false);
    stream.write(Buffer.from('?'));
    near.sent();
    assert.deepEqual([near.trunk.isUnanswered, near.trunk.words], [true, 0]);
    near.hear(window(1, 1));
    assert.deepEqual([near.trunk.isUnanswered, near.trunk.words], [false, 1]);
    stream.write(Buffer.from('?'));
    near.sent();
    near.trunk.probe();
    // Its answer is not a frame.
    near.socket.isSilent = false;
    assert.equal(near.trunk.isUnanswered, false);
    stream.write(Buffer.from('?'));
    near.sent();
    assert.equal(near.trunk.isUnanswered, true);
    near.hear(data(1, '!'), end(1));
    assert.deepEqual([near.sent(), near.trunk.isUnanswered], [['end 1'], false]);
  });

  it('probes the peer once until there is a response', () => {
    near = new TrunkEnd(turns, 'this');
    const { stream } = near.open();
    stream.probe();
    near.trunk.probe();
    assert.deepEqual([near.socket.probes, stream.isSilent, near.trunk.isSilent], [1, true, true]);
    near.socket.isSilent = false;
    assert.deepEqual([stream.isSilent, near.trunk.isSilent], [false, false]);
  });
});

/** Items that are added or dropped, and the order of their turns; `turns a2` gives a two more than one. */
const ROUNDS: Readonly<Record<string, string>> = {
  'gives turns in order, round after round': 'add abc: 3; turns a2 b1 c2: abcabcac; next: none; drop a: 0',
  'gives a new item its turn before continuing ones': 'add ab: 2; next: a; next: b; add abcd: 4; turns: cdab',
  'keeps the place of a waiting item when it is added again': 'add abba: 2; next: a; add aac: 3; turns: bca',
  'does not let an item that was briefly idle pass those that waited in the meantime':
    'add ab: 2; next: a; add a: 2; next: b; add b: 2; turns: ab; add ab: 2; turns: ab',
  'forgets an item without data, wherever it is':
    'add abc: 3; next: a; add a: 3; next: b; drop abc: 0; next: none; add cba: 3; turns: cba',
};

function playRounds(rounds: SendRounds<string>, step: string): string {
  const [verb, ...words] = step.split(' ');
  if (verb === 'next') return rounds.next() ?? 'none';
  if (verb === 'turns') {
    const more = new Map(words.map(([item = '', count]) => [item, Number(count)]));
    let order = '';
    for (let item = rounds.next(); item !== undefined; item = rounds.next()) {
      order += item;
      const left = more.get(item) ?? 0;
      more.set(item, left - 1);
      if (left > 0) rounds.add(item);
    }
    return order;
  }
  for (const item of words[0] ?? '')
    if (verb === 'add') rounds.add(item);
    else rounds.delete(item);
  return `${rounds.size}`;
}

describe('SendRounds', () => {
  for (const [title, script] of Object.entries(ROUNDS))
    it(title, () => {
      const rounds = new SendRounds<string>();
      checkScript(script, (step) => playRounds(rounds, step));
    });

  it('gives as many turns to each item that always has more, no matter how others come and go', () => {
    // Items with small numbers always have more; the others have something to send for one turn, and return.
    const visits = fc.array(fc.array(fc.integer({ min: 3, max: 9 }), { maxLength: 7 }), { maxLength: 60 });
    fc.assert(
      fc.property(visits, (arrivals) => {
        const rounds = new SendRounds<number>();
        const had = [0, 0, 0];
        for (const item of [0, 1, 2]) rounds.add(item);
        for (const arrived of arrivals) {
          for (const item of arrived) rounds.add(item);
          const item = rounds.next() ?? NaN;
          if (item >= had.length) continue;
          had[item] = (had[item] ?? 0) + 1;
          rounds.add(item);
          assert.ok(Math.max(...had) - Math.min(...had) <= 1, had.join(' '));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('delays no item by more than one turn of each other', () => {
    const step = fc.record({ arrived: fc.array(fc.nat(7), { maxLength: 8 }), hasMore: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const rounds = new SendRounds<number>();
        /** turns of other items while the item has waited */
        const waiting = new Map<number, number[]>();
        for (const { arrived, hasMore } of steps) {
          for (const item of arrived) {
            rounds.add(item);
            if (!waiting.has(item)) waiting.set(item, []);
          }
          assert.equal(rounds.size, waiting.size);
          const item = rounds.next();
          assert.equal(item === undefined, waiting.size === 0);
          if (item === undefined) continue;
          assert.ok(waiting.delete(item), 'has nothing to send');
          for (const others of waiting.values()) {
            others.push(item);
            const turnsOfIt = others.filter((other) => other === item).length;
            assert.ok(turnsOfIt <= 1, `${item} had ${turnsOfIt} turns`);
          }
          if (!hasMore) continue;
          rounds.add(item);
          waiting.set(item, []);
        }
      }),
      { numRuns: 300 },
    );
  });
});
