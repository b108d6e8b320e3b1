/**
 * What stands behind a tunnel, or between two ends of it. Each prints `listening PORT`:
 *
 * - `services.ts transfer`: `GET /BYTES` responds with that many bytes, `POST` reads a body of any `Content-Length` and
 *   then responds
 * - `services.ts distant TARGET_PORT MS`: a network with latency that forwards bytes with a delay of MS each way
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

const CHUNK = Buffer.alloc(256 * 1024, 'culvert ');
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ';

function transfer(): Server {
  return createServer({ noDelay: true }, (socket) => {
    /** missing bytes of a request body */
    let expected = 0;
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (expected === 0) {
        const head = chunk.toString('latin1', 0, chunk.indexOf('\r\n\r\n') + 4);
        const bytes = Number(/^GET \/(\d+)/.exec(head)?.[1] ?? 0);
        expected = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (chunk.length - head.length);
        if (head.startsWith('GET')) return send(socket, bytes);
      } else {
        expected -= chunk.length;
      }
      if (expected === 0) socket.write(`${OK}0\r\n\r\n`);
    });
  });
}

function send(socket: Socket, bytes: number): void {
  let left = bytes;
  socket.write(`${OK}${bytes}\r\n\r\n`);
  const pump = (): void => {
    let room = true;
    while (left > 0 && room) {
      const piece = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK;
      left -= piece.length;
      room = socket.write(piece);
    }
    if (left === 0) socket.off('drain', pump);
  };
  socket.on('drain', pump);
  pump();
}

/**
 * A TCP handshake would also take a round trip, so data counts as sent no earlier than that after the start of its
 * connection.
 */
function distant(targetPort: number, delayMs: number): Server {
  const passDelayed = (from: Socket, to: Socket, notBefore: number): void => {
    const later = (action: () => void): void => {
      setTimeout(action, Math.max(0, notBefore - performance.now()) + delayMs);
    };
    from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
    from.on('end', () => later(() => to.end()));
    from.on('error', () => {});
    from.on('close', () => later(() => to.destroy()));
  };
  return createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    const established = performance.now() + 2 * delayMs;
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    passDelayed(near, far, established);
    passDelayed(far, near, established);
  });
}

function listen(server: Server): void {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
    console.log(`listening ${(server.address() as AddressInfo).port}`);
  });
}

const [kind, first = '', second = ''] = process.argv.slice(2);
if (kind === 'transfer') listen(transfer());
else if (kind === 'distant') listen(distant(Number(first), Number(second)));
else throw new Error(`no service ${kind}`);
