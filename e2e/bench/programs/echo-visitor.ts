/**
 * Visitors with WebSockets: `echo-visitor.ts PORT HOST CONNECTIONS SECONDS`. Each sends a small message, waits for its
 * echo and sends the next. Prints `messages PER_SECOND p50 MS p99 MS`, for the time after {@link WARM_MS}.
 */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { quantile } from '../stats.ts';

/** ms at the beginning that are not measured. */
const WARM_MS = 500;
const MESSAGE = Buffer.alloc(32, 'culvert ');

const [port = '', host = '', connections = '', seconds = ''] = process.argv.slice(2);
/** ms from each message to its echo */
let times: number[] = [];

const sockets = Array.from({ length: Number(connections) }, () => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, {
    headers: { Host: host },
    perMessageDeflate: false,
  });
  socket.on('error', fail);
  socket.on('close', () => fail('a WebSocket was closed'));
  return socket;
});
await Promise.all(sockets.map((socket) => once(socket, 'open')));
for (const socket of sockets) {
  let sent = performance.now();
  socket.on('message', (echo: Buffer) => {
    if (!echo.equals(MESSAGE)) fail('an echo is not what was sent');
    const now = performance.now();
    times.push(now - sent);
    sent = now;
    socket.send(MESSAGE);
  });
  socket.send(MESSAGE);
}
await delay(WARM_MS);
times = [];
const started = performance.now();
await delay(Number(seconds) * 1000);
const perSecond = (times.length * 1000) / (performance.now() - started);
console.log(`messages ${perSecond} p50 ${quantile(times, 0.5)} p99 ${quantile(times, 0.99)}`);
process.exit(0);

function fail(why: unknown): never {
  console.error(why);
  process.exit(1);
}
