/**
 * A visitor that moves one large body: `transfer-visitor.ts PORT HOST download|upload BYTES`. It prints `seconds S`, from
 * the connection's start to the last byte of the response, and fails when the response is not complete.
 */
import { connect } from 'node:net';

const [port = '', host = '', direction = '', size = ''] = process.argv.slice(2);
const bytes = Number(size);
const isUpload = direction === 'upload';
const chunk = Buffer.alloc(256 * 1024, 'culvert ');
const started = performance.now();

let head = '';
/** missing bytes of the response's body; unknown before its head */
let left: number | undefined;
let unsent = isUpload ? bytes : 0;

const socket = connect({
  port: Number(port),
  host: '127.0.0.1',
  noDelay: true,
  onread: {
    buffer: Buffer.allocUnsafe(256 * 1024),
    callback: (length, buffer) => {
      take(Buffer.from(buffer.buffer, buffer.byteOffset, length));
      return true;
    },
  },
});
socket.on('error', (error) => fail(String(error)));
socket.on('close', () => fail('the connection was closed'));
socket.write(
  isUpload
    ? `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes}\r\n\r\n`
    : `GET /${bytes} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
);
socket.on('drain', sendMore);
sendMore();

function sendMore(): void {
  while (unsent > 0) {
    const piece = unsent < chunk.length ? chunk.subarray(0, unsent) : chunk;
    unsent -= piece.length;
    if (!socket.write(piece)) return;
  }
}

function take(piece: Buffer): void {
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
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
