import { Random } from '../../support/random.ts';
import { Scope } from '../../support/scope.ts';
import { startHonest, HonestVisitor } from '../tools/honest.ts';
import { Faults } from '../tools/faults.ts';
import { ResidentWatch } from '../tools/resident.ts';
import { settlesWithin } from '../tools/settles.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { ABUSES, type Abuse, type Place } from './websocket-abuse/abuses.ts';
import { type AbusedSocket, Stage } from './websocket-abuse/stage.ts';

type Figure = 'growth' | 'uncut' | 'sockets' | 'served' | 'unserved' | 'strayed' | 'ended';

const AT_A_TIME = 200;
/** ms the relay may take to end what it has to end: it waits 5 s for the other end's Close frame, and the machine is busy. */
const CUT_MS = 20_000;
const PLACES: readonly Place[] = ['control', 'data'];

export const websocketAbuse: Row<Figure> = {
  name: 'websocket-abuse',
  title: `Abuse of control sockets and data sockets, ${AT_A_TIME} at a time`,
  thresholds: {
    sockets: { meaning: 'abused sockets', atLeast: PLACES.length * AT_A_TIME },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 100 },
    uncut: { meaning: 'abused sockets that were not cut', atMost: 0 },
    ended: { meaning: 'ends of the relay', atMost: 0 },
    served: { meaning: 'requests of others meanwhile that got their own answer', atLeast: 10 },
    unserved: { meaning: 'requests of others meanwhile that got none', atMost: 0 },
    strayed: { meaning: "requests of others meanwhile that got somebody else's answer", atMost: 0 },
  },

  async run({ scope, short, seed, say }: RunOptions): Promise<RowResult<Figure>> {
    const stage = await Stage.start(scope, AT_A_TIME);
    const faults = new Faults();
    const visitor = new HonestVisitor(
      scope,
      await startHonest(scope, stage.attacked.relay),
      stage.attacked.front,
      faults,
    );
    const waves = short ? mixed(new Random(seed)) : each();
    const watch = new ResidentWatch(scope, stage.attacked.relay.child.pid);
    let sockets = 0;
    for (const { place, abuses } of waves) {
      say(`${place}: ${abuses.length === 1 ? abuses[0]?.what : `${abuses.length} kinds of abuse`}`);
      const wave = new Scope();
      const asking = visitor.keepAsking(wave, `beside abuse of ${place} sockets`);
      try {
        await abuse(wave, stage, place, abuses, faults);
      } finally {
        await wave.end();
      }
      await asking;
      sockets += AT_A_TIME;
      say(`${Math.round(watch.growthMib)} MiB more at the most so far`);
    }
    const ended = stage.attacked.relay.child.hasExited ? 1 : 0;
    return {
      figures: {
        sockets,
        growth: watch.growthMib,
        served: visitor.served,
        ended,
        ...faults.counts('uncut', 'unserved', 'strayed'),
      },
      done: `${ABUSES.length} kinds of abuse, ${waves.length} times ${AT_A_TIME} sockets`,
      faults: faults.first,
    };
  },
};

interface Wave {
  readonly place: Place;
  /** in turn */
  readonly abuses: readonly [Abuse, ...Abuse[]];
}

/** Each kind of abuse, on all sockets at a time. */
function each(): Wave[] {
  return PLACES.flatMap((place) => of(place).map((one): Wave => ({ place, abuses: [one] })));
}

/** All kinds at once, each socket beginning with another one. */
function mixed(random: Random): Wave[] {
  return PLACES.flatMap((place) => {
    const all = of(place);
    const at = random.below(all.length);
    const [first, ...others] = [...all.slice(at), ...all.slice(0, at)];
    return first === undefined ? [] : [{ place, abuses: [first, ...others] }];
  });
}

function of(place: Place): Abuse[] {
  return ABUSES.filter(({ places }) => places.includes(place));
}

async function abuse(
  scope: Scope,
  stage: Stage,
  place: Place,
  abuses: Wave['abuses'],
  faults: Faults,
): Promise<void> {
  const opened = await Promise.all(
    Array.from({ length: AT_A_TIME }, async (_, index) => ({
      abuse: abuses[index % abuses.length] ?? abuses[0],
      socket: await stage.open(scope, place, index),
    })),
  );
  await Promise.all(opened.map(async (one) => await one.abuse.commit(one.socket.connection.socket)));
  const cutWhen = async (when: Abuse['cut']): Promise<void> => {
    const chosen = opened.filter((one) => one.abuse.cut === when);
    if (when === 'released') await Promise.all(chosen.map(({ socket }) => socket.release()));
    await Promise.all(
      chosen.map(async (one) => {
        if (!(await isCut(one.socket))) faults.add('uncut', `${place}: ${one.abuse.what}`);
      }),
    );
  };
  await cutWhen('now');
  await cutWhen('released');
}

/** Whether the relay ends a connection in time. */
async function isCut({ connection }: AbusedSocket): Promise<boolean> {
  const { socket } = connection;
  // Only a reader sees the end.
  const reading = setInterval(() => socket.resume(), 100);
  const isOver = await settlesWithin(CUT_MS, connection.ending);
  clearInterval(reading);
  return isOver;
}
