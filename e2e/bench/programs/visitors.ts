/**
 * Visitors of a tunnel:
 *
 * - `visitors.ts echo PORT HOST CONNECTIONS SECONDS`: each sends a small message over a WebSocket, waits for its echo and
 *   sends the next. Prints `messages PER_SECOND p50 MS p99 MS`, for the time after {@link WARM_MS}.
 * - `visitors.ts download|upload PORT HOST BYTES`: one that moves one large body. Prints `seconds S`, from the
 *   connection's start to the last byte of the response, and fails when the response is not complete.
 * - `visitors.ts downloads PORT HOST BYTES`: one that downloads the same body repeatedly, each time on a new connection,
 *   until SIGTERM. Prints `begun` with the first bytes, and `received BYTES in S` at its end.
 * - `visitors.ts handshakes PORT AUTHORITY VERSION full|resumed COUNT NAMES FIRST`: several that only perform TLS
 *   handshakes. They name host `FIRST` and the following ones, cycling through `NAMES`. Prints `seconds S`.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureVersion } from 'node:tls';
import { WebSocket } from 'ws';
import { shakeHands } from '../handshakes.ts';
import { quantile } from '../stats.ts';

/** ms at the beginning that are not measured. */
const WARM_MS = 500;
const MESSAGE = Buffer.alloc(32, 'culvert ');
const PIECE_BYTES = 256 * 1024;
const HANDSHAKE_VISITORS = 16;

async function echo(port: string, host: string, connections: number, seconds: number): Promise<void> {
  /** ms from each message to its echo */
  let times: number[] = [];
  const sockets = Array.from({ length: connections }, () => {
    const options = { headers: { Host: host }, perMessageDeflate: false };
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, options);
    socket.on('error', fail);
    socket.on('close', () => fail('a WebSocket was closed'));
    return socket;
  });
  await Promise.all(sockets.map((socket) => once(socket, 'open')));
  for (const socket of sockets) {
    let sent = performance.now();
    socket.on('message', (message: Buffer) => {
      if (!message.equals(MESSAGE)) fail('an echo is not what was sent');
      const now = performance.now();
      times.push(now - sent);
      sent = now;
      socket.send(MESSAGE);
    });
    socket.send(MESSAGE);
  }
  await delay(WARM_MS);
  times = [];
  const started = performance.now();
  await delay(seconds * 1000);
  const perSecond = (times.length * 1000) / (performance.now() - started);
  console.log(`messages ${perSecond} p50 ${quantile(times, 0.5)} p99 ${quantile(times, 0.99)}`);
  process.exit(0);
}

function transfer(port: string, host: string, bytes: number, isUpload: boolean): void {
  const chunk = Buffer.alloc(PIECE_BYTES, 'culvert ');
  const started = performance.now();
  let head = '';
  /** missing bytes of the response's body; unknown before its head */
  let left: number | undefined;
  let unsent = isUpload ? bytes : 0;
  const take = (piece: Buffer): void => {
    if (left === undefined) {
      head += piece.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!head.startsWith('HTTP/1.1 200')) fail(head.slice(0, 200));
      left = (isUpload ? 0 : bytes) - (head.length - end - 4);
    } else {
      left -= piece.length;
    }
    if (left > 0) return;
    if (left < 0 || unsent > 0) fail('an answer of another length, or before the upload was complete');
    console.log(`seconds ${(performance.now() - started) / 1000}`);
    process.exit(0);
  };
  const socket = connect({
    port: Number(port),
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer: Buffer.allocUnsafe(PIECE_BYTES),
      callback: (length, buffer) => {
        take(Buffer.from(buffer.buffer, buffer.byteOffset, length));
        return true;
      },
    },
  });
  const sendMore = (): void => {
    while (unsent > 0) {
      const piece = unsent < chunk.length ? chunk.subarray(0, unsent) : chunk;
      unsent -= piece.length;
      if (!socket.write(piece)) return;
    }
  };
  socket.on('error', fail);
  socket.on('close', failClosed);
  socket.write(
    isUpload
      ? `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes}\r\n\r\n`
      : `GET /${bytes} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  );
  socket.on('drain', sendMore);
  sendMore();
}

function downloads(port: string, host: string, bytes: number): void {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  /** when the first bytes arrived, ms */
  let begun: number | undefined;
  let received = 0;
  /** The length of a response head, given the length of the first read. */
  const headLength = (length: number): number => {
    const text = buffer.toString('latin1', 0, length);
    const end = text.indexOf('\r\n\r\n');
    if (end < 0 || !text.startsWith('HTTP/1.1 200')) fail(text.slice(0, 200));
    if (begun === undefined) console.log('begun');
    begun ??= performance.now();
    return end + 4;
  };
  const download = (): void => {
    /** bytes still expected: the body, and a head that fits into the first read */
    let left: number | undefined;
    const socket = connect({
      port: Number(port),
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer,
        callback: (length) => {
          left ??= bytes + headLength(length);
          left -= length;
          received += length;
          if (left > 0) return true;
          socket.off('close', failClosed).destroy();
          download();
          return false;
        },
      },
    });
    socket.on('error', fail);
    socket.on('close', failClosed);
    socket.write(`GET /${bytes} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  };
  process.once('SIGTERM', () => {
    console.log(`received ${received} in ${(performance.now() - (begun ?? NaN)) / 1000}`);
    process.exit(0);
  });
  download();
}

async function handshakes(port: string, authority: string, args: readonly string[]): Promise<void> {
  const [version, kind, count, names, first] = args;
  const seconds = await shakeHands({
    port: Number(port),
    authority: readFileSync(authority),
    version: version as SecureVersion,
    resumes: kind === 'resumed',
    visitors: HANDSHAKE_VISITORS,
    count: Number(count),
    names: Number(names),
    first: Number(first),
  });
  console.log(`seconds ${seconds}`);
}

function failClosed(): void {
  fail('the connection was closed');
}

function fail(why: unknown): never {
  console.error(String(why));
  process.exit(1);
}

const [kind, port = '', hostOrAuthority = '', ...rest] = process.argv.slice(2);
if (kind === 'echo') await echo(port, hostOrAuthority, Number(rest[0]), Number(rest[1]));
else if (kind === 'download' || kind === 'upload')
  transfer(port, hostOrAuthority, Number(rest[0]), kind === 'upload');
else if (kind === 'downloads') downloads(port, hostOrAuthority, Number(rest[0]));
else if (kind === 'handshakes') await handshakes(port, hostOrAuthority, rest);
else fail(`no visitor ${kind}`);
