/**
 * A program that counts the steps of handling growing numbers of trunk frames that arrive together, and prints them as
 * JSON.
 */
import { StepCounter } from './step-counter.ts';

/** The steps for one kind of frames. */
export interface MeasuredFrames {
  readonly name: string;
  /** steps for a number of frames, and for {@link GROWTH} times as many */
  readonly steps: readonly number[];
}

/** How many times more frames the second run has. */
const GROWTH = 4;
/** Frames in a message. Four times as many fill a read of 64 KiB. */
const FRAMES = 1500;
/** Streams that are ready to send. Four times as many are nearly as many as a trunk can have. */
const STREAMS = 900;

const counter = new StepCounter();
const { FakeScheduler } = await import('../../shared/testing/fake-turns.ts');
const { TrunkEnd } = await import('../../shared/testing/trunk-world.ts');
const { abort, data, end, open, window } = await import('../../shared/testing/trunk-world.ts');

const frames = (count: number, frame: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, index) => frame(index)));

interface Flood {
  /** streams that are opened first */
  readonly streams: (count: number) => number;
  readonly count: number;
  readonly frame: (index: number) => Buffer;
  readonly isPaused?: boolean;
}

const one = (): number => 1;
const all = (count: number): number => count;
const FLOODS: Readonly<Record<string, Flood>> = {
  'a byte a frame': { streams: one, count: FRAMES, frame: () => data(1, 1) },
  'a byte a frame, of streams in turn': {
    streams: () => 2,
    count: FRAMES,
    frame: (index) => data(1 + (index % 2), 1),
  },
  'nine bytes a frame': { streams: one, count: FRAMES, frame: () => data(1, 9) },
  'a byte a frame of a stream that is paused': {
    streams: one,
    count: FRAMES,
    frame: () => data(1, 1),
    isPaused: true,
  },
  'ends of all streams': { streams: all, count: STREAMS, frame: (index) => end(index + 1) },
  'breaks of all streams': { streams: all, count: STREAMS, frame: (index) => abort(index + 1) },
  'streams that begin': { streams: () => 0, count: STREAMS, frame: (index) => open(index + 1) },
  'streams that begin and end': {
    streams: () => 0,
    count: STREAMS,
    frame: (index) => Buffer.concat([open(index + 1), data(index + 1, 1), end(index + 1)]),
  },
};

/** Steps for this many frames in one message, and for what is sent as a result. */
function stepsOf({ streams, count, frame, isPaused = false }: Flood, times: number): number {
  const turns = new FakeScheduler();
  const near = new TrunkEnd(turns, 'peer');
  const opened = streams(count * times);
  near.hear(frames(opened, (index) => Buffer.concat([open(index + 1), data(index + 1, '?')])));
  if (isPaused) for (const { stream } of near.begun) stream.pause();
  near.sent();
  const bytes = frames(count * times, frame);
  const steps = counter.count(() => {
    near.socket.receive(bytes);
    near.sent();
  });
  turns.reset();
  return steps;
}

/** Windows of one byte for uploads, each of which releases one byte. */
function windowSteps(times: number): number {
  const turns = new FakeScheduler();
  const near = new TrunkEnd(turns, 'this');
  const { stream } = near.open();
  stream.write(Buffer.alloc(128 * 1024));
  near.sent();
  const bytes = frames(FRAMES * times, () => window(1, 1));
  const steps = counter.count(() => {
    near.socket.receive(bytes);
    near.sent();
  });
  turns.reset();
  return steps;
}

const measured: MeasuredFrames[] = Object.entries(FLOODS).map(([name, flood]) => ({
  name,
  steps: [stepsOf(flood, 1), stepsOf(flood, GROWTH)],
}));
measured.push({ name: 'windows of a byte', steps: [windowSteps(1), windowSteps(GROWTH)] });
console.log(JSON.stringify(measured));
