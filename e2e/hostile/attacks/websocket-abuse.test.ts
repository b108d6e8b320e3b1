import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../support/deadline.ts';
import { Random } from '../../support/random.ts';
import { type Field, formatRequest, type RawConnection, WEBSOCKET } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, ResidentWatch, settlesWithin } from './measure.ts';
import { type AttackedRelay, HonestVisitor, startAttackedRelay, startHonest } from './tenants.ts';

type Figure = 'growth' | 'uncut' | 'sockets' | 'served' | 'unserved' | 'strayed' | 'ended';

const AT_A_TIME = 200;
/**
 * ms that the relay may take to end a connection: it waits 5 s for the other end's Close frame, and the machine is
 * busy.
 */
const CUT_MS = 20_000;
const PLACES: readonly Place[] = ['control', 'data'];

testAttack<Figure>({
  name: 'websocket-abuse',
  title: `Clients abuse control and data WebSockets, ${AT_A_TIME} at a time`,
  thresholds: {
    sockets: { meaning: 'WebSockets used for abuse', atLeast: PLACES.length * AT_A_TIME },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 100 },
    uncut: { meaning: 'abusive WebSockets that stayed open', atMost: 0 },
    ended: { meaning: 'crashes of the relay', atMost: 0 },
    served: { meaning: "other visitors' requests answered correctly", atLeast: 10 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
    strayed: { meaning: "other visitors' requests that got another request's response", atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
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
      faults: faults.first,
    };
  },
});

interface Wave {
  readonly place: Place;
  /** assigned to the sockets in turn */
  readonly abuses: readonly [Abuse, ...Abuse[]];
}

/** Each kind of abuse, on all sockets at the same time. */
function each(): Wave[] {
  return PLACES.flatMap((place) => of(place).map((one): Wave => ({ place, abuses: [one] })));
}

/** All kinds at the same time, each socket starting with a different one. */
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
  // The end is only noticed while reading.
  const reading = setInterval(() => socket.resume(), 100);
  const isOver = await settlesWithin(CUT_MS, connection.ending);
  clearInterval(reading);
  return isOver;
}

/* What a client may do with a WebSocket that RFC 6455 and protocol.md do not allow, or that is useless. */

/** The kinds of a client's WebSockets to the relay. */
export type Place = 'control' | 'data';

export interface Abuse {
  readonly what: string;
  readonly places: readonly Place[];
  /** `now`: the relay has to end the connection by itself; `released`: once it is no longer needed */
  readonly cut: 'now' | 'released';
  commit(socket: Socket): Promise<void>;
}

const EVERYWHERE: readonly Place[] = ['control', 'data'];
const FIN = 0x80;
const MASKED = 0x80;
const MASK = Buffer.from([1, 2, 3, 4]);
const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;
const PING = 9;
/** Bytes with which one socket floods at most: more than the kernel buffers for it. */
const FLOOD_BYTES = 8 * 1024 * 1024;
const SLOW_BYTES = 20;
const SLOW_MS = 50;

export const ABUSES: readonly Abuse[] = [
  ...[0x40, 0x20, 0x10].map((bit) => wrong(`reserved bit ${bit}`, frame(FIN | bit | BINARY, 'x'))),
  wrong('a compressed message that nobody has agreed on', frame(FIN | 0x40 | TEXT, '\xaaJ\x04\0')),
  ...[3, 7, 11, 15].map((opcode) => wrong(`opcode ${opcode}`, frame(FIN | opcode, 'x'))),
  wrong('a frame that is not masked', Buffer.from([FIN | BINARY, 1, 120])),
  wrong('a fragmented ping', frame(PING, 'x')),
  wrong('a ping of 126 bytes', frame(FIN | PING, 'x'.repeat(126))),
  wrong('a continuation of nothing', frame(FIN, 'x')),
  wrong('a message within a message', Buffer.concat([frame(BINARY, ''), frame(FIN | BINARY, 'x')])),
  wrong('a length of 2^63', Buffer.from([FIN | BINARY, MASKED | 127, 0x80, 0, 0, 0, 0, 0, 0, 0, ...MASK])),
  wrong(
    'a length of 2^64 - 1',
    Buffer.from([FIN | BINARY, MASKED | 127, ...Array<number>(8).fill(0xff), ...MASK]),
  ),
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 2999].map((code) =>
    wrong(`close code ${code}`, frame(FIN | CLOSE, String.fromCharCode(code >> 8, code & 0xff))),
  ),
  wrong('a close of one byte', frame(FIN | CLOSE, '\x03')),
  wrong('a close of 126 bytes', frame(FIN | CLOSE, '\x03\xe8'.padEnd(126, 'x'))),
  wrong('something that is no frame', Buffer.from('GET / HTTP/1.1\r\n\r\n')),
  wrong('a message that is too long', frame(FIN | TEXT, 'x'.repeat(5000)), ['control']),
  wrong('a message in pieces without an end', pieces(5000), ['control']),
  wrong('a text that is not UTF-8', frame(FIN | TEXT, '\xff\xfe'), ['control']),
  wrong('a length of 1 GiB', Buffer.from([FIN | TEXT, MASKED | 127, 0, 0, 0, 0, 0x40, 0, 0, 0, ...MASK]), [
    'control',
  ]),
  wrong('an answer that is none', frame(FIN | BINARY, 'x\r\n\r\n'.repeat(100)), ['data']),
  wrong('a head without an end', frame(FIN | BINARY, `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(100_000)}`), [
    'data',
  ]),
  odd('silence', () => Promise.resolve()),
  odd('half a frame head', (socket) => write(socket, Buffer.from([FIN | BINARY]))),
  odd('bytes one by one', slowly),
  odd('empty pieces of a message', (socket) =>
    write(socket, repeated(frame(BINARY, ''), frame(0, ''), 2000)),
  ),
  odd('pings whose answers nobody reads', flood),
  odd('a stop in the middle of a message', (socket) => write(socket, frame(BINARY, 'H')), ['data']),
];

