/** Visitors who attack the relay over HTTP/2, beside others who use it properly. */
import assert from 'node:assert/strict';
import { type ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { Authority } from '../../support/certificates.ts';
import { eventually } from '../../support/deadline.ts';
import {
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameConnection,
  FRAMES,
  type Http2Target,
  openHttp2,
  request,
} from '../../support/http2.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { Scope } from '../../support/scope.ts';
import { startSite } from '../../support/services/echo.ts';
import { testAttack } from './attack.ts';
import { Faults, ResidentWatch } from './measure.ts';

type Figure = 'attacks' | 'lasting' | 'growth' | 'ended' | 'served' | 'unserved';

/** Connections with each attack at a time. */
const AT_A_TIME = 20;
/** Frames that a flood consists of, in pieces of as many frames. */
const FLOOD_PIECES = 300;
const PIECE_FRAMES = 100;
/** ms between two requests of the visitor who uses it properly. */
const BREATH_MS = 50;
/** ms after which the relay has closed all connections that flooded it, also on a busy machine. */
const CALM_MS = 30_000;

interface Attack {
  readonly what: string;
  /** Whether the relay must end the connection itself. */
  readonly isCut: boolean;
  commit(connection: FrameConnection, stage: Stage, random: Random): Promise<void>;
}

class Stage {
  readonly relay: Relay;
  readonly target: Http2Target;
  readonly host: string;

  private constructor(relay: Relay, target: Http2Target, host: string) {
    this.relay = relay;
    this.target = target;
    this.host = host;
  }

  static async start(scope: Scope): Promise<Stage> {
    const authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    const relay = await Relay.start(scope, {
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    });
    const { port } = await startSite(scope);
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    const { tunnel }: { tunnel: Tunnel } = await Culvert.start(
      scope,
      relay,
      relay.bootstrapKey,
      port,
      [],
      environment,
    );
    const servername = `${tunnel.slug}.tunnels.test`;
    return new Stage(
      relay,
      { port: relay.port, ca: authority.pem, servername },
      `${servername}:${relay.port}`,
    );
  }

  head(path = '/'): Buffer {
    return block([
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', this.host],
      [':path', path],
    ]);
  }
}

async function flood(connection: FrameConnection, next: () => Buffer): Promise<void> {
  for (let count = 0; count < FLOOD_PIECES && !connection.closed; count += 1) {
    connection.write(Buffer.concat(Array.from({ length: PIECE_FRAMES }, next)));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function flooding(what: string, isCut: boolean, frames: (stage: Stage) => () => Buffer): Attack {
  return {
    what,
    isCut,
    async commit(connection, stage) {
      // It reads nothing, so that responses pile up.
      connection.socket.pause();
      await flood(connection, frames(stage));
      connection.socket.resume();
    },
  };
}

const ids = (): (() => number) => {
  let id = -1;
  return () => (id += 2);
};

const ATTACKS: readonly Attack[] = [
  flooding('pings', true, () => () => frame(FRAMES.ping, 0, 0, Buffer.alloc(8))),
  flooding('settings', true, () => () => frame(FRAMES.settings, 0, 0)),
  flooding('opened and reset streams', true, (stage) => {
    const next = ids();
    return () => {
      const id = next();
      return Buffer.concat([
        frame(FRAMES.headers, END_HEADERS | END_STREAM, id, stage.head()),
        frame(FRAMES.reset, 0, id, Buffer.from([0, 0, 0, 8])),
      ]);
    };
  }),
  flooding('empty DATA', true, (stage) => {
    let isFirst = true;
    return () => {
      const opening = isFirst ? frame(FRAMES.headers, END_HEADERS, 1, stage.head()) : Buffer.alloc(0);
      isFirst = false;
      return Buffer.concat([opening, frame(FRAMES.data, 0, 1)]);
    };
  }),
  flooding('malformed requests', true, () => {
    const next = ids();
    return () => frame(FRAMES.headers, END_HEADERS | END_STREAM, next(), block([[':method', 'GET']]));
  }),
  flooding('a head without an end', true, (stage) => {
    let count = 0;
    return () => {
      count += 1;
      return count === 1
        ? frame(FRAMES.headers, 0, 1, stage.head())
        : frame(FRAMES.continuation, 0, 1, block([[`x-${count}`, 'a'.repeat(100)]]));
    };
  }),
  flooding('priorities', false, () => {
    const next = ids();
    return () => frame(FRAMES.priority, 0, next(), Buffer.from([0, 0, 0, 0, 1]));
  }),
  {
    what: '100 downloads that are not read',
    isCut: false,
    async commit(connection, stage) {
      // All windows are as large as possible.
      connection.write(frame(FRAMES.settings, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])));
      connection.write(frame(FRAMES.windowUpdate, 0, 0, Buffer.from([0x7f, 0xfe, 0, 0])));
      connection.socket.pause();
      const next = ids();
      for (let count = 0; count < 100; count += 1)
        connection.write(
          frame(FRAMES.headers, END_HEADERS | END_STREAM, next(), stage.head('/bytes/20000000')),
        );
      await delay(3000);
      connection.socket.destroy();
    },
  },
  {
    what: 'random frames',
    isCut: false,
    async commit(connection, stage, random) {
      const next = ids();
      for (let count = 0; count < 300 && !connection.closed; count += 1) {
        const payload =
          random.below(2) === 0 ? stage.head() : Buffer.alloc(random.below(64), random.below(256));
        const stream = random.below(3) === 0 ? random.below(20) : next();
        connection.write(frame(random.below(11), random.below(256), stream, mutated(payload, random)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      connection.socket.destroy();
    },
  },
];

function mutated(payload: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(payload);
  for (let count = random.below(4); count > 0 && bytes.length > 0; count -= 1)
    bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

testAttack<Figure>({
  name: 'http2',
  title: `Visitors attack the relay over HTTP/2, ${AT_A_TIME} connections with each attack at a time, while another one is served`,
  thresholds: {
    attacks: { meaning: 'attacks', atLeast: ATTACKS.length },
    lasting: { meaning: 'connections that flooded the relay and stayed open', atMost: 0 },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 250 },
    ended: { meaning: 'crashes of the relay', atMost: 0 },
    served: { meaning: "another visitor's requests answered correctly", atLeast: ATTACKS.length },
    unserved: { meaning: "another visitor's requests without their own response", atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const stage = await Stage.start(scope);
    const faults = new Faults();
    const watch = new ResidentWatch(scope, stage.relay.child.pid);
    const session = await openHttp2(scope, stage.target);
    const count = short ? 2 : AT_A_TIME;
    const visitor = { served: 0, isOver: false };
    const asking = keepAsking(session, stage, faults, visitor);
    for (const [index, attack] of ATTACKS.entries()) {
      const attackScope = new Scope();
      const before = visitor.served;
      try {
        const connections = await Promise.all(
          Array.from({ length: count }, () => FrameConnection.open(attackScope, stage.target)),
        );
        await Promise.all(
          connections.map(async (connection, at) => {
            await attack.commit(connection, stage, new Random(seed, index, at));
            if (attack.isCut) await assertCut(connection, attack, faults);
          }),
        );
        // The visitor shares this program's event loop with the attackers.
        await eventually(CALM_MS, () => assert.ok(visitor.served > before)).catch(() =>
          faults.add('unserved', `beside ${attack.what}`),
        );
      } finally {
        await attackScope.end();
      }
      say(`${attack.what}: ${Math.round(watch.growthMib)} MiB more at the most so far`);
    }
    visitor.isOver = true;
    await asking;
    return {
      figures: {
        attacks: ATTACKS.length * count,
        growth: watch.growthMib,
        ended: stage.relay.child.hasExited ? 1 : 0,
        served: visitor.served,
        ...faults.counts('lasting', 'unserved'),
      },
      faults: faults.first,
    };
  },
});

async function assertCut(connection: FrameConnection, { what }: Attack, faults: Faults): Promise<void> {
  await eventually(CALM_MS, () => {
    if (!connection.closed) throw new Error('open');
  }).catch(() => faults.add('lasting', what));
}

async function keepAsking(
  session: ClientHttp2Session,
  { host }: Stage,
  faults: Faults,
  visitor: { served: number; readonly isOver: boolean },
): Promise<void> {
  for (let count = 0; !visitor.isOver; count += 1) {
    const path = `/own-${count}`;
    try {
      const { status, text } = await request(session, { ':path': path, ':authority': host });
      if (status === 200 && (JSON.parse(text) as { url: string }).url === path) visitor.served += 1;
      else faults.add('unserved', `${path}: ${status} ${text.slice(0, 200)}`);
    } catch (error) {
      faults.add('unserved', `${path}: ${String(error)}`);
      if (session.closed || session.destroyed) break;
    }
    await delay(BREATH_MS);
  }
}
