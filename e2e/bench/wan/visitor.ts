/**
 * The visitor, as a program in its namespace: `visitor.ts CA TEST SYSTEM...` prints the values of a test's measures as
 * a JSON array, in the order of `TESTS`. With the test `ask`, it asks all systems until it is ended, and prints when.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { Agent, request } from 'node:https';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { WebSocket } from 'ws';
import { median, quantile } from '../stats.ts';
import { COMPRESSED_HOST, HOST, REFERENCE, type System, SYSTEMS } from './systems.ts';

const [caFile = '', test = '', ...names] = process.argv.slice(2);
const ca = readFileSync(caFile);
const systemOf = (name: string): System => SYSTEMS[name] ?? fail(`no system ${name}`);

const LARGE_BYTES = 20e6;
/** ms after which a large transfer is ended; its rate until then counts. */
const LARGE_MS = 12_000;
const PAGE_MS = 60_000;
/** ms of silence after which a request has failed. */
const SILENCE_MS = 30_000;

interface Get {
  readonly onData?: (piece: Buffer) => void;
  readonly body?: Buffer;
  readonly signal?: AbortSignal;
}
interface Got {
  readonly status: number;
  /** ms until the first byte of the body, and until its end */
  readonly first: number;
  readonly total: number;
}

/** A visitor with kept connections: one of HTTP/2 with the windows of Chromium, or up to six of HTTP/1.1. */
interface Visitor {
  get(path: string, options?: Get): Promise<Got>;
  end(): void;
}

async function open({ port, usesHttp2 }: Pick<System, 'port' | 'usesHttp2'>): Promise<Visitor> {
  if (!usesHttp2) {
    const agent = new Agent({ keepAlive: true, maxSockets: 6, maxCachedSessions: 0, ca });
    return { get: (path, options) => getHttp1(agent, port, path, options), end: () => agent.destroy() };
  }
  const session = connect(`https://${HOST}:${port}`, { ca, settings: { initialWindowSize: 6 << 20 } });
  await new Promise((resolve, reject) => session.once('connect', resolve).on('error', reject));
  session.setLocalWindowSize(15 << 20);
  const get: Visitor['get'] = (path, options = {}) =>
    receive(options, (method, signal, onResponse) => {
      const head = { ':path': path, ':method': method };
      const stream = session.request(head, { endStream: !options.body, ...signal });
      stream.on('response', ({ ':status': status = 0 }) => onResponse(status, stream));
      return stream;
    });
  return { get, end: () => session.destroy() };
}

function getHttp1(agent: Agent, port: number, path: string, options: Get = {}): Promise<Got> {
  return receive(options, (method, signal, onResponse) =>
    request(`https://${HOST}:${port}${path}`, { agent, method, ...signal }, (response) =>
      onResponse(response.statusCode ?? 0, response),
    ),
  );
}

