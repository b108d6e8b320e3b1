/**
 * A visitor that downloads the same body repeatedly, each time on a new connection, until SIGTERM: `endless-download.ts
 * PORT HOST BYTES`. Prints `begun` with the first bytes, and `received BYTES in S` at its end.
 */
import { connect } from 'node:net';

const [port = '', host = '', size = ''] = process.argv.slice(2);
const buffer = Buffer.allocUnsafe(256 * 1024);
/** when the first bytes arrived, ms */
let begun: number | undefined;
let received = 0;

download();
process.once('SIGTERM', () => {
  console.log(`received ${received} in ${(performance.now() - (begun ?? NaN)) / 1000}`);
  process.exit(0);
});

function download(): void {
  /** bytes still expected: the body, and a head that fits into the first read */
  let left: number | undefined;
  const socket = connect({
    port: Number(port),
    host: '127.0.0.1',
    noDelay: true,
    onread: {
      buffer,
      callback: (length) => {
        left ??= Number(size) + headLength(length);
        left -= length;
        received += length;
        if (left > 0) return true;
        socket.off('close', failClosed).destroy();
        download();
        return false;
      },
    },
  });
  socket.on('error', (error) => fail(String(error)));
  socket.on('close', failClosed);
  socket.write(`GET /${size} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
}

/** The length of a response head, given the length of the first read. */
function headLength(length: number): number {
  const text = buffer.toString('latin1', 0, length);
  const end = text.indexOf('\r\n\r\n');
  if (end < 0 || !text.startsWith('HTTP/1.1 200')) fail(text.slice(0, 200));
  if (begun === undefined) console.log('begun');
  begun ??= performance.now();
  return end + 4;
}

function failClosed(): void {
  fail('the connection was closed');
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
