/** A tenant whose own client misbehaves on trunks in every way. */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { eventually } from '../../support/deadline.ts';
import { ManualClient } from '../../support/manual-client.ts';
import { Random } from '../../support/random.ts';
import { formatRequest, type RawConnection } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { openData } from '../../support/spec-client/client.ts';
import {
  Kind,
  type TrunkClient,
  type TrunkClientStream,
  trunkFrame,
} from '../../support/spec-client/trunk.ts';
import type { WebSocketClient } from '../../support/spec-client/websocket.ts';
import { sendUntilMove, WITH_TRUNKS } from '../../support/trunk-world.ts';
import { testAttack } from './attack.ts';
import { Faults, ResidentWatch, sample, settlesWithin } from './measure.ts';
import { type AttackedRelay, HonestVisitor, startAttackedRelay, startHonest } from './tenants.ts';

type Figure =
  | 'attacks'
  | 'uncut'
  | 'unborne'
  | 'endless'
  | 'growth'
  | 'sockets'
  | 'ended'
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

/* What a client may do on a trunk that protocol.md section 10 does not allow, or that is useless. */

/**
 * A trunk of a separate tunnel with its own visitors. The client is distant, so that their streams soon become large.
 */
interface Target {
  readonly trunk: TrunkClient;
  /** each has sent a request, {@link Attack.upload} bytes of which are the body, and reads everything */
  readonly visitors: readonly RawConnection[];
  /** the streams of the visitors */
  readonly streams: readonly [TrunkClientStream, ...TrunkClientStream[]];
  /** Opens another trunk of the tunnel. */
  readonly open: () => Promise<TrunkClient>;
  /** Opens the data socket of an id. */
  readonly openSocket: (id: string) => Promise<WebSocketClient>;
  /** Opens another control socket of the tunnel, which replaces the previous one. */
  readonly renew: () => Promise<void>;
}

