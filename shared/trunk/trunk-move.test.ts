import assert from 'node:assert/strict';
import { FakeScheduler } from '../testing/fake-turns.ts';
import { type TrunkScripts, trunkScripts } from '../testing/trunk-script.ts';
import { data, type StreamRecorder, TrunkEnd, window } from '../testing/trunk-world.ts';
import { WINDOW_BYTES, WINDOW_MAX_BYTES } from './frames.ts';

/** The first stream was asked to move by the relay, or by the client's peer. The data socket is `own`. */
const MOVING = {
  relay: 'open & 1 write ? & 1 offer id',
  client: 'hear open 1 + data 1 ?; hear move 1 id; 1 write !',
};

const AT_BOTH_ENDS: TrunkScripts = {
  sends: {
    'MOVED at once, and waiting data like later data over the data socket': `
      1 write abc & 1 write 65542: 1 must wait / >data 1 65535; 1 moves & 1 write later: / 1 has room,
      >moved 1, own sent 15 bytes; 1 write still: / own sent still`,
    'room once to a waiting writer, first from the trunk and then from the data socket': `
      1 write 65535: 1 must wait / 1 has room, >data 1 65535; 1 write 4K; 1 moves: / >moved 1,
      own sent 4096 bytes; 1 write 16K: 1 must wait / 1 has room, own sent 16384 bytes; 1 write x: / own sent x`,
    'room once to a writer that waits for the trunk, from the data socket that takes its data without room': `
      1 write 81919: 1 must wait / >data 1 65535; 1 moves: / >moved 1, 1 has room, own sent 16384 bytes`,
    'room once to a writer that waits for both': `
      1 write 81919: 1 must wait / >data 1 65535; 1 moves & 1 write 16K: 1 must wait / >moved 1, 1 has room,
      own sent 32768 bytes`,
    'room from the data socket alone, also once the peer has moved': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; 1 write 16K: 1 must wait / 1 has room,
      own sent 16384 bytes`,
  },
  'hands over': {
    'early data of the data socket after data of the trunk': `
      1 moves: / >moved 1; own hears c: own is paused; own hears d: own is paused; hear data 1 a: 1 got a;
      hear data 1 b + moved 1: 1 got b / 1 got cd, 0 streams; own hears e: 1 got e`,
    'data of a data socket that is opened after the peer has moved': `
      hear data 1 a + moved 1: 1 got a; 1 moves & own hears b: / 1 got b, >moved 1, 0 streams;
      own hears c: 1 got c`,
    'nothing while it is paused since nothing was moved, and then all of it in order': `
      1 pause; 1 moves: / >moved 1; hear data 1 a; own hears c: own is paused;
      hear data 1 b + moved 1: / 0 streams; 1 resume: / 1 got abc; own hears d: 1 got d`,
    'nothing while it is paused since it has moved, and then all of it in order': `
      1 moves & 1 pause: / >moved 1; hear data 1 a; own hears c: own is paused;
      hear data 1 b + moved 1: / 0 streams; 1 resume: / 1 got abc; own hears d: 1 got d`,
    'nothing while it is paused since both have moved, and then continues': `
      1 moves & hear moved 1: / >moved 1, 0 streams; 1 pause; 1 resume; own hears d: 1 got d`,
    'nothing to a handler that pauses in between, until it is resumed, and then all of it in order': `
      1 on data do 1 pause; 1 moves: / >moved 1; own hears c: own is paused;
      hear data 1 20000: 1 got 20000 bytes; hear data 1 b + moved 1: / 0 streams; 1 resume: / 1 got bc;
      1 resume; 1 resume; own hears d: 1 got d`,
    'data to a handler that is attached in the meantime, if it waits for its data socket': `
      1 anew; hear data 1 a + moved 1: 1* got a; 1 moves: / >moved 1, 0 streams; own hears b: 1* got b;
      own hears c: 1* got c`,
    'data to a handler that is attached in the meantime, if it waits for its data socket, and whose peer has moved': `
      hear moved 1; 1 anew; 1 moves: / >moved 1, 0 streams; own hears b: 1* got b; own hears c: 1* got c`,
    'data to a handler that is attached in the meantime, if it has moved, and whose peer has not': `
      1 moves: / >moved 1; 1 anew; hear data 1 a + moved 1: 1* got a / 0 streams; own hears b: 1* got b;
      own hears c: 1* got c`,
    'data to a handler that is attached in the meantime, if it has moved, as its peer has': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; 1 anew; own hears b: 1* got b; own hears c: 1* got c`,
  },
  'half-closes': {
    'on the data socket after queued data, once it has moved': `
      1 write 65536 & 1 end: 1 must wait / >data 1 65535; 1 moves: / 1 has room, >moved 1, own sent .,
      own sent all; hear eof 1 + moved 1: 1 got all / 0 streams; 1 close 1000: / own closed 1000`,
    'on the trunk before it moves, and not again': `
      1 end: / >eof 1; 1 moves: / >moved 1; hear moved 1: / 0 streams; own hears a: 1 got a`,
    'in order, when the data socket tells before the peer has moved': `
      1 moves: / >moved 1; own hears b & own ends: own is paused; hear data 1 a + moved 1: 1 got a / 1 got b,
      1 got all, 0 streams`,
    'directly, once both have moved': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; own hears a & own ends: 1 got a, 1 got all;
      1 end: / own sent all`,
  },
  'ends with its data socket': {
    'after outstanding data of the trunk, if the socket closes cleanly (1000)': `
      1 moves: / >moved 1; own hears b & own closes 1000: own is paused; hear data 1 a: 1 got a;
      hear moved 1: / 1 got b, 1 ended 1000, 0 streams`,
    'after outstanding data of the trunk, if the socket closes cleanly (1005)': `
      1 moves: / >moved 1; own hears b & own closes 1005: own is paused; hear data 1 a: 1 got a;
      hear moved 1: / 1 got b, 1 ended 1005, 0 streams`,
    'after held data, if it is paused': `
      1 moves & 1 pause: / >moved 1; hear data 1 a; own hears b & own closes 1000: own is paused;
      hear moved 1: / 0 streams; 1 resume: / 1 got ab, 1 ended 1000`,
    'after outstanding data of the trunk, if the socket breaks': `
      1 moves: / >moved 1; own closes 1006; hear data 1 a: 1 got a; hear moved 1: 1 ended 1006 / 0 streams`,
    'with the end that the peer sends on the trunk, if it ended the stream while it opened the socket': `
      1 moves: / >moved 1; own closes 1006; hear data 1 a: 1 got a; hear end 1: own closed 1006, 1 ended 1000 /
      0 streams`,
    'with 1000 that arrived with the handshake, after the peer has moved': `
      own closes 1000 & 1 moves: / >moved 1; hear data 1 a: 1 got a; hear moved 1: 1 ended 1000 / 0 streams`,
    'with 1011 that arrived with the handshake, after the peer has moved': `
      own closes 1011 & 1 moves: / >moved 1; hear data 1 a: 1 got a; hear moved 1: 1 ended 1011 / 0 streams`,
    'with 1001 that arrived with the handshake, after the peer has moved': `
      own closes 1001 & 1 moves: / >moved 1; hear data 1 a: 1 got a; hear moved 1: 1 ended 1001 / 0 streams`,
    'with 1000 if it has moved, as its peer has': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; own hears a & own closes 1000: 1 got a, 1 ended 1000`,
  },
  'once both have moved': {
    'no longer uses its trunk': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; retire: trunk closed 1000 / socket closed 1000;
      own hears a: 1 got a; 1 write b: / own sent b`,
    'no longer needs its trunk for held data': `
      1 pause; hear data 1 a; 1 moves: / >moved 1; hear moved 1: / 0 streams; lose: trunk closed 1006;
      1 resume: / 1 got a; own hears b: 1 got b`,
    'closes a retired trunk when the peer has moved as the last stream': `
      1 moves: / >moved 1; retire; hear moved 1: trunk closed 1000 / socket closed 1000, 0 streams`,
  },
  'asks for a sign of life on the connection in use, if it': {
    'waits for its data socket': `
      1 probe: probes trunk`,
    'waits for its data socket, and whose peer has moved': `
      hear moved 1; 1 probe: probes trunk`,
    'has moved, and whose peer has not': `
      1 moves: / >moved 1; 1 probe: probes own`,
    'has moved, as its peer has': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; 1 probe: probes own`,
  },
  'is closed, makes no further callbacks and lets the peer reach its end, if it': {
    'waits for its data socket, with 1000': `
      1 write last & 1 close 1000: / >data 1 last, >end 1; hear data 1 unheard + end 1: / 0 streams;
      1 moves: / own closed 1001`,
    'waits for its data socket, with 1011': `
      1 write last & 1 close 1011: / >data 1 last, >abort 1 1011; hear data 1 unheard + end 1: / 0 streams;
      1 moves: / own closed 1001`,
    'waits for its data socket, and whose peer has moved, with 1000': `
      hear moved 1; 1 write last & 1 close 1000: / >data 1 last, >end 1, 0 streams;
      1 moves: / own closed 1001`,
    'has moved, and whose peer has not, with 1000': `
      1 moves: / >moved 1; 1 write last & 1 close 1000: / own sent last, own closed 1000;
      hear data 1 unheard + moved 1: / 0 streams`,
    'has moved, and whose peer has not, with 1011': `
      1 moves: / >moved 1; 1 write last & 1 close 1011: / own sent last, own closed 1011;
      hear data 1 unheard + moved 1: / 0 streams`,
    'has moved, as its peer has, with 1000': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; 1 write last & 1 close 1000: / own sent last,
      own closed 1000`,
  },
  'is broken off, makes no further callbacks and lets the peer reach its end, if it': {
    'waits for its data socket': `
      1 destroy: / >abort 1 1001; hear data 1 x + end 1: / 0 streams; 1 write 100K;
      1 moves: / own closed 1001`,
    'waits for its data socket, and whose peer has moved': `
      hear moved 1; 1 destroy: / >abort 1 1001, 0 streams; 1 write 100K; 1 moves: / own closed 1001`,
    'has moved, and whose peer has not': `
      1 moves: / >moved 1; 1 destroy: own closed 1006; hear data 1 x + moved 1: / 0 streams; 1 write 100K`,
    'has moved, as its peer has': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; 1 destroy: own closed 1006; 1 write 100K`,
  },
  'ends or continues when its trunk is lost, if it': {
    'waits for its data socket': `
      lose: 1 ended 1006, trunk closed 1006 / 0 streams; 1 moves: / own closed 1001`,
    'waits for its data socket, and whose peer has moved': `
      hear moved 1; lose: 1 ended 1006, trunk closed 1006 / 0 streams; 1 moves: / own closed 1001`,
    'has moved, and whose peer has not': `
      1 moves: / >moved 1; lose: own closed 1006, 1 ended 1006, trunk closed 1006 / 0 streams`,
    'has moved, as its peer has': `
      1 moves: / >moved 1; hear moved 1: / 0 streams; lose: trunk closed 1006`,
  },
  'ends as the peer ends it on the trunk, if it': {
    'waits for its data socket, with 1000': `
      hear data 1 a + end 1: 1 got a, 1 ended 1000 / >end 1, 0 streams; 1 moves: / own closed 1001`,
    'has moved, and whose peer has not, with 1000': `
      1 moves: / >moved 1; own hears unheard & hear data 1 a + end 1: own is paused, own closed 1006,
      1 got a, 1 ended 1000 / 0 streams`,
    'waits for its data socket, with 4003': `
      hear data 1 a + abort 1 4003: 1 got a, 1 ended 4003 / >end 1, 0 streams; 1 moves: / own closed 1001`,
    'has moved, and whose peer has not, with 4003': `
      1 moves: / >moved 1; own hears unheard & hear data 1 a + abort 1 4003: own is paused, own closed 1006,
      1 got a, 1 ended 4003 / 0 streams`,
  },
  'without a data socket': {
    'continues on the trunk': `
      1 fails; 1 write b & hear data 1 a: 1 got a / >data 1 b; 1 close 1000: / >end 1`,
    'is broken off if the peer has moved, which is known before the failure': `
      hear data 1 a + moved 1: 1 got a; 1 fails: 1 ended 1006 / >abort 1 1001, 0 streams`,
    'is broken off if the peer has moved, which is known after the failure': `
      1 fails; hear data 1 a + moved 1: 1 got a, 1 ended 1006 / >abort 1 1001, 0 streams`,
    'reports a failure once, even if the stream ended before': `
      hear moved 1; lose: 1 ended 1006, trunk closed 1006 / 0 streams; 1 fails`,
  },
  '': {
    'accepts WINDOW after MOVED and after its end, but not of an unknown stream': `
      1 moves & hear moved 1 + window 1 1: / >moved 1, 0 streams; hear window 1 64K;
      hear window 2 1: trunk closed 1006 / socket closed 1002`,
  },
};

