/**
 * Visitors of a tunnel:
 *
 * - `visitors.ts download|upload PORT HOST BYTES`: one that moves one large body. Prints `seconds S`, from the
 *   connection's start to the last byte of the response, and fails when the response is not complete.
 * - `visitors.ts downloads PORT HOST BYTES`: one that downloads the same body repeatedly, each time on a new connection,
 *   until SIGTERM. Prints `begun` with the first bytes, and `received BYTES in S` at its end.
 */
import { connect } from 'node:net';

const PIECE_BYTES = 256 * 1024;

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

function failClosed(): void {
  fail('the connection was closed');
}

function fail(why: unknown): never {
  console.error(String(why));
  process.exit(1);
}

const [kind, port = '', host = '', bytes] = process.argv.slice(2);
if (kind === 'download' || kind === 'upload') transfer(port, host, Number(bytes), kind === 'upload');
else if (kind === 'downloads') downloads(port, host, Number(bytes));
else fail(`no visitor ${kind}`);
