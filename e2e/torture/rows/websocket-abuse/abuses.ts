/** Things a client may do with a WebSocket that RFC 6455 and the contract do not allow, or that nobody needs. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A WebSocket that a client has to the relay. */
export type Place = 'control' | 'data';

export interface Abuse {
  readonly what: string;
  readonly places: readonly Place[];
  /** `now`: the relay has to end the connection by itself; `released`: once nobody needs it any more */
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
/** Bytes that one socket floods at most: more than the kernel buffers for it. */
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

/** Against the protocol. */
function wrong(what: string, bytes: Buffer, places = EVERYWHERE): Abuse {
  return { what, places, cut: 'now', commit: (socket) => write(socket, bytes) };
}

/** Not against the protocol; the relay must bear it for as long as the socket is in use. */
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
  // A reset by the relay counts as an end, too.
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