const AT_THE_RELAY: TrunkScripts = {
  '': {
    'asks the peer with the id of the data socket, before waiting data': `
      open: / 1 stream; 1 write 65537: 1 must wait / >open 1, >data 1 65536;
      1 offer the id: / >move 1 the id; hear window 1 1: / 1 has room, >data 1 .`,
    'asks nothing after the stream was closed': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 close 1000 & 1 offer id: / >end 1`,
    'asks nothing before the stream was closed': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 offer id & 1 close 1000: / >end 1`,
    'asks nothing after the stream was broken off': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 destroy & 1 offer id: / >abort 1 1001`,
    'asks nothing before the stream was broken off': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 offer id & 1 destroy: / >abort 1 1001`,
    'asks nothing after the peer has ended the stream': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; hear end 1 & 1 offer id: 1 ended 1000 / >end 1,
      0 streams`,
    'asks nothing before the peer has ended the stream': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; 1 offer id & hear end 1: 1 ended 1000 / >end 1,
      0 streams`,
    'grants data that the peer sends on the trunk after our MOVED, and none for data after both': `
      open & 1 write ? & 1 offer id: / >open 1, >move 1 id, >data 1 ?, 1 stream; 1 moves: / >moved 1;
      hear data 1 40K: 1 got 40960 bytes / >window 1 106496;
      1 pause & hear data 1 40K + moved 1: / 0 streams; 1 resume: / 1 got 40960 bytes;
      own hears xxxxxxxxxxxxxxxxxxxx: 1 got 20 bytes`,
    'hands over data to a handler that is attached only after the move': `
      open bare: / 1 stream; 1 write ? & 1 offer id: / >open 1, >move 1 id, >data 1 ?; 1 moves: / >moved 1;
      hear moved 1: / 0 streams; 1 anew; own hears a: 1* got a`,
    'ends its trunk at MOVED of a stream that was not asked to move': `
      open & 1 write ?: / >open 1, >data 1 ?, 1 stream; hear moved 1: 1 ended 1006,
      trunk closed 1006 / socket closed 1002, 0 streams`,
    'accepts outstanding data of the trunk after it has ended on its data socket, even more than a window': `
      open & 1 write ? & 1 offer id: / >open 1, >move 1 id, >data 1 ?, 1 stream; 1 moves: / >moved 1;
      1 close 1000: / own closed 1000; hear data 1 40K: / >window 1 40960;
      hear data 1 40K + moved 1: / 0 streams`,
    'accepts outstanding data of the trunk when it moves and ends together, even more than a window': `
      open & 1 write ? & 1 offer id: / >open 1, >move 1 id, >data 1 ?, 1 stream;
      1 moves & 1 close 1000: / >moved 1, own closed 1000; hear data 1 40K: / >window 1 40960;
      hear data 1 40K + moved 1: / 0 streams`,
  },
};

