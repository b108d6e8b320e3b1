/**
 * Clients of tunnels without traffic: `idle-clients.ts PORT KEY`, with tunnel ids as lines on standard input. Each has
 * a control socket on which it only answers pings. Every second client opens a trunk, as `culvert` does, which the
 * relay closes after a while. If all did, 10,000 would need more file descriptors than many systems allow a process.
 * Prints `online COUNT` when all are open, and `quiet` when all trunks are closed.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** How many sockets are being opened at a time, so that no backlog overflows. */
const OPENING_MAX = 100;
const PING = 0x89;
/** A pong without payload, masked with the key 0 (RFC 6455 section 5.5.3). */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const CLOSE = 0x88;
/** A close with 1000, masked with the key 0. */
const CLOSED = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

const [port = '', key = ''] = process.argv.slice(2);
const ids: string[] = [];
for await (const line of createInterface({ input: process.stdin })) ids.push(line);
const count = ids.length;
/** trunks that are open or opening */
let trunks = 0;
const openers = Array.from({ length: OPENING_MAX }, async () => {
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
    const opensTrunk = ids.length % 2 === 0;
    const control = await open(`/ws/control?tunnel_id=${id}`);
    control.on('close', () => fail('a control socket was closed'));
    if (!opensTrunk) continue;
    trunks += 1;
    closeInTurn(await open(`/ws/trunk?tunnel_id=${id}`));
  }
});
await Promise.all(openers);
console.log(`online ${count}`);

/** Resolves when the relay has responded with 101; any other response and any error ends the program. Answers pings. */
function open(path: string): Promise<Socket> {
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', fail);
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  return new Promise((resolve) => {
    socket.once('data', (response: Buffer) => {
      if (!response.toString('latin1').startsWith('HTTP/1.1 101')) fail(response.toString('latin1'));
      socket.on('data', (frame: Buffer) => {
        if (frame[0] === PING) socket.write(PONG);
      });
      resolve(socket);
    });
  });
}

/** Closes a trunk when the relay does. */
function closeInTurn(trunk: Socket): void {
  trunk.on('data', (frame: Buffer) => {
    if (frame[0] === CLOSE) trunk.end(CLOSED);
  });
  trunk.once('close', () => {
    trunks -= 1;
    if (trunks === 0) console.log('quiet');
  });
}

function fail(why: unknown): never {
  console.error(why);
  process.exit(1);
}