/** Reads the response to a request that `send` makes. */
function receive(
  { onData, body, signal }: Get,
  send: (
    method: string,
    signal: { signal?: AbortSignal },
    onResponse: (status: number, response: Readable) => void,
  ) => ClientRequest | ClientHttp2Stream,
): Promise<Got> {
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const sent = send(body === undefined ? 'GET' : 'POST', signal ? { signal } : {}, (status, response) => {
      let first = 0;
      response.on('data', (piece: Buffer) => {
        first ||= performance.now() - start;
        onData?.(piece);
      });
      response.on('end', () => resolve({ status, first, total: performance.now() - start }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.on('close', () => reject(new Error('the connection was closed')));
    sent.setTimeout(SILENCE_MS, () => sent.destroy(new Error('no response')));
    if (body !== undefined || !('session' in sent)) sent.end(body);
  });
}

/** Takes bodies of the service on connections of their own. @returns MB/s of all together */
async function download(system: System, count: number, bytes: number): Promise<number> {
  let received = 0;
  const visitors = await Promise.all(Array.from({ length: count }, () => open(system)));
  const start = performance.now();
  const signal = AbortSignal.timeout(LARGE_MS);
  const options = { signal, onData: (piece: Buffer) => (received += piece.length) };
  // One that fails counts with the bytes it had.
  await Promise.all(visitors.map((visitor) => visitor.get(`/bytes?n=${bytes}`, options).catch(() => {})));
  for (const visitor of visitors) visitor.end();
  return received / (performance.now() - start) / 1000;
}

/** Works while another visitor downloads. @returns its result, and MB/s of the download meanwhile */
async function besideDownload<T>(system: System, work: () => Promise<T>): Promise<[T, number]> {
  let received = 0;
  const other = await open(system);
  other.get('/bytes?n=2000000000', { onData: (piece) => (received += piece.length) }).catch(() => {});
  await delay(3000);
  const [before, start] = [received, performance.now()];
  const result = await work();
  const rate = (received - before) / (performance.now() - start) / 1000;
  other.end();
  if (rate === 0) fail('the download has failed');
  return [result, rate];
}

/** @returns ms of requests at ten per second */
async function smallRequests(system: System, count: number): Promise<number[]> {
  const visitor = await open(system);
  await visitor.get('/bytes?n=3');
  const requests: Promise<Got>[] = [];
  for (let number = 0; number < count; number += 1) {
    requests.push(visitor.get('/bytes?n=3'));
    await delay(100);
  }
  const got = await Promise.all(requests);
  visitor.end();
  return got.map(({ total }) => total);
}

/** @returns ms of echoes of 32 bytes at ten per second */
async function echoes(system: System, count: number): Promise<number[]> {
  const socket = new WebSocket(`wss://${HOST}:${system.port}/`, { ca });
  const times: number[] = [];
  const done = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('echoes are missing')), count * 100 + SILENCE_MS);
    timer.unref();
    socket.on('error', reject);
    socket.on('message', (message: Buffer) => {
      times.push(performance.now() - message.readDoubleBE());
      if (times.length === count) resolve();
    });
    socket.on('open', () => {
      const message = Buffer.alloc(32);
      const send = (left: number): void => {
        message.writeDoubleBE(performance.now());
        socket.send(Buffer.from(message));
        if (left > 1) setTimeout(send, 100, left - 1);
      };
      send(count);
    });
  });
  await done;
  socket.terminate();
  return times;
}

/** @returns ms from the service to the visitor: their clocks are the same */
async function events(system: System, count: number): Promise<number[]> {
  const visitor = await open(system);
  const delays: number[] = [];
  let rest = '';
  await new Promise<void>((resolve, reject) => {
    const onData = (piece: Buffer): void => {
      const parts = (rest + piece.toString()).split('\n\n');
      rest = parts.pop() ?? '';
      const now = performance.timeOrigin + performance.now();
      for (const part of parts) delays.push(now - Number(part.slice('data: '.length)));
      if (delays.length >= count) resolve();
    };
    visitor.get('/sse', { onData }).then(() => reject(new Error('the events have ended')), reject);
  });
  visitor.end();
  return delays;
}

/** Loads a page in a fresh Chromium. @returns s until it was loaded, and again after a reload */
async function load(system: System, host: string, path: string, reloads: boolean): Promise<number[]> {
  const shell = '/usr/bin/chromium-headless-shell';
  const spki = new X509Certificate(ca).publicKey.export({ type: 'spki', format: 'der' });
  const browser = await chromium.launch({
    executablePath: process.env['CULVERT_CHROMIUM'] ?? (existsSync(shell) ? shell : '/usr/bin/chromium'),
    chromiumSandbox: false,
    args: [
      `--ignore-certificate-errors-spki-list=${createHash('sha256').update(spki).digest('base64')}`,
      ...(system.usesHttp2 ? [] : ['--disable-http2']),
    ],
  });
  try {
    const page = await browser.newPage();
    const options = { waitUntil: 'load', timeout: PAGE_MS } as const;
    const seconds = (): Promise<number> =>
      page.evaluate(`performance.getEntriesByType('navigation')[0].loadEventStart / 1000`);
    await page.goto(`https://${host}:${system.port}${path}`, options);
    const times = [await seconds()];
    if (reloads) {
      await page.reload(options);
      times.push(await seconds());
    }
    return times;
  } finally {
    await browser.close();
  }
}

