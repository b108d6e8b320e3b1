import assert from 'node:assert/strict';
import { type TrunkScripts, trunkScripts } from '../testing/trunk-script.ts';
import { type Carried, Run } from './trunk-stream.ts';

/** Of a stream that the peer knows. */
const SCRIPTS: TrunkScripts = {
  writes: {
    'asks a writer to wait from 16 KiB on, and reports room once when all data was sent': `
      1 write 16383 & 1 write 60K & 1 write x: 1 must wait, 1 must wait / >data 1 65535;
      hear window 1 12K: / >data 1 12288; hear window 1 1: / 1 has room, >data 1 x; 1 write y;
      hear window 1 1: / >data 1 y`,
    'accepts data from a writer who continues as soon as there is room': `
      1 on room do 1 write 16K; 1 write 16K: 1 must wait / 1 has room, 1 must wait, 1 has room, 1 must wait,
      1 has room, 1 must wait, >data 1 16384, >data 1 16384, >data 1 16384, >data 1 16383, 4 writes`,
    'sends nothing for an empty write, nor after the end of the stream': `
      1 write 0; hear end 1 & 1 write 100K: 1 ended 1000 / >end 1, 0 streams`,
  },
  'while it is paused': {
    'holds received data, grants nothing, and hands all of it over after it is resumed': `
      1 pause; hear data 1 a + data 1 65534 + data 1 b; 1 resume: / 1 got a, 1 got 65534 bytes, 1 got b,
      >window 1 65536`,
    'keeps the order of earlier and later data, and stops in between': `
      1 pause; hear data 1 16380 + data 1 16381;
      1 resume & hear data 1 16382 & 1 on data do 1 pause: / 1 got 16380 bytes;
      hear data 1 16383 + end 1: / >end 1, 0 streams; 1 resume: / 1 got 16381 bytes;
      1 resume: / 1 got 16382 bytes; 1 resume: / 1 got 16383 bytes, 1 ended 1000; 1 resume`,
    'grants nothing for data that its handler has no room for': `
      1 on data do 1 pause; hear data 1 64K: 1 got 65536 bytes; 1 resume: / >window 1 131072`,
    'reports its end after held data': `
      1 pause; hear data 1 last + abort 1 1011: / >end 1, 0 streams; 1 resume: / 1 got last, 1 ended 1011`,
    'reports its end immediately without held data': `
      1 pause; hear abort 1 1011: 1 ended 1011 / >end 1, 0 streams; 1 resume`,
    'hands over held data even if its trunk is lost in between': `
      1 pause; hear data 1 last & lose: trunk closed 1006 / 0 streams; 1 resume: / 1 got last, 1 ended 1006`,
    'hands over nothing after close': `
      1 pause & hear data 1 x + abort 1 1011 & 1 resume & 1 close 1000 & 1 resume: / >end 1, 0 streams`,
    'hands over nothing after destroy': `
      1 pause & hear data 1 x + abort 1 1011 & 1 resume & 1 destroy & 1 resume: / >end 1, 0 streams`,
  },
  'without a handler': {
    'holds received data for the next handler': `
      open bare: / 2 streams; 2 write x: / >open 2, >data 2 x; hear data 2 early + end 2: / >end 2, 1 stream;
      2 anew: / 2* got early, 2* ended 1000`,
  },
  close: {
    'ends the stream after the written data, as the peer accepts it, and makes no more callbacks': `
      1 write 70K & 1 close 1000: 1 must wait / >data 1 65535, waits;
      hear data 1 unheard + window 1 65535: / >data 1 6145, >end 1, waits no longer; hear end 1: / 0 streams`,
    'with 1011, as the source of the data broke off, does the same': `
      1 write 70K & 1 close 1011: 1 must wait / >data 1 65535, waits;
      hear data 1 unheard + window 1 65535: / >data 1 6145, >abort 1 1011, waits no longer;
      hear end 1: / 0 streams`,
    'breaks the stream off after as much data as the peer accepts now': `
      1 write 70K & 1 close 1001: 1 must wait / >data 1 65535, >abort 1 1001; 1 close 1000 & 1 destroy`,
    'lets the peer keep sending dropped data, so that it can reach its end as well': `
      1 pause & hear data 1 65535 & 1 write 64K & 1 close 1000: 1 must wait / >window 1 65535, >data 1 65535,
      waits; hear data 1 64K: / >window 1 65536; hear data 1 x + end 1: / >end 1, 0 streams, waits no longer`,
    'accepts data that arrived together with the reason to close': `
      open: / 2 streams; 2 write ?: / >open 2, >data 2 ?; 1 write 70K: 1 must wait / >data 1 65535;
      2 on data do 1 close 1000; hear data 2 x + data 1 64K: 2 got x / >window 1 65536, waits`,
    'breaks off a stream whose peer reads nothing for five minutes, or only a little now and then': `
      1 write 164K & 1 close 1000: 1 must wait / >data 1 65535, waits; pass 299999;
      hear window 1 16K: / >data 1 16384; pass 299999; hear window 1 16383: / >data 1 16383;
      pass 1: / >abort 1 1001, waits no longer`,
    'waits until all data was sent': `
      1 write 70K & 1 close 1000: 1 must wait / >data 1 65535, waits; hear window 1 65535: / >data 1 6145,
      >end 1, waits no longer`,
    'waits until the peer no longer wants the rest': `
      1 write 70K & 1 close 1000: 1 must wait / >data 1 65535, waits; hear end 1: / >end 1, 0 streams,
      waits no longer`,
    'waits until the stream is broken off': `
      1 write 70K & 1 close 1000: 1 must wait / >data 1 65535, waits; 1 destroy: / >abort 1 1001,
      waits no longer`,
    'waits until its trunk is lost': `
      1 write 70K & 1 close 1000: 1 must wait / >data 1 65535, waits; lose: trunk closed 1006 / 0 streams,
      waits no longer`,
  },
  destroy: {
    'breaks the stream off, and drops unsent data': `
      1 write 10 & 1 destroy: / >abort 1 1001; hear data 1 unheard + end 1: / 0 streams`,
  },
  end: {
    'tells the peer after the written data, and both sides may still send and end': `
      1 write 70K & 1 end: 1 must wait / >data 1 65535; hear window 1 65535: / 1 has room,
      >data 1 6145, >eof 1;
      hear data 1 more + eof 1: 1 got more, 1 got all; 1 end; hear end 1: 1 ended 1000 / >end 1, 0 streams`,
    'is told with the end of the stream if that comes first': `
      1 write x & 1 end & 1 close 1000: / >data 1 x, >end 1; hear eof 1 + end 1: / 0 streams`,
    'of the peer is reported after held data, and before its end': `
      1 pause; hear data 1 last + eof 1; hear end 1: / >end 1, 0 streams;
      1 resume: / 1 got last, 1 got all, 1 ended 1000`,
    'of the peer is reported to a paused stream that holds nothing': `1 pause; hear eof 1: 1 got all`,
    'may be told before the first byte': `
      open: / 2 streams; 2 write y & 2 end: / >open 2, >data 2 y, >eof 2`,
    'ends what the peer may send': `
      hear eof 1 + data 1 x: 1 got all, 1 ended 1006, trunk closed 1006 / socket closed 1002, 0 streams`,
  },
  'a raw connection': {
    'is announced without a byte, with both addresses': `
      open 192.0.2.1:5 [::1]:22: / >open 2 192.0.2.1:5 [::1]:22, 2 streams; 2 write x: / >data 2 x;
      hear data 2 y + eof 2: 2 got y, 2 got all`,
    'is not announced if it ends in the same turn': `open a b & 2 close 1001`,
  },
  'the end of the peer': {
    'is reported once, with its code, and drops unsent data': `
      1 write 100K & hear abort 1 4003: 1 must wait, 1 ended 4003 / >end 1, 0 streams;
      lose: trunk closed 1006`,
    'may be answered by a handler that writes': `
      1 on end do 1 write x; hear end 1: 1 ended 1000 / >end 1, 0 streams`,
    'may be answered by a handler that closes': `
      1 on end do 1 close 1011; hear end 1: 1 ended 1000 / >end 1, 0 streams`,
    'may be answered by a handler that breaks off': `
      1 on end do 1 destroy; hear end 1: 1 ended 1000 / >end 1, 0 streams`,
  },
};

describe('TrunkStream', () => trunkScripts(SCRIPTS, 'this', 'open & 1 write ?'));

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
  const FROM = { bytes: 100, crowded: { bytes: 20, others: 30, rate: 1, ms: 60 } };
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
    ['the others have carried enough on a slow trunk', [31], 60, true],
    ['the others have carried that together', [20, 11], 60, true],
    ['that is too early to judge the trunk', [31], 59.8, false],
    ['the trunk is fast', [80], 100.8, false],
    ['the trunk is just slow', [80], 101, true],
    ['the others have carried less', [30], 1000, false],
    ['the others have carried it in the other direction', [-31], 1000, false],
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
