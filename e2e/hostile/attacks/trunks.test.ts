/** Tenants whose own clients misbehave on trunks in every way (protocol.md section 10). */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../support/deadline.ts';
import { ManualClient } from '../../support/manual-client.ts';
import { familyOf, openFilesOf } from '../../support/processes.ts';
import { Random } from '../../support/random.ts';
import { formatRequest, type RawConnection } from '../../support/raw-http.ts';
import { type Scope, suiteScope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { openData } from '../../support/spec-client/client.ts';
import {
  Kind,
  type TrunkClient,
  type TrunkClientStream,
  trunkFrame,
} from '../../support/spec-client/trunk.ts';
import type { WebSocketClient } from '../../support/spec-client/websocket.ts';
import { ok, sendUntilMove, WITH_TRUNKS } from '../../support/trunk-world.ts';
import { attackBeside, Faults, sample, SEED, settlesWithin, watchMemory } from './attack.ts';
import { type AttackedRelay, HonestVisitor, startAttackedRelay, startHonest } from './tenants.ts';

/** ms until a visitor has come, its connection has ended, a bad trunk is closed, and the relay has released everything. */
const PATIENCE_MS = 30_000;
/** ms within which a violation ends its trunk, unless the machine is very busy. */
const BORNE_MS = 1000;
/** ms after which a silent client counts as gone: 10 s, and transmission. */
const SILENT_MS = 15_000;
const GROWTH_MIB = 100;
/** Descriptors that the relay may hold afterwards in addition to those before. */
const DESCRIPTORS = 10;

/** Frames that fill a read or two. */
const MANY = 10_000;
/** Messages that each cost a system call. */
const EMPTY = 500;
/** Visitors of a trunk on which all streams end at the same time. */
const CROWD = 40;
const REOPENED = 40;
/** More than a visitor's own buffers and those of the system hold. */
const LONG = 'HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n';
const UPLOAD_BYTES = 400_000;
const WINDOW_BYTES = 65_536;
/** An id that no visitor has. */
const UNKNOWN = 4_000_000_000;

/** A trunk of a separate tunnel whose visitors have all sent a request, and read everything. */
interface Target {
  readonly trunk: TrunkClient;
  readonly visitors: readonly RawConnection[];
  readonly streams: readonly TrunkClientStream[];
  /** Opens another trunk of the tunnel. */
  readonly open: () => Promise<TrunkClient>;
  readonly openSocket: (id: string) => Promise<WebSocketClient>;
  /** Opens another control socket of the tunnel, which replaces the previous one. */
  readonly renew: () => Promise<void>;
}

interface Attack {
  /** The code with which the relay has to end the trunk; without one it must bear the attack. */
  readonly code?: number;
  /** Whether visitors still wait for a response. */
  readonly isOwed?: boolean;
  /** 2 by default */
  readonly visitors?: number;
  /** bytes that each visitor sends, as far as they are read */
  readonly upload?: number;
  commit(target: Target): Promise<void> | void;
}

/** Those of single frames that are forbidden are in shared/trunk. */
const ATTACKS: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    Object.entries({
      bytes: (id: number) => data(id, 'x'),
      ends: (id: number) => trunkFrame(Kind.end, id, 0),
      breaks: (id: number) => trunkFrame(Kind.abort, id, 1001),
      windows: (id: number) => trunkFrame(Kind.window, id, 1),
    }).map(([what, frame]): [string, Attack] => [
      `thousands of ${what} behind the end`,
      {
        code: 1002,
        commit({ trunk, streams }) {
          const { id = 0 } = streams[0] ?? {};
          trunk.socket.send(Buffer.concat([trunkFrame(Kind.end, id, 0), repeated(MANY, frame(id))]));
        },
      },
    ]),
  ),
  'a forged id, byte by byte': {
    code: 1002,
    commit: ({ trunk }) => sendSplit(trunk, trunkFrame(Kind.end, UNKNOWN, 0)),
  },
  'silence: it does not even read': {
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
  'no answers to ends, on a trunk whose control socket it replaces': {
    code: 1000,
    visitors: CROWD,
    async commit({ trunk, visitors, renew }) {
      trunk.answersEnds = false;
      for (const visitor of visitors) visitor.reset();
      await eventually(PATIENCE_MS, () => {
        const ends = trunk.frames.filter(({ kind }) => kind === Kind.end || kind === Kind.abort);
        assert.ok(ends.length >= visitors.length, `${ends.length} of ${visitors.length} visitors have left`);
      });
      await renew();
    },
  },
  'a response byte by byte': {
    commit({ trunk, streams }) {
      for (const { id } of streams) sendSplit(trunk, data(id, ok('ok')));
    },
  },
  'a response in thousands of frames': {
    commit({ trunk, streams }) {
      for (const { id } of streams) {
        const head = data(id, `HTTP/1.1 200 OK\r\nContent-Length: ${MANY}\r\n\r\n`);
        trunk.socket.send(Buffer.concat([head, repeated(MANY, data(id, 'x'))]));
      }
    },
  },
  'hundreds of empty messages': {
    isOwed: true,
    commit({ trunk }) {
      for (let count = 0; count < EMPTY; count += 1) trunk.socket.send(Buffer.alloc(0));
    },
  },
  'a part of a frame, and nothing more': {
    commit({ trunk, streams }) {
      for (const { id } of streams) trunk.socket.send(data(id, ok('ok')));
      trunk.socket.send(trunkFrame(Kind.data, 1, WINDOW_BYTES).subarray(0, 5));
    },
  },
  'ends of all visitors at once': { visitors: CROWD, commit: (target) => endAll(target, Kind.end, 0) },
  'breaks of all visitors at once': { visitors: CROWD, commit: (target) => endAll(target, Kind.abort, 4999) },
  'a move to a data socket that never comes': {
    async commit({ streams }) {
      for (const stream of streams) await grow(stream);
      for (const stream of streams) stream.move();
    },
  },
  'a move to a data socket that it drops': {
    async commit({ streams, openSocket }) {
      for (const stream of streams) {
        const socket = await openSocket(await grow(stream));
        stream.join(socket);
        stream.move();
        socket.drop();
      }
    },
  },
  'data sockets for moves that never take place': {
    async commit({ streams, openSocket }) {
      for (const stream of streams) {
        stream.join(await openSocket(await grow(stream)));
        stream.end();
      }
    },
  },
  'no windows for uploads': { isOwed: true, upload: UPLOAD_BYTES, commit: () => {} },
  'windows of a byte for uploads': {
    isOwed: true,
    upload: UPLOAD_BYTES,
    commit({ streams }) {
      for (const stream of streams) stream.grantByteByByte(MANY);
    },
  },
  'trunks that it opens and drops': {
    isOwed: true,
    async commit({ open }) {
      for (let count = 0; count < REOPENED; count += 1) {
        const other = await open();
        other.socket.drop();
        await other.closed;
      }
    },
  },
};