interface Attack {
  readonly what: string;
  /** The code with which the relay has to end the trunk; `undefined` if the relay must tolerate the attack. */
  readonly code: number | undefined;
  /** Whether visitors still wait for a response. */
  readonly isOwed: boolean;
  readonly visitors: number;
  /** bytes that each visitor sends, as far as they are read */
  readonly upload: number;
  commit(target: Target): Promise<void> | void;
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: ';
/** Frames that fill a read or two. */
const MANY = 10_000;
/** Messages that each cost a system call. */
const EMPTY = 500;
/** Visitors of a trunk on which all streams end at the same time. */
const CROWD = 40;
/** More than a visitor's own buffers and those of the system hold. */
const LONG_BYTES = 64 * 1024 * 1024;
const UPLOAD_BYTES = 400_000;
const WINDOW_BYTES = 65_536;
const WINDOW_MAX_BYTES = 262_144;
const REOPENED = 40;
/** ms after which a silent client counts as gone: 10 s, and transmission. */
const SILENT_MS = 15_000;
/** ms until the relay has reported that all visitors have left. */
const ENDS_MS = 30_000;
/** An id that no visitor has. */
const UNKNOWN = 4_000_000_000;
const LAST = 0xffff_ffff;

const x = Buffer.from('x');

const ATTACKS: readonly [Attack, ...Attack[]] = [
  wrong('bytes for a stream that there never was', () => trunkFrame(Kind.data, UNKNOWN, 1, x)),
  wrong('an end for a stream that there never was', () => trunkFrame(Kind.end, UNKNOWN, 0)),
  wrong('a break of a stream that there never was', () => trunkFrame(Kind.abort, LAST, 1001)),
  wrong('a window for a stream that there never was', () => trunkFrame(Kind.window, UNKNOWN, 1)),
  wrong('a stream that it begins', (id) => trunkFrame(Kind.open, id + 1, 0)),
  wrong('a stream that it begins again', (id) => trunkFrame(Kind.open, id, 0)),
  ...Object.values(Kind).map((kind) =>
    wrong(`frames of kind ${kind} for stream 0`, () => trunkFrame(kind, 0, 0)),
  ),
  ...[9, 255].map((kind) => wrong(`frames of kind ${kind}`, (id) => trunkFrame(kind, id, 0))),
  ...[0, WINDOW_BYTES + 1, LAST].map((length) =>
    wrong(`a length of ${length}`, (id) => trunkFrame(Kind.data, id, length, x)),
  ),
  ...[0, WINDOW_MAX_BYTES + 1, LAST].map((bytes) =>
    wrong(`a window of ${bytes}`, (id) => trunkFrame(Kind.window, id, bytes)),
  ),
  wrong('a largest window, on top of the first one', (id) => trunkFrame(Kind.window, id, WINDOW_MAX_BYTES)),
  wrong('windows that are too much together', (id) =>
    repeated(WINDOW_MAX_BYTES / WINDOW_BYTES, trunkFrame(Kind.window, id, WINDOW_BYTES)),
  ),
  wrong('a move that only the relay may ask for', (id) => trunkFrame(Kind.move, id, 1, x)),
  wrong('a move that nobody has asked for', (id) => trunkFrame(Kind.moved, id, 0)),
  ...[0, 999, 1000, 1005, 1006, 5000, LAST].map((code) =>
    wrong(`a break with code ${code}`, (id) => trunkFrame(Kind.abort, id, code)),
  ),
  wrong('an end with a value', (id) => trunkFrame(Kind.end, id, 1)),
  ...Object.entries({
    bytes: (id: number) => trunkFrame(Kind.data, id, 1, x),
    ends: (id: number) => trunkFrame(Kind.end, id, 0),
    breaks: (id: number) => trunkFrame(Kind.abort, id, 1001),
    windows: (id: number) => trunkFrame(Kind.window, id, 1),
  }).map(([what, frame]) =>
    wrong(`thousands of ${what} behind the end`, (id) =>
      Buffer.concat([trunkFrame(Kind.end, id, 0), repeated(MANY, frame(id))]),
    ),
  ),
  {
    ...ofTwo('a forged id, byte by byte'),
    code: 1002,
    commit: ({ trunk }) => sendSplit(trunk, trunkFrame(Kind.end, UNKNOWN, 0)),
  },
  {
    ...ofTwo('bytes beyond the window'),
    code: 1002,
    async commit({ trunk, visitors, streams: [{ id }] }) {
      for (const { socket } of visitors) socket.pause();
      trunk.send(Kind.data, id, 19, Buffer.from('HTTP/1.1 200 OK\r\n\r\n'));
      const piece = Buffer.alloc(WINDOW_BYTES);
      await sendAll(trunk, LONG_BYTES / WINDOW_BYTES, () => trunk.send(Kind.data, id, WINDOW_BYTES, piece));
      for (const { socket } of visitors) socket.resume();
    },
  },
  {
    ...ofTwo('silence: it does not even read'),
    code: 1006,
    upload: UPLOAD_BYTES,
    async commit({ trunk }) {
      trunk.socket.answersPings = false;
      trunk.socket.pause();
      await delay(SILENT_MS);
      // The end is only noticed while reading.
      trunk.socket.resume();
    },
  },
  {
    ...ofTwo('no answers to ends, on a trunk whose control socket it replaces'),
    code: 1000,
    visitors: CROWD,
    async commit({ trunk, visitors, renew }) {
      trunk.answersEnds = false;
      for (const visitor of visitors) visitor.reset();
      await eventually(ENDS_MS, () => {
        const ends = trunk.frames.filter(({ kind }) => kind === Kind.end || kind === Kind.abort).length;
        if (ends < visitors.length) throw new Error(`${ends} of ${visitors.length} visitors have left`);
      });
      await renew();
    },
  },
  odd('a response byte by byte', 'answered', ({ trunk, streams }) => {
    for (const { id } of streams) sendSplit(trunk, dataFrame(id, `${HEAD}2\r\n\r\nok`));
  }),
  odd('a response in thousands of frames', 'answered', ({ trunk, streams }) => {
    for (const { id } of streams) {
      const body = repeated(MANY, dataFrame(id, 'x'));
      trunk.socket.send(Buffer.concat([dataFrame(id, `${HEAD}${MANY}\r\n\r\n`), body]));
    }
  }),
  odd('hundreds of empty messages', 'owed', ({ trunk }) => {
    for (let count = 0; count < EMPTY; count += 1) trunk.socket.send(Buffer.alloc(0));
  }),
  odd('a part of a frame, and nothing more', 'answered', ({ trunk, streams }) => {
    for (const { id } of streams) trunk.socket.send(dataFrame(id, `${HEAD}2\r\n\r\nok`));
    trunk.socket.send(trunkFrame(Kind.data, 1, WINDOW_BYTES).subarray(0, 5));
  }),
  {
    ...odd('ends of all visitors at once', 'answered', (target) => endAll(target, Kind.end, 0)),
    visitors: CROWD,
  },
  {
    ...odd('breaks of all visitors at once', 'answered', (target) => endAll(target, Kind.abort, 4999)),
    visitors: CROWD,
  },
  odd('a move to a data socket that never comes', 'answered', async ({ streams }) => {
    for (const stream of streams) await grow(stream);
    for (const stream of streams) stream.move();
  }),
  odd('a move to a data socket that it drops', 'answered', async ({ streams, openSocket }) => {
    for (const stream of streams) {
      const data = await openSocket(await grow(stream));
      stream.join(data);
      stream.move();
      data.drop();
    }
  }),
  odd('data sockets for moves that never take place', 'answered', async ({ streams, openSocket }) => {
    for (const stream of streams) {
      stream.join(await openSocket(await grow(stream)));
      stream.end();
    }
  }),
  { ...odd('no windows for uploads', 'owed', () => {}), upload: UPLOAD_BYTES },
  {
    ...odd('windows of a byte for uploads', 'owed', ({ streams }) => {
      for (const stream of streams) stream.grantByteByByte(MANY);
    }),
    upload: UPLOAD_BYTES,
  },
  odd('trunks that it opens and drops', 'owed', async ({ open }) => {
    for (let count = 0; count < REOPENED; count += 1) {
      const other = await open();
      other.socket.drop();
      await other.closed;
      // The relay may not have noticed yet, and then accepts no other one.
      await delay(20);
    }
  }),
];

testAttack<Figure>({
  name: 'trunks',
  title: `A tenant's client attacks the relay over trunks, with ${AT_A_TIME} attacks of each kind at a time, while other visitors are served`,
  thresholds: {
    attacks: { meaning: 'attacks', atLeast: ATTACKS.length },
    uncut: { meaning: 'trunks that stayed open, or closed with the wrong code', atMost: 0 },
    unborne: { meaning: 'trunks closed without a reason', atMost: 0 },
    endless: { meaning: "visitors of the attacker's tunnel whose connection never ended", atMost: 0 },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 100 },
    sockets: { meaning: 'additional file descriptors that the relay still held afterwards', atMost: 10 },
    ended: { meaning: 'crashes of the relay', atMost: 0 },
    served: { meaning: "other visitors' requests answered correctly", atLeast: 10 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
    strayed: { meaning: "other visitors' requests that got another request's response", atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const count = short ? ATTACKS.length : AT_A_TIME;
    // All visitors use the same address.
    const settings = { ...WITH_TRUNKS, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    const stage = new Stage(await startAttackedRelay(scope, { count, name: 'trunk', settings }));
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
        served: visitor.served,
        ...faults.counts('uncut', 'unborne', 'endless', 'unserved', 'strayed'),
      },
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

class Stage {
  readonly attacked: AttackedRelay;

  constructor(attacked: AttackedRelay) {
    this.attacked = attacked;
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
      openSocket: (id) => openData(scope, this.attacked.relay, id),
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

function ofTwo(what: string): Omit<Attack, 'code' | 'commit'> {
  return { what, isOwed: false, visitors: 2, upload: 1 };
}

/** A violation of the protocol. */
function wrong(what: string, bytes: (id: number) => Buffer): Attack {
  const commit: Attack['commit'] = ({ trunk, streams: [{ id }] }) => void trunk.socket.send(bytes(id));
  return { ...ofTwo(what), code: 1002, commit };
}

/** Not a violation of the protocol. The relay must tolerate it. */
function odd(what: string, visitors: 'owed' | 'answered', commit: Attack['commit']): Attack {
  return { ...ofTwo(what), code: undefined, isOwed: visitors === 'owed', commit };
}

function dataFrame(id: number, text: string): Buffer {
  return trunkFrame(Kind.data, id, text.length, Buffer.from(text));
}

/**
 * Sends a large response.
 *
 * @returns the id of the data socket to which the stream may move
 */
async function grow(stream: TrunkClientStream): Promise<string> {
  stream.send(`${HEAD}${LONG_BYTES}\r\n\r\n`);
  await sendUntilMove(stream);
  return await stream.mayMove();
}

function repeated(count: number, frame: Buffer): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(frame));
}

/** Sends each byte in a separate message. */
function sendSplit(trunk: TrunkClient, bytes: Buffer): void {
  for (const byte of bytes) trunk.socket.send(Buffer.from([byte]));
}

/** Ends all streams in one message. */
function endAll({ trunk, streams }: Target, kind: number, value: number): void {
  // The relay answers with its own ends.
  trunk.answersEnds = false;
  trunk.socket.send(Buffer.concat(streams.map(({ id }) => trunkFrame(kind, id, value))));
}

/** Sends a message this many times, as fast as the connection allows and as long as it is open. */
async function sendAll(trunk: TrunkClient, count: number, send: () => void): Promise<void> {
  const state = { isOpen: true };
  void trunk.closed.then(() => (state.isOpen = false));
  for (let sent = 0; sent < count && state.isOpen; sent += 1) {
    send();
    if (sent % 16 === 15) await delay(10);
  }
}
