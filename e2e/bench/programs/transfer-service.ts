/**
 * The local service of transfers: `GET /BYTES` responds with that many bytes, `POST` reads a body of any `Content-Length`
 * and then responds. It prints `listening PORT`.
 */
import { type AddressInfo, createServer, type Socket } from 'node:net';

const CHUNK = Buffer.alloc(256 * 1024, 'culvert ');
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ';

const server = createServer({ noDelay: true }, (socket) => {
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

server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});
