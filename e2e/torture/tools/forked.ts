/** Visitors of a tunnel and the worst of all tenants, each in its own process, so that they slow nobody else down. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../support/deadline.ts';
import { reapProcess } from '../../support/reaper.ts';
import type { Scope } from '../../support/scope.ts';

/** This file in its own process, which executes orders one after the other. */
export class Forked {
  readonly #process: ChildProcess;

  /**
   * @param nice how much it yields the processor to others: from 0 to 19
   */
  constructor(scope: Scope, nice = 0) {
    this.#process = fork(import.meta.filename, { stdio: 'inherit' });
    reapProcess(this.#process);
    scope.defer(() => this.#process.kill('SIGKILL'));
    if (this.#process.pid !== undefined) setPriority(this.#process.pid, nice);
  }

  /**
   * @param ms time limit
   * @returns its answer
   */
  async tell<K extends keyof Orders>(
    what: K,
    order: Parameters<Orders[K]>[0],
    ms: number,
  ): Promise<Awaited<ReturnType<Orders[K]>>> {
    const answered = once(this.#process, 'message') as Promise<[Awaited<ReturnType<Orders[K]>>]>;
    this.#process.send({ what, order });
    return (await within(ms, `answer to ${what}`, answered))[0];
  }
}

/* Visitors. */

export interface Measurement {
  readonly port: number;
  readonly host: string;
  /** `most`: the maximum throughput, with {@link AT_ONCE} requests at a time */
  readonly perSecond: number | 'most';
  readonly ms: number;
}

export type Latencies = Awaited<ReturnType<typeof measure>>;

const TIMEOUT_MS = 10_000;
/** requests of visitors that measure the maximum throughput */
const AT_ONCE = 16;
const agent = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: AT_ONCE });

/** Visitors at a steady rate, independent of response times, so that all of them notice a relay that stalls. */
async function measure(measurement: Measurement) {
  const results = await (measurement.perSecond === 'most' ? askAll(measurement) : askPaced(measurement));
  // A visitor without a response has waited longest.
  const times = results.map((time) => time ?? TIMEOUT_MS).toSorted((a, b) => a - b);
  return {
    requests: times.length,
    /** requests without a 200 */
    failed: results.filter((time) => time === undefined).length,
    /** ms from the scheduled time of each to the end of its response */
    p50: times[Math.floor(times.length * 0.5)] ?? NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? NaN,
  };
}

/** @returns ms of each; `undefined` without a response */
async function askPaced({ port, host, perSecond, ms }: Measurement): Promise<(number | undefined)[]> {
  const start = performance.now();
  const visits: Promise<number | undefined>[] = [];
  for (let due = start; due < start + ms; due += 1000 / Number(perSecond)) {
    const early = due - performance.now();
    if (early > 0) await delay(early);
    visits.push(timeOf(port, host, due));
  }
  return await Promise.all(visits);
}

async function askAll({ port, host, ms }: Measurement): Promise<(number | undefined)[]> {
  const end = performance.now() + ms;
  const times: (number | undefined)[] = [];
  const ask = async (): Promise<void> => {
    while (performance.now() < end) times.push(await timeOf(port, host, performance.now()));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
  return times;
}

async function timeOf(port: number, host: string, due: number): Promise<number | undefined> {
  return (await visit(port, host)) ? performance.now() - due : undefined;
}

/** @returns whether the response was a complete 200 */
function visit(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { Host: host };
    const request = get({ port, host: '127.0.0.1', agent, headers, timeout: TIMEOUT_MS }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode === 200 && response.complete));
      response.once('close', () => resolve(false));
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(false));
  });
}

/* The tenant. */

/** What a tenant can do to a relay with its key and its tunnel. */
export const ATTACKS = ['extends', 'creates', 'lists', 'hints', 'heads', 'readers'] as const;
export type Attack = (typeof ATTACKS)[number];

/** The target of requests, and the credentials. */
export interface AttackTarget {
  readonly port: number;
  readonly key: string;
  readonly tunnelId: string;
  /** host of the tunnel, which forwards to the service of this program */
  readonly host: string;
}

/** The request that it sends repeatedly. */
function requestOf(attack: Attack, { port, key, tunnelId, host }: AttackTarget): string {
  const api = (line: string, body: string): string =>
    `${line} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  switch (attack) {
    case 'extends':
      return api(`PUT /v1/tunnels/${tunnelId}/extend`, '{"ttl":"1s"}');
    case 'creates':
      return api('POST /v1/tunnels', '{"local_port":1}');
    case 'lists':
      return api('GET /v1/tunnels', '');
    case 'heads':
      return `GET /heads HTTP/1.1\r\nHost: ${host}\r\n${crowdedFields(15_000, 190)}\r\n`;
    case 'hints':
    case 'readers':
      return `GET /${attack} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  }
}

/** Fields, and a `Connection` field that names thousands of others. */
export function crowdedFields(bytes: number, count: number): string {
  const fields = Array.from({ length: count }, (_, index) => `${index.toString(36)}:\r\n`).join('');
  const members = Array.from({ length: (bytes - fields.length) / 2 - 10 }, () => 'x').join();
  return `${fields}Connection: ${members}\r\n`;
}

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

/** Sends requests over one connection after the other, each as soon as the previous one has its response. */
async function repeatRequest(
  attack: Attack,
  port: number,
  request: string,
  signal: AbortSignal,
): Promise<void> {
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

/** What the process can be told to do. */
const orders = {
  measure,

  /** Starts the service of the attacker's tunnel. @returns its port */
  async serve(): Promise<number> {
    await once(service.listen(0, '127.0.0.1'), 'listening');
    return (service.address() as AddressInfo).port;
  },

  /** Begins to do one thing as fast as possible. */
  async attack({
    attack,
    target,
  }: {
    readonly attack: Attack;
    readonly target: AttackTarget;
  }): Promise<number> {
    responses = 0;
    attacking = new AbortController();
    const request = requestOf(attack, target);
    const count = attack === 'readers' ? SLOW_READERS : CONNECTIONS;
    for (let begun = 0; begun < count; begun += 1)
      void repeatRequest(attack, target.port, request, attacking.signal);
    return Promise.resolve(0);
  },

  /** Ends the attack. @returns how many responses there were */
  async stop(): Promise<number> {
    attacking.abort();
    for (const socket of open) socket.destroy();
    return Promise.resolve(responses);
  },
};
type Orders = typeof orders;

if (import.meta.main)
  process.on('message', ({ what, order }: { readonly what: keyof Orders; readonly order: unknown }) => {
    void (orders[what] as (given: unknown) => Promise<unknown>)(order).then((reply) => process.send?.(reply));
  });
