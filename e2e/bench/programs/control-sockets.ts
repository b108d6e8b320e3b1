/**
 * `control-sockets.ts PORT`: control sockets without traffic, on which clients only answer pings; a tunnel id and a key
 * on each line of standard input. Prints `online COUNT` when all are open. Every second client opens a trunk, as
 * `culvert` does, which the relay closes after a while. If all did, 10,000 would need more file descriptors than many
 * systems allow a process. Prints `quiet` when all trunks are closed.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** How many sockets are being opened at a time at first, so that no backlog overflows. */
const OPENING_MAX = 100;
const PING = 0x89;
/** A pong without payload, masked with the key 0 (RFC 6455 section 5.5.3). */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const CLOSE = 0x88;
/** A close with 1000, masked with the key 0. */
const CLOSED = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);

interface Tunnel {
  readonly id: string;
  readonly key: string;
}

/** Asks for a socket of the protocol, and answers its pings. `answered` gets the head of the response. */
function open(port: number, path: string, key: string, answered: (head: string) => void): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  socket.once('data', (response: Buffer) => {
    answered(response.toString('latin1'));
    socket.on('data', (frame: Buffer) => {
      if (frame[0] === PING) socket.write(PONG);
    });
  });
  return socket;
}

function isUpgraded(head: string): boolean {
  return head.startsWith('HTTP/1.1 101');
}

/** trunks that are open or opening */
let trunks = 0;

async function openIdle(port: number, { id, key }: Tunnel, opensTrunk: boolean): Promise<void> {
  const control = await opened(port, `/ws/control?tunnel_id=${id}`, key);
  control.on('close', () => fail('a control socket was closed'));
  if (!opensTrunk) return;
  trunks += 1;
  closeInTurn(await opened(port, `/ws/trunk?tunnel_id=${id}`, key));
}

/** Resolves when the relay has responded with 101; any other response and any error ends the program. */
function opened(port: number, path: string, key: string): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = open(port, path, key, (head) => {
      if (!isUpgraded(head)) fail(head);
      resolve(socket);
    });
    socket.on('error', fail);
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

const port = Number(process.argv[2]);
const tunnels: Tunnel[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  const [id = '', key = ''] = line.split(' ');
  tunnels.push({ id, key });
}
const wanted = tunnels.length;
const openers = Array.from({ length: OPENING_MAX }, async () => {
  for (let tunnel = tunnels.pop(); tunnel !== undefined; tunnel = tunnels.pop())
    await openIdle(port, tunnel, tunnels.length % 2 === 0);
});
await Promise.all(openers);
console.log(`online ${wanted}`);
