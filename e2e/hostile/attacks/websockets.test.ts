/** Clients that abuse control and data WebSockets, in ways that RFC 6455 and protocol.md do not allow or that are useless. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../support/deadline.ts';
import { formatRequest, type RawConnection, WEBSOCKET } from '../../support/raw-http.ts';
import { type Scope, suiteScope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { attackBeside, Faults, settlesWithin, watchMemory } from './attack.ts';
import { type AttackedRelay, HonestVisitor, startAttackedRelay, startHonest } from './tenants.ts';

const AT_A_TIME = 100;
const GROWTH_MIB = 100;
/** ms that the relay may take to end a connection: it waits 5 s for a Close frame, and the machine is busy. */
const CUT_MS = 20_000;
const ANNOUNCED_MS = 20_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

const FIN = 0x80;
const MASK = [1, 2, 3, 4];
const [TEXT, BINARY, CLOSE, PING] = [1, 2, 8, 9];
/** Bytes with which one socket floods at most: more than the kernel buffers for it. */
const FLOOD_BYTES = 8 * 1024 * 1024;
const PIECES = 2000;
const SLOW_MS = 50;

type Commit = (socket: Socket) => Promise<void>;

/** Violations after which the relay has to end the connection. */
const WRONG: Readonly<Record<string, Buffer>> = {
  'a reserved bit': frame(FIN | 0x20 | BINARY, 'x'),
  'a compressed message that nobody has agreed on': frame(FIN | 0x40 | TEXT, '\xaaJ\x04\0'),
  'an unknown opcode': frame(FIN | 11, 'x'),
  'a frame that is not masked': Buffer.from([FIN | BINARY, 1, 120]),
  'a ping of 126 bytes': frame(FIN | PING, 'x'.repeat(126)),
  'a continuation of nothing': frame(FIN, 'x'),
  'a message within a message': Buffer.concat([frame(BINARY, ''), frame(FIN | BINARY, 'x')]),
  'a length of 2^64 - 1': Buffer.from([FIN | BINARY, 0xff, ...Array<number>(8).fill(0xff), ...MASK]),
  'close code 1005': frame(FIN | CLOSE, '\x03\xed'),
  'a close of one byte': frame(FIN | CLOSE, '\x03'),
  'something that is no frame': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
};
const WRONG_CONTROL: Readonly<Record<string, Buffer>> = {
  ...WRONG,
  'a message that is too long': frame(FIN | TEXT, 'x'.repeat(5000)),
  'a message in pieces without an end': repeated(frame(TEXT, 'x'), frame(0, 'x'), PIECES),
};
const WRONG_DATA: Readonly<Record<string, Buffer>> = {
  ...WRONG,
  'an answer that is none': frame(FIN | BINARY, 'x\r\n\r\n'.repeat(100)),
  'a head without an end': Buffer.concat([
    frame(BINARY, 'HTTP/1.1 200 OK\r\nX: '),
    ...[0, FIN].map((last) => frame(last, 'y'.repeat(60_000))),
  ]),
};
/** What the relay must bear until the socket is no longer in use. */
const ODD: Readonly<Record<string, Commit>> = {
  silence: () => Promise.resolve(),
  'half a frame head': (socket) => write(socket, Buffer.from([FIN | BINARY])),
  'bytes one by one': async (socket) => {
    for (const byte of frame(FIN | PING, 'x'.repeat(20))) {
      await write(socket, Buffer.from([byte]));
      await delay(SLOW_MS);
    }
  },
  'empty pieces of a message': (socket) => write(socket, repeated(frame(BINARY, ''), frame(0, ''), PIECES)),
  'pings whose answers nobody reads': async (socket) => {
    socket.pause();
    const pings = repeated(Buffer.alloc(0), frame(FIN | PING, 'x'.repeat(125)), 500);
    for (let sent = 0; sent < FLOOD_BYTES && !socket.destroyed; sent += pings.length)
      await write(socket, pings);
  },
};

/** A socket of the attacker. */
interface AbusedSocket {
  readonly connection: RawConnection;
  /** Removes the relay's reason to keep it. */
  readonly release: () => Promise<void>;
}

