/**
 * Control sockets that only answer pings, for tunnels without traffic: `idle-clients.ts PORT KEY`, tunnel ids as lines on
 * standard input. It prints `online COUNT` when all are open.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

/** How many sockets are being opened at a time, so that no backlog overflows. */
const OPENING_MAX = 100;
const PING = 0x89;
/** A pong without payload, masked with the key 0 (RFC 6455 section 5.5.3). */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

const [port = '', key = ''] = process.argv.slice(2);
const ids: string[] = [];
for await (const line of createInterface({ input: process.stdin })) ids.push(line);
let online = 0;
const openers = Array.from({ length: OPENING_MAX }, async () => {
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
    await open(id);
    online += 1;
  }
});
await Promise.all(openers);
console.log(`online ${online}`);

/** Resolves when the relay has responded with 101; any other response and any end of a socket ends the program. */
function open(id: string): Promise<void> {
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', fail);
  socket.on('close', () => fail('a control socket was closed'));
  socket.write(
    `GET /ws/control?tunnel_id=${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  return new Promise((resolve) => {
    socket.once('data', (response: Buffer) => {
      if (!response.toString('latin1').startsWith('HTTP/1.1 101')) fail(response.toString('latin1'));
      socket.on('data', (frame: Buffer) => {
        if (frame[0] === PING) socket.write(PONG);
      });
      resolve();
    });
  });
}

function fail(why: unknown): never {
  console.error(why);
  process.exit(1);
}
