import * as fc from 'fast-check';
import { CloseCode } from '../control.ts';
import { type Habits, World, type WorldOptions } from '../testing/trunk-world.ts';

const KIB = 1024;

const size = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 3, arbitrary: fc.constantFrom(4096, 4097, 16 * KIB - 1, 16 * KIB, 64 * KIB, 70_000) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 200 * KIB }) },
);
const passed = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 20_000 }),
  fc.constant(Infinity),
);
const habits: fc.Arbitrary<Habits> = fc.record({
  pauses: fc.boolean(),
  closesAfter: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: size }),
  refills: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(2000, 16 * KIB, 70_000) },
  ),
});
const code = fc.constantFrom(
  CloseCode.normal,
  CloseCode.normal,
  CloseCode.internalError,
  CloseCode.tunnelClosed,
);
const which = fc.constantFrom(0 as const, 1 as const);
const stream = fc.nat(7);

/** Something that happens. */
const event = fc.oneof(
  { weight: 3, arbitrary: fc.record({ open: fc.tuple(habits, habits), first: fc.option(size) }) },
  { weight: 8, arbitrary: fc.record({ write: size, stream, which }) },
  { weight: 8, arbitrary: fc.record({ pass: passed, which }) },
  { weight: 8, arbitrary: fc.constant('turn' as const) },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('pause' as const), stream, which }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('resume' as const), stream, which }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('destroy' as const), stream, which }) },
  { weight: 1, arbitrary: fc.record({ close: code, stream, which }) },
  { weight: 4, arbitrary: fc.record({ own: fc.nat(7), pass: passed, which }) },
  { weight: 2, arbitrary: fc.record({ move: stream }) },
  { weight: 2, arbitrary: fc.constant('connect' as const) },
  { weight: 2, arbitrary: fc.constant('opened' as const) },
  { weight: 1, arbitrary: fc.record({ ms: fc.constantFrom(1, 30, 1000) }) },
);
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

function happen(world: World, it: Event): void {
  if (it === 'turn') return world.turns.end();
  if (it === 'connect') return world.connect(true);
  if (it === 'opened') return world.hearOpened(true);
  if ('open' in it) {
    world.open(...it.open);
    if (it.first !== null) world.streams.at(-1)?.[0].write(it.first);
  } else if ('move' in it) {
    world.offerMove(it.move);
  } else if ('own' in it) {
    world.ownSockets[it.own % world.ownSockets.length]?.[it.which].passOn(it.pass);
  } else if ('pass' in it) {
    world.sockets[it.which].passOn(it.pass);
  } else if ('ms' in it) {
    world.turns.pass(it.ms);
  } else {
    const side = world.side(it.stream, it.which);
    if ('write' in it) side?.write(it.write);
    else if ('close' in it) side?.close(it.close);
    else side?.[it.act]();
  }
}

const events = fc.array(event, { maxLength: 80, size: 'max' });
const options: fc.Arbitrary<WorldOptions> = fc.record({
  highWater: fc.constantFrom(1, 1000, 16 * KIB, 64 * KIB, KIB * KIB),
});

/** Runs events in a world, and then checks its invariants. */
function live(worldOptions: WorldOptions, act: (world: World) => void): void {
  const world = new World(worldOptions);
  try {
    act(world);
    world.settle();
    world.end();
  } finally {
    world.turns.reset();
  }
}

describe('two trunks under any events', () => {
  it('carry many streams together, each as if it were alone', () => {
    fc.assert(
      fc.property(options, events, (worldOptions, happens) =>
        live(worldOptions, (world) => {
          for (const it of happens) world.step(() => happen(world, it));
        }),
      ),
    );
  }).timeout(60_000);

  it('continue streams over data sockets, whenever those open, or if they fail', () => {
    const moving = fc.oneof(
      { weight: 8, arbitrary: event },
      { weight: 1, arbitrary: fc.constant('refused' as const) },
      { weight: 1, arbitrary: fc.constant('settle' as const) },
    );
    const movings = fc.array(moving, { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(options, movings, (worldOptions, happens) =>
        live(worldOptions, (world) => {
          for (const it of happens) {
            if (it === 'settle') world.settle();
            else if (it === 'refused') world.step(() => world.connect(false));
            else world.step(() => happen(world, it));
          }
        }),
      ),
    );
  }).timeout(60_000);

  it('report losses, and leak nothing', () => {
    const how = fc.constantFrom(
      'lost' as const,
      'closed' as const,
      'gone' as const,
      'own' as const,
      'unheard' as const,
    );
    fc.assert(
      fc.property(options, events, events, how, which, (worldOptions, before, after, way, end) =>
        live(worldOptions, (world) => {
          for (const it of before) world.step(() => happen(world, it));
          world.step(() => {
            if (way === 'own') world.loseOwn(0);
            else if (way === 'unheard') world.hearOpened(false);
            else world.lose(way, end);
          });
          for (const it of after) world.step(() => happen(world, it));
        }),
      ),
      { numRuns: 50 },
    );
  }).timeout(60_000);
});