describe('WebSockets of hostile clients', () => {
  const scope = suiteScope();

  it(`are ended or borne, ${AT_A_TIME} at a time, while visitors of other tunnels are served`, async () => {
    const attacked = await startAttackedRelay(scope, { count: AT_A_TIME, name: 'abused' });
    const { relay, front } = attacked;
    const faults = new Faults();
    const visitor = new HonestVisitor(scope, await startHonest(scope, relay), front, faults);
    const assertGrowth = watchMemory(scope, relay);
    await attackBeside(
      relay,
      visitor,
      Object.entries({ control: WRONG_CONTROL, data: WRONG_DATA }).map(([place, wrong]) => [
        `abuse of ${place} sockets`,
        async (part) => {
          const abuses = [
            ...Object.entries(wrong).map(([what, bytes]) => ({
              what,
              commit: sending(bytes),
              isWrong: true,
            })),
            ...Object.entries(ODD).map(([what, commit]) => ({ what, commit, isWrong: false })),
          ];
          const opened = await Promise.all(
            Array.from({ length: AT_A_TIME }, (_, index) => open(part, attacked, place === 'data', index)),
          );
          const abused = async (isFirst: boolean): Promise<void> => {
            await Promise.all(
              opened.map(async ({ connection, release }, index) => {
                const abuse = abuses[index % abuses.length];
                if (abuse?.isWrong !== isFirst) return;
                if (!isFirst) await release();
                if (!(await isCut(connection))) faults.add('uncut', `${place}: ${abuse.what}`);
              }),
            );
          };
          await Promise.all(
            opened.map(async ({ connection }, index) => {
              await abuses[index % abuses.length]?.commit(connection.socket);
            }),
          );
          await abused(true);
          await abused(false);
        },
      ]),
    );
    faults.assertNone();
    assertGrowth(GROWTH_MIB);
  });
});

function sending(bytes: Buffer): Commit {
  return async (socket) => await write(socket, bytes);
}

/** Opens a socket that is in use until it is released. */
async function open(
  scope: Scope,
  attacked: AttackedRelay,
  isData: boolean,
  index: number,
): Promise<AbusedSocket> {
  const { front, attacker } = attacked;
  const { id, slug } = attacked.tunnel(index);
  // Enough addresses for none to exceed its limit.
  const from = `127.0.0.${10 + (index % 20)}`;
  const upgrade = async (target: string): Promise<RawConnection> => {
    const connection = await front.open(scope, { from });
    const headers = [...WEBSOCKET, ['Authorization', `Bearer ${attacker.key}`]] as const;
    await connection.write(formatRequest({ host: SHIPPED.relayHost, target, headers }));
    const { status } = await connection.finalHead();
    if (status !== 101) throw new Error(`${target} is answered ${status}`);
    return connection;
  };
  const control = await upgrade(`/ws/control?tunnel_id=${id}`);
  // A newer one replaces it.
  if (!isData)
    return { connection: control, release: async () => void (await upgrade(`/ws/control?tunnel_id=${id}`)) };
  const visitor = await front.open(scope, { from });
  await visitor.write(formatRequest({ host: `${slug}.${SHIPPED.tunnelDomain}` }));
  let text = '';
  const announced = await eventually(ANNOUNCED_MS, async () => {
    text += (await control.reader.some())?.toString('latin1') ?? '';
    return UUID.exec(text)?.[0] ?? Promise.reject(new Error(`announced: ${text}`));
  });
  const connection = await upgrade(`/ws/data?id=${announced}`);
  return { connection, release: async () => visitor.reset() };
}

/** Whether the relay ends a connection in time. The end is only noticed while reading. */
async function isCut({ socket, ending }: RawConnection): Promise<boolean> {
  const reading = setInterval(() => socket.resume(), 100);
  const isOver = await settlesWithin(CUT_MS, ending);
  clearInterval(reading);
  return isOver;
}

/** @param first the first byte: bits and opcode */
function frame(first: number, payload: string): Buffer {
  const bytes = Buffer.from(payload, 'latin1');
  const { length } = bytes;
  const head = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.from([first, ...head, ...MASK, ...bytes.map((byte, index) => byte ^ (MASK[index % 4] ?? 0))]);
}

function repeated(first: Buffer, next: Buffer, count: number): Buffer {
  return Buffer.concat([first, ...Array<Buffer>(count).fill(next)]);
}

async function write(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed || socket.write(bytes)) return;
  // A reset by the relay also counts as an end.
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined);
}
