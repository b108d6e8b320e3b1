/** A tenant whose own client misbehaves on trunks in every way. */
import { readdirSync } from 'node:fs';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { eventually } from '../../support/deadline.ts';
import { ManualClient } from '../../support/manual-client.ts';
import { Random } from '../../support/random.ts';
import { formatRequest, type RawConnection } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { openData } from '../../support/spec-client/client.ts';
import type { TrunkClientStream } from '../../support/spec-client/trunk.ts';
import { WITH_TRUNKS } from '../../support/trunk-world.ts';
import type { RowResult, RunOptions } from '../report.ts';
import { torture } from '../torture.ts';
import {
  type AttackedRelay,
  ResidentWatch,
  sample,
  settlesWithin,
  startAttackedRelay,
} from '../tools/attacked-relay.ts';
import { Faults, HonestVisitor, startHonest } from '../tools/honest.ts';
import { type Attack, ATTACKS, type Target } from '../tools/trunk-attacks.ts';

type Figure =
  | 'attacks'
  | 'uncut'
  | 'unborne'
  | 'endless'
  | 'growth'
  | 'sockets'
  | 'ended'
  | 'stalls'
  | 'served'
  | 'unserved'
  | 'strayed';

/** The number of each attack in its own wave. A short run has one wave with one of each attack. */
const AT_A_TIME = 40;
/** ms that the relay may take to end a trunk: it waits 10 s for a silent client, and the machine is busy. */
const CUT_MS = 30_000;
/** ms until a visitor has an answer, or an error. */
const END_MS = 30_000;
/** ms after which the relay has released everything: it waits 1 s for a Close frame, and the machine is busy. */
const CALM_MS = 30_000;
/** ms within which a violation ends its trunk, unless the machine is very busy. */
const BORNE_MS = 1000;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

torture<Figure>({
  name: 'hostile-trunks',
  title: `A tenant's client attacks the relay over trunks, with ${AT_A_TIME} attacks of each kind at a time, while other visitors are served`,
  thresholds: {
    attacks: { meaning: 'attacks', atLeast: ATTACKS.length },
    uncut: { meaning: 'trunks that stayed open, or closed with the wrong code', atMost: 0 },
    unborne: { meaning: 'trunks closed without a reason', atMost: 0 },
    endless: { meaning: "visitors of the attacker's tunnel whose connection never ended", atMost: 0 },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 100 },
    sockets: { meaning: 'additional file descriptors that the relay still held afterwards', atMost: 10 },
    ended: { meaning: 'crashes of the relay', atMost: 0 },
    stalls: {
      meaning: "times that the relay's event loop was blocked for a second",
      atMost: 0,
      onlyWhole: true,
    },
    served: { meaning: "other visitors' requests answered correctly", atLeast: 10 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
    strayed: { meaning: "other visitors' requests that got another request's response", atMost: 0 },
  },

  async run({ scope, short, seed, say }: RunOptions): Promise<RowResult<Figure>> {
    const stage = await Stage.start(scope, short ? ATTACKS.length : AT_A_TIME);
    const { pid } = stage.attacked.relay.child;
    const faults = new Faults();
    const visitor = new HonestVisitor(
      scope,
      await startHonest(scope, stage.attacked.relay),
      stage.attacked.front,
      faults,
    );
    await visitor.ask('before everything');
    const descriptors = (): number => readdirSync(`/proc/${pid}/fd`).length;
    const before = descriptors();
    const watch = new ResidentWatch(scope, pid);
    const waves = short
      ? [sample(ATTACKS, Infinity, new Random(seed))]
      : ATTACKS.map((attack) => Array<Attack>(AT_A_TIME).fill(attack));
    for (const wave of waves) {
      const what = short ? `${wave.length} attacks at once` : (wave[0]?.what ?? '');
      const waveScope = new Scope();
      const asking = visitor.keepAsking(waveScope, `beside ${what}`);
      try {
        await attackAll(waveScope, stage, wave, faults);
      } finally {
        await waveScope.end();
      }
      await asking;
      say(`${what}: ${Math.round(watch.growthMib)} MiB more at the most so far`);
    }
    await eventually(CALM_MS, () => {
      if (descriptors() > before) throw new Error(`${descriptors()} descriptors, ${before} before`);
    }).catch(() => undefined);
    return {
      figures: {
        attacks: waves.flat().length,
        growth: watch.growthMib,
        sockets: descriptors() - before,
        ended: stage.attacked.relay.child.hasExited ? 1 : 0,
        stalls: stage.attacked.relay.child.stderr.split('event loop stalled').length - 1,
        served: visitor.served,
        ...faults.counts('uncut', 'unborne', 'endless', 'unserved', 'strayed'),
      },
      done: `${waves.flat().length} attacks of ${ATTACKS.length} kinds`,
      faults: faults.first,
    };
  },
});