const tests: Readonly<Record<string, (system: System) => Promise<number[]>>> = {
  page: (system) => load(system, HOST, '/', true),
  text: (system) => load(system, COMPRESSED_HOST, '/text/', false),
  /** Requests each module as soon as its importer has arrived. */
  async requests(system) {
    const start = performance.now();
    const visitor = await open(system);
    const known = new Set<string>();
    const loadModule = async (path: string): Promise<void> => {
      let text = '';
      await visitor.get(path, { onData: (piece) => (text += piece.toString()) });
      const found = [...text.matchAll(/\/src\/\w+\.js/g)]
        .map(([name]) => name)
        .filter((name) => !known.has(name));
      for (const name of found) known.add(name);
      await Promise.all(found.map(loadModule));
    };
    await loadModule('/');
    visitor.end();
    if (known.size !== 300) fail(`${known.size} modules`);
    return [(performance.now() - start) / 1000];
  },
  async 'first-byte'(system) {
    const [fresh, kept]: [number[], number[]] = [[], []];
    for (let count = 0; count < 5; count += 1) {
      const start = performance.now();
      const visitor = await open(system);
      await visitor.get('/bytes?n=3');
      fresh.push(performance.now() - start);
      for (let more = 0; more < 4; more += 1) kept.push((await visitor.get('/bytes?n=3')).first);
      visitor.end();
    }
    return [median(fresh), median(kept)];
  },
  async sizes(system) {
    const visitor = await open(system);
    const times: number[] = [];
    for (const kilobytes of [100, 300, 400, 1000]) {
      const each: number[] = [];
      for (let count = 0; count < 3; count += 1) {
        // The congestion window of an idle connection shrinks.
        await delay(1000);
        each.push((await visitor.get(`/bytes?n=${kilobytes * 1000}`)).total);
      }
      times.push(median(each));
    }
    visitor.end();
    return times;
  },
  download: async (system) => [await download(system, 1, LARGE_BYTES)],
  downloads: async (system) => [await download(system, 4, LARGE_BYTES / 2)],
  visitors: async (system) => [await download(system, 128, 100_000), await download(system, 128, 1e6)],
  async upload(system) {
    const visitor = await open(system);
    const start = performance.now();
    const options = { body: Buffer.alloc(LARGE_BYTES, 'a'), signal: AbortSignal.timeout(LARGE_MS) };
    const got = await visitor.get('/upload', options).catch(() => undefined);
    const ms = performance.now() - start;
    let arrived = '';
    const straight = await open(systemOf(REFERENCE));
    await straight.get('/uploaded', { onData: (piece) => (arrived += piece.toString()) });
    visitor.end();
    straight.end();
    return [(got?.status === 200 ? LARGE_BYTES : Number(arrived)) / ms / 1000];
  },
  async beside(system) {
    const [times, rate] = await besideDownload(system, () => smallRequests(system, 100));
    return [quantile(times, 0.5), quantile(times, 0.99), rate];
  },
  async websocket(system) {
    const idle = await echoes(system, 30);
    const [busy] = await besideDownload(system, () => echoes(system, 80));
    return [quantile(idle, 0.5), quantile(busy, 0.5), quantile(busy, 0.99)];
  },
  async sse(system) {
    const idle = await events(system, 30);
    const [busy] = await besideDownload(system, () => events(system, 50));
    return [quantile(idle, 0.5), quantile(busy, 0.5), quantile(busy, 0.99)];
  },
};

/** Makes a request four times a second, each on a new connection, and prints when those with status 200 came. */
async function ask(name: string): Promise<never> {
  for (;;) {
    const asked = Date.now();
    const agent = new Agent({ ca });
    getHttp1(agent, systemOf(name).port, '/bytes?n=3', { signal: AbortSignal.timeout(SILENCE_MS) })
      .then(
        ({ status }) =>
          status === 200 && console.log(JSON.stringify({ system: name, asked, answered: Date.now() })),
      )
      .catch(() => {})
      .finally(() => agent.destroy());
    await delay(250);
  }
}

function fail(message: string): never {
  throw new Error(message);
}

if (test === 'ask') await Promise.all(names.map(ask));
try {
  const run = tests[test] ?? fail(`no test ${test}`);
  console.log(JSON.stringify(await run(systemOf(names[0] ?? ''))));
  process.exit(0);
} catch (error) {
  console.error(String(error).split('\n')[0]);
  process.exit(1);
}