/** A violation of the protocol. */
function wrong(what: string, bytes: Buffer, places = EVERYWHERE): Abuse {
  return { what, places, cut: 'now', commit: (socket) => write(socket, bytes) };
}

/** Not a violation of the protocol. The relay must tolerate it as long as the socket is in use. */
function odd(what: string, commit: Abuse['commit'], places = EVERYWHERE): Abuse {
  return { what, places, cut: 'released', commit };
}

/** @param first the first byte: bits and opcode */
function frame(first: number, payload: string): Buffer {
  const bytes = Buffer.from(payload, 'latin1');
  const length =
    bytes.length < 126
      ? [MASKED | bytes.length]
      : bytes.length < 65_536
        ? [MASKED | 126, bytes.length >> 8, bytes.length & 0xff]
        : [
            MASKED | 127,
            0,
            0,
            0,
            0,
            bytes.length >>> 24,
            bytes.length >>> 16,
            bytes.length >>> 8,
            bytes.length,
          ];
  const masked = bytes.map((byte, index) => byte ^ (MASK[index % 4] ?? 0));
  return Buffer.concat([Buffer.from([first, ...length.map((byte) => byte & 0xff)]), MASK, masked]);
}

function pieces(count: number): Buffer {
  return repeated(frame(TEXT, 'x'), frame(0, 'x'), count);
}

function repeated(first: Buffer, next: Buffer, count: number): Buffer {
  return Buffer.concat([first, ...Array<Buffer>(count).fill(next)]);
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed || socket.write(bytes)) return;
  // A reset by the relay also counts as an end.
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
}

async function slowly(socket: Socket): Promise<void> {
  for (const byte of frame(FIN | PING, 'x'.repeat(SLOW_BYTES))) {
    await write(socket, Buffer.from([byte]));
    await delay(SLOW_MS);
  }
}

async function flood(socket: Socket): Promise<void> {
  socket.pause();
  const pings = repeated(frame(FIN | PING, 'x'.repeat(125)), frame(FIN | PING, 'x'.repeat(125)), 500);
  for (let sent = 0; sent < FLOOD_BYTES && !socket.destroyed; sent += pings.length)
    await write(socket, pings);
}

/* A relay with many tunnels of an attacker, and sockets of both kinds on them. */

/** Source addresses, enough for none to exceed its limit. */
const ADDRESSES = 20;
const ANNOUNCED_MS = 20_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** A socket of the attacker, and its purpose. */
export interface AbusedSocket {
  readonly connection: RawConnection;
  /** Removes the relay's reason to keep it. */
  release(): Promise<void>;
}

export class Stage {
  readonly attacked: AttackedRelay;

  private constructor(attacked: AttackedRelay) {
    this.attacked = attacked;
  }

  /** @param count of tunnels, each for one socket at a time */
  static async start(scope: Scope, count: number): Promise<Stage> {
    return new Stage(await startAttackedRelay(scope, { count, name: 'abused' }));
  }

  /** Opens a socket that is in use until it is released. */
  async open(scope: Scope, place: Place, index: number): Promise<AbusedSocket> {
    const tunnel = this.attacked.tunnel(index);
    const control = await this.#connect(scope, index, `/ws/control?tunnel_id=${tunnel.id}`);
    if (place === 'control') {
      // A newer one replaces it.
      return { connection: control, release: async () => void (await this.open(scope, 'control', index)) };
    }
    const visitor = await this.attacked.front.open(scope, { from: address(index) });
    await visitor.write(formatRequest({ host: `${tunnel.slug}.${SHIPPED.tunnelDomain}` }));
    const connection = await this.#connect(scope, index, `/ws/data?id=${await announced(control)}`);
    return { connection, release: async () => visitor.reset() };
  }

  async #connect(scope: Scope, index: number, target: string): Promise<RawConnection> {
    const connection = await this.attacked.front.open(scope, { from: address(index) });
    const headers = [['Authorization', `Bearer ${this.attacked.attacker.key}`]] as const;
    await upgrade(connection, { host: SHIPPED.relayHost, target, headers });
    return connection;
  }
}

function address(index: number): string {
  return `127.0.0.${10 + (index % ADDRESSES)}`;
}

/** The id of the next connection announced on a control socket. */
async function announced({ reader }: RawConnection): Promise<string> {
  let text = '';
  const read = async (): Promise<string> => {
    for (;;) {
      const id = UUID.exec(text)?.[0];
      if (id !== undefined) return id;
      text += (await reader.some())?.toString('latin1') ?? '';
    }
  };
  return await within(ANNOUNCED_MS, 'announcement', read());
}

/**
 * Turns a connection into a WebSocket, and leaves its frames to the caller.
 *
 * @throws Error for any response but 101
 */
export async function upgrade(
  connection: RawConnection,
  request: { readonly host: string; readonly target: string; readonly headers?: readonly Field[] },
): Promise<void> {
  const { host, target, headers = [] } = request;
  await connection.write(formatRequest({ host, target, headers: [...WEBSOCKET, ...headers] }));
  const head = await connection.finalHead();
  if (head.status !== 101) throw new Error(`${target} answered ${head.status}`);
}