async function attackAll(
  scope: Scope,
  stage: Stage,
  attacks: readonly Attack[],
  faults: Faults,
): Promise<void> {
  const targets = await Promise.all(
    attacks.map(async (attack, index) => ({ attack, target: await stage.open(scope, index, attack) })),
  );
  await Promise.all(
    targets.map(async ({ attack, target }) => {
      await attack.commit(target);
      if (attack.code === undefined) await assertBorne(attack, target, faults);
      else await assertCut(attack, target, attack.code, faults);
      const ends = target.visitors.map((visitor) => settlesWithin(END_MS, visitor.response()));
      if ((await Promise.all(ends)).includes(false)) faults.add('endless', attack.what);
    }),
  );
}

async function assertCut({ what }: Attack, { trunk }: Target, code: number, faults: Faults): Promise<void> {
  const isCut = await settlesWithin(CUT_MS, trunk.closed);
  const seen = isCut ? (await trunk.closed).code : undefined;
  if (seen !== code) faults.add('uncut', `${what}: ${seen ?? 'open'}`);
}

/** Asserts that the trunk stays open, and serves the visitors who still wait. */
async function assertBorne(
  { what, isOwed }: Attack,
  { trunk, streams }: Target,
  faults: Faults,
): Promise<void> {
  if (isOwed) for (const stream of streams) stream.send(OK);
  if (!(await settlesWithin(BORNE_MS, trunk.closed))) return;
  const { code, reason } = await trunk.closed;
  faults.add('unborne', `${what}: ${code} ${reason}`);
}

/* A relay with many tunnels of an attacker, each with a client whose trunk carries visitors. */

const COME_MS = 30_000;

export class Stage {
  readonly attacked: AttackedRelay;

  private constructor(attacked: AttackedRelay) {
    this.attacked = attacked;
  }

  /** @param count of tunnels, each for one attack at a time */
  static async start(scope: Scope, count: number): Promise<Stage> {
    // All visitors use the same address.
    const settings = { ...WITH_TRUNKS, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    return new Stage(await startAttackedRelay(scope, { count, name: 'trunk', settings }));
  }

  /** Opens a trunk of a tunnel, with visitors. */
  async open(scope: Scope, index: number, { visitors, upload }: Attack): Promise<Target> {
    const tunnel = this.attacked.tunnel(index);
    const client = await ManualClient.adopt(scope, this.attacked.relay, this.attacked.attacker, tunnel);
    const trunk = await client.trunk({ isFar: true });
    trunk.grants = false;
    const come = Array.from({ length: visitors }, () => this.#visit(scope, tunnel, upload));
    const streams: TrunkClientStream[] = [];
    while (streams.length < visitors) {
      const stream = await trunk.accept(COME_MS);
      await stream.receivedUpTo('\r\n\r\n', COME_MS);
      streams.push(stream);
    }
    const [first, ...others] = streams;
    if (first === undefined) throw new Error('an attack needs a visitor');
    return {
      trunk,
      visitors: await Promise.all(come),
      streams: [first, ...others],
      // One that has just ended may still be counted.
      open: () => eventually(COME_MS, () => client.trunk()),
      openData: (id) => openData(scope, this.attacked.relay, id),
      renew: () => client.reconnect(),
    };
  }

  /** A request that must not be repeated: if its trunk is lost, the visitor gets an error immediately. */
  async #visit(scope: Scope, tunnel: Tunnel, upload: number): Promise<RawConnection> {
    const visitor = await this.attacked.front.open(scope);
    const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    const request = formatRequest({ host, method: 'POST', body: Buffer.alloc(upload, 'x') });
    // Part of it may only be read once there is a response.
    visitor.socket.write(request);
    return visitor;
  }
}
