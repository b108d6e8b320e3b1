/** A server of `node:tls` with one certificate and nothing behind it: `tls-server.ts CERTIFICATE KEY`. It prints `listening PORT`. */
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

const [cert = '', key = ''] = process.argv.slice(2);
const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (socket) => {
  socket.on('error', () => socket.destroy());
  // Ends when the visitor does.
  socket.resume();
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => {
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});
