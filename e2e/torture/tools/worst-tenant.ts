/** Everything that one tenant can do to a relay, one thing at a time, as fast as it can. Run by {@link Forked}. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { obey } from './forked.ts';
import { type Attack, crowdedFields, type Order, type Reply, requestOf } from './tenant.ts';

/** Connections that send requests repeatedly. */
const CONNECTIONS = 32;
const SLOW_READERS = 200;
/** ms before a cut connection is opened again. */
const RETURN_MS = 20;

const service = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.on('data', (head) => serve(socket, head.toString('latin1')));
});
const open = new Set<Socket>();
let responses = 0;
/** aborts the current attack */
let attacking = new AbortController();

obey(async (given): Promise<Reply> => {
  const order = given as Order;
  if (order.what === 'serve') {
    await once(service.listen(0, '127.0.0.1'), 'listening');
    return (service.address() as AddressInfo).port;
  }
  if (order.what === 'stop') {
    attacking.abort();
    for (const socket of open) socket.destroy();
    return responses;
  }
  responses = 0;
  attacking = new AbortController();
  const { attack, target } = order;
  const request = requestOf(attack, target);
  const count = attack === 'readers' ? SLOW_READERS : CONNECTIONS;
  for (let begun = 0; begun < count; begun += 1) void repeat(attack, target.port, request, attacking.signal);
  return 0;
});

/** Sends requests over one connection after the other, each as soon as the previous one has its response. */
async function repeat(attack: Attack, port: number, request: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    open.add(socket);
    socket.on('error', () => socket.destroy());
    const closed = once(socket, 'close').catch(() => undefined);
    socket.write(request);
    if (attack === 'readers') readSlowly(socket);
    else
      socket.on('data', (bytes: Buffer) => {
        responses += 1;
        // Informational responses have no defined end, and a long list ends with the same bytes as an object.
        if (attack !== 'hints' && (attack !== 'lists' || bytes.at(-1) === 0x7d)) socket.write(request);
      });
    await closed;
    open.delete(socket);
    await delay(RETURN_MS);
  }
}

function readSlowly(socket: Socket): void {
  socket.pause();
  const timer = setInterval(() => (responses += socket.read(1000) === null ? 0 : 1), 100);
  socket.once('close', () => clearInterval(timer));
}

const HINTS = Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'.repeat(500));
/** A few informational responses and a final one, each with as many fields as fit. */
const CROWDED = Buffer.from(
  ['103 Early Hints', '103 Early Hints', '103 Early Hints', '200 OK\r\nContent-Length: 0']
    .map((start) => `HTTP/1.1 ${start}\r\n${crowdedFields(58_000, 7000)}\r\n`)
    .join(''),
);
const LONG = Buffer.alloc(64 * 1024, 'x');

function serve(socket: Socket, head: string): void {
  if (head.startsWith('GET /heads')) socket.write(CROWDED);
  else if (head.startsWith('GET /hints')) flood(socket, HINTS);
  else {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${1024 ** 3}\r\n\r\n`);
    flood(socket, LONG);
  }
}

/** Writes the same bytes repeatedly, as long as they are read. */
function flood(socket: Socket, bytes: Buffer): void {
  const more = (): void => {
    while (socket.writable && socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}
