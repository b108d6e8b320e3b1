/**
 * Control sockets without traffic whose clients reconnect when they are lost, each after a wait like that of `culvert`:
 * `returning-clients.ts PORT...`, with a tunnel id and a key on each line of standard input. Each tries the ports in
 * turn, as a balancer would. Prints `online COUNT` when all are open, and `back SECONDS` when all are open again.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { retryDelay } from '../../../desktop/client/control/verdict.ts';

/** How many sockets are being opened at a time at first, so that no backlog overflows. */
const OPENING_MAX = 100;
const PING = 0x89;
/** A pong without payload, masked with the key 0 (RFC 6455 section 5.5.3). */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

const ports = process.argv.slice(2).map(Number);
let online = 0;
let wanted = 0;
let lostAt: number | undefined;

class Client {
  readonly #id: string;
  readonly #key: string;
  /** number of connection attempts so far */
  #calls = 0;
  #failures = 0;
  #onFirst: (() => void) | undefined;

  constructor(line: string) {
    const [id = '', key = ''] = line.split(' ');
    this.#id = id;
    this.#key = key;
  }

  /** Resolves when it is online for the first time. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFirst = resolve;
      this.#connect();
    });
  }

  #connect(): void {
    const port = ports[this.#calls % ports.length] ?? 0;
    this.#calls += 1;
    const socket = connect({ port, host: '127.0.0.1' });
    let isOnline = false;
    let isAnswered = false;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (isOnline) lost();
      this.#retry(isAnswered && !isOnline ? 'answered' : 'unanswered');
    });
    socket.write(
      `GET /ws/control?tunnel_id=${this.#id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${this.#key}\r\n` +
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    socket.once('data', (response: Buffer) => {
      isAnswered = true;
      isOnline = response.toString('latin1').startsWith('HTTP/1.1 101');
      if (!isOnline) {
        socket.destroy();
        return;
      }
      this.#failures = 0;
      socket.on('data', (frame: Buffer) => {
        if (frame[0] === PING) socket.write(PONG);
      });
      cameOnline();
      this.#onFirst?.();
      this.#onFirst = undefined;
    });
  }

  #retry(reach: 'answered' | 'unanswered'): void {
    const awayMs = lostAt === undefined ? 0 : performance.now() - lostAt;
    const wait = retryDelay({
      attempt: this.#failures,
      random: Math.random(),
      reach,
      awayMs,
    });
    this.#failures += 1;
    setTimeout(() => this.#connect(), wait);
  }
}

function cameOnline(): void {
  online += 1;
  if (online < wanted || lostAt === undefined) return;
  console.log(`back ${((performance.now() - lostAt) / 1000).toFixed(3)}`);
  lostAt = undefined;
}

function lost(): void {
  online -= 1;
  lostAt ??= performance.now();
}

const clients: Client[] = [];
for await (const line of createInterface({ input: process.stdin })) clients.push(new Client(line));
wanted = clients.length;
const openers = Array.from({ length: OPENING_MAX }, async () => {
  for (let client = clients.pop(); client !== undefined; client = clients.pop()) await client.start();
});
await Promise.all(openers);
console.log(`online ${online}`);