const AT_THE_CLIENT: TrunkScripts = {
  '': {
    'needs no data socket when it was closed before the request to move arrives': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; 1 close 1000 & hear move 1 id: / >end 1;
      hear end 1: / 0 streams`,
    'needs no data socket when it was broken off before the request to move arrives': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; 1 destroy & hear move 1 id: / >abort 1 1001;
      hear end 1: / 0 streams`,
    'grants data that the peer sends on the trunk after our MOVED, and none for data after both': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; hear move 1 id: asked to move to id;
      1 write !: / >data 1 !; 1 moves: / >moved 1; hear data 1 40K: 1 got 40960 bytes / >window 1 106497;
      1 pause & hear data 1 40K + moved 1: / 0 streams; 1 resume: / 1 got 40960 bytes;
      own hears xxxxxxxxxxxxxxxxxxxx: 1 got 20 bytes`,
    'ends its trunk at MOVED of a stream that was not asked to move': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; hear moved 1: 1 ended 1006,
      trunk closed 1006 / socket closed 1002, 0 streams`,
    'accepts outstanding data of the trunk after it has ended on its data socket, even more than a window': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; hear move 1 id: asked to move to id;
      1 write !: / >data 1 !; 1 moves: / >moved 1; 1 close 1000: / own closed 1000;
      hear data 1 40K: / >window 1 40961; hear data 1 40K + moved 1: / 0 streams`,
    'accepts outstanding data of the trunk when it moves and ends together, even more than a window': `
      hear open 1 + data 1 ?: 1 begins with ? / 1 stream; hear move 1 id: asked to move to id;
      1 write !: / >data 1 !; 1 moves & 1 close 1000: / >moved 1, own closed 1000;
      hear data 1 40K: / >window 1 40961; hear data 1 40K + moved 1: / 0 streams`,
  },
};

/** Frames after which the trunk ends with a protocol error, and the end at which. */
const VIOLATIONS: readonly (readonly [what: string, frames: string, end?: keyof typeof MOVING])[] = [
  ['MOVED twice', 'moved 1 + moved 1'],
  ['DATA behind MOVED', 'moved 1 + data 1 x'],
  ['END behind MOVED', 'moved 1 + end 1'],
  ['ABORT behind MOVED', 'moved 1 + abort 1 1011'],
  ['MOVED behind END', 'end 1 + moved 1'],
  ['MOVED behind ABORT', 'abort 1 1001 + moved 1'],
  ['a WINDOW too large behind MOVED', `moved 1 + window 1 ${WINDOW_MAX_BYTES - WINDOW_BYTES} + window 1 2`],
  ['MOVED of an unknown stream', 'moved 2'],
  ['MOVE twice', 'move 1 other', 'client'],
  ['MOVE behind MOVED', 'moved 1 + move 1 other', 'client'],
  ['MOVE of an unknown stream', 'move 2 id', 'client'],
  ['MOVE', 'move 1 id', 'relay'],
];

describe('TrunkStream, when it moves,', () => {
  trunkScripts(AT_BOTH_ENDS, 'this', MOVING.relay, ', at the relay');
  trunkScripts(AT_BOTH_ENDS, 'peer', MOVING.client, ', at the client');
  trunkScripts(AT_THE_RELAY, 'this', '', ', at the relay');
  trunkScripts(AT_THE_CLIENT, 'peer', '', ', at the client');

  for (const which of ['relay', 'client'] as const) {
    const begins = which === 'relay' ? 'this' : 'peer';
    const errors = VIOLATIONS.filter(([, , only]) => only === undefined || only === which);
    const ended = errors.map(([what, frames]) => {
      const code = frames.startsWith('abort') ? 1001 : frames.startsWith('end') ? 1000 : 1006;
      return [what, `hear ${frames}: 1 ended ${code}, trunk closed 1006 / socket closed 1002, 0 streams`];
    });
    const moved = ['moved 1', 'data 1 x', 'end 1', 'abort 1 1011'].map((frame) => [
      frame,
      `1 moves: / >moved 1; hear moved 1: / 0 streams; hear ${frame}: trunk closed 1006 / socket closed 1002;
      own hears a: 1 got a; 1 write b: / own sent b`,
    ]);
    const scripts = {
      'ends its trunk with a protocol error at': Object.fromEntries(ended) as Record<string, string>,
      'continues once both have moved, though its trunk ends with a protocol error at': Object.fromEntries(
        moved,
      ) as Record<string, string>,
    };
    trunkScripts(scripts, begins, MOVING[which], `, at the ${which}`);
  }

  describe('is large', () => {
    let turns: FakeScheduler;
    let near: TrunkEnd;
    let recorder: StreamRecorder;
    let told: number;

    beforeEach(() => {
      turns = new FakeScheduler();
      near = new TrunkEnd(turns, 'this');
      recorder = near.open();
      told = 0;
      recorder.stream.run.whenLarge({ bytes: 2 * WINDOW_BYTES }, () => (told += 1));
    });

    afterEach(() => turns.reset());

    it('when more than 128 KiB were sent, not when they are written', () => {
      recorder.stream.write(Buffer.alloc(2 * WINDOW_BYTES + 1));
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
});