describe('trunks of hostile clients', () => {
  const scope = suiteScope();

  it('are ended or borne, all kinds together, while visitors of other tunnels are served', async () => {
    const attacks = sample(Object.entries(ATTACKS), Infinity, new Random(SEED));
    // All visitors use the same address.
    const settings = { ...WITH_TRUNKS, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    const attacked = await startAttackedRelay(scope, { count: attacks.length, name: 'trunk', settings });
    const { relay } = attacked;
    const faults = new Faults();
    const visitor = new HonestVisitor(scope, await startHonest(scope, relay), attacked.front, faults);
    await visitor.ask('before everything');
    const descriptors = (): number => openFilesOf(...familyOf(relay.child.pid)).length;
    const before = descriptors();
    const assertGrowth = watchMemory(scope, relay);
    await attackBeside(relay, visitor, [
      [
        'all attacks',
        async (part) => {
          const targets = attacks.map(([, attack], index) => openTarget(part, attacked, index, attack));
          const opened = await Promise.all(targets);
          await Promise.all(
            opened.map(async (target, index) => {
              const [what, attack] = attacks[index] ?? assert.fail();
              await assertEnd(what, attack, target, faults);
            }),
          );
        },
      ],
    ]);
    await eventually(PATIENCE_MS, () =>
      assert.ok(descriptors() <= before + DESCRIPTORS, `${descriptors()} descriptors, ${before} before`),
    );
    faults.assertNone();
    assertGrowth(GROWTH_MIB);
  });
});

async function assertEnd(what: string, attack: Attack, target: Target, faults: Faults): Promise<void> {
  const { trunk, streams, visitors } = target;
  await attack.commit(target);
  if (attack.isOwed === true) for (const stream of streams) stream.send(ok('ok'));
  const hasEnded = await settlesWithin(attack.code === undefined ? BORNE_MS : PATIENCE_MS, trunk.closed);
  const code = hasEnded ? (await trunk.closed).code : undefined;
  if (code !== attack.code) faults.add('ends', `${what}: ${code ?? 'open'}`);
  const ends = visitors.map((visitor) => settlesWithin(PATIENCE_MS, visitor.response()));
  if ((await Promise.all(ends)).includes(false)) faults.add('endless', what);
}

/** Opens a trunk of a tunnel, with visitors. The client is distant, so that their streams soon become large. */
async function openTarget(
  scope: Scope,
  attacked: AttackedRelay,
  index: number,
  { visitors: count = 2, upload = 1 }: Attack,
): Promise<Target> {
  const { relay, attacker, front } = attacked;
  const tunnel = attacked.tunnel(index);
  const client = await ManualClient.adopt(scope, relay, attacker, tunnel);
  const trunk = await client.trunk({ isFar: true });
  trunk.grants = false;
  const come = Array.from({ length: count }, async () => {
    const visitor = await front.open(scope);
    const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    // A request that must not be repeated: if its trunk is lost, the visitor gets an error immediately. Part of it may
    // only be read once there is a response.
    visitor.socket.write(formatRequest({ host, method: 'POST', body: Buffer.alloc(upload, 'x') }));
    return visitor;
  });
  const streams: TrunkClientStream[] = [];
  while (streams.length < count) {
    const stream = await trunk.accept(PATIENCE_MS);
    await stream.receivedUpTo('\r\n\r\n', PATIENCE_MS);
    streams.push(stream);
  }
  return {
    trunk,
    visitors: await Promise.all(come),
    streams,
    // One that has just ended may still be counted.
    open: () => eventually(PATIENCE_MS, () => client.trunk()),
    openSocket: (id) => openData(scope, relay, id),
    renew: () => client.reconnect(),
  };
}

function data(id: number, text: string): Buffer {
  return trunkFrame(Kind.data, id, text.length, Buffer.from(text));
}

/**
 * Sends a large response.
 *
 * @returns the id of the data socket to which the stream may move
 */
async function grow(stream: TrunkClientStream): Promise<string> {
  stream.send(LONG);
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
