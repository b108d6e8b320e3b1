/**
 * Measures the compression by the client, in the client's own code: size and CPU time of the codings, the cost of a
 * small response, and what a large one does to the event loop. Run with `node e2e/bench/compression.ts`; the figures are
 * in docs/decisions/0025-compression-by-the-client.md.
 */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { CompressedStream } from '../../desktop/client/compression/compressed-stream.ts';
import { WeakenedTags } from '../../desktop/client/compression/heads.ts';
import { systemClock } from '../../desktop/client/clock.ts';
import type { DataSocket } from '../../desktop/client/data/data-dialer.ts';
import { ROOT } from '../../release/repository.ts';

const CODINGS = ['identity', 'gzip', 'zstd', 'br'] as const;
const PIECE_BYTES = 64 * 1024;
const ROUNDS = 500;

interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly sent: number;
}

/** Sends one response through the filter, at the speed at which it is compressed. */
async function send(body: Buffer, coding: string): Promise<Cost> {
  const done = Promise.withResolvers<void>();
  let sent = 0;
  let room = Promise.withResolvers<void>();
  const socket: DataSocket = {
    write(chunk) {
      sent += chunk.length;
      const isLast = chunk.length === 5 && chunk.toString() === '0\r\n\r\n';
      if (isLast || (coding === 'identity' && sent > body.length)) done.resolve();
      return true;
    },
    attach() {},
    pause() {},
    resume() {},
    close() {},
    destroy() {},
    lookForEnd() {},
  };
  const started = performance.now();
  const cpu = process.cpuUsage();
  const filter = new CompressedStream(socket, { clock: systemClock, tags: new WeakenedTags() });
  filter.attach({ onStreamData() {}, onStreamDrain: () => room.resolve(), onStreamClose() {} });
  filter.onStreamData(Buffer.from(`GET / HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${coding}\r\n\r\n`));
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  filter.write(Buffer.from(head));
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const hasRoom = filter.write(body.subarray(at, at + PIECE_BYTES));
    if (hasRoom || at + PIECE_BYTES >= body.length) continue;
    await room.promise;
    room = Promise.withResolvers();
  }
  await done.promise;
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - started, sent };
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function delays(histogram: ReturnType<typeof monitorEventLoopDelay>): string {
  const [p99, max] = [histogram.percentile(99), histogram.max].map((ns) => (ns / 1e6).toFixed(1));
  return `p99 ${p99} ms, max ${max} ms`;
}

function json(bytes: number): Buffer {
  const rows: object[] = [];
  for (let id = 0; id < bytes / 100; id++) {
    const created = new Date(1.7e12 + id * 86_413_000);
    rows.push({
      id,
      name: `user ${(id * 7919) % 5003}`,
      created,
      score: (id * 2_654_435) % 99_991,
      ok: id % 3 === 0,
    });
  }
  return Buffer.from(JSON.stringify(rows)).subarray(0, bytes);
}

const SCRIPTS = ['axe-core/axe.js', 'prettier/index.mjs', 'prettier/plugins/typescript.mjs'];
const scripts = Buffer.concat(SCRIPTS.map((file) => readFileSync(`${ROOT}/node_modules/${file}`)));
for (const [name, body] of [
  ['JSON, 3 MB', json(3_000_000)],
  ['scripts, 3 MB', scripts.subarray(0, 3_000_000)],
] as const) {
  for (const coding of CODINGS) {
    const costs: Cost[] = [];
    for (let round = 0; round < 5; round++) costs.push(await send(body, coding));
    const { cpuMs, sent } = costs.toSorted((one, other) => one.cpuMs - other.cpuMs)[0] ?? {
      cpuMs: 0,
      sent: 0,
    };
    const seconds = ((sent * 8) / 20e6).toFixed(2);
    const percent = ((sent / body.length) * 100).toFixed(1);
    print(
      `${name}: ${coding}: ${percent} %, ${(cpuMs / 3).toFixed(1)} ms CPU per MB, ${seconds} s at 20 Mbit/s`,
    );
  }
}
for (const coding of CODINGS) {
  const body = json(5000);
  for (let round = 0; round < ROUNDS; round++) await send(body, coding);
  let cpuMs = 0;
  let wallMs = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const cost = await send(body, coding);
    cpuMs += cost.cpuMs;
    wallMs += cost.wallMs;
  }
  const [cpu, wall] = [cpuMs, wallMs].map((ms) => Math.round((ms / ROUNDS) * 1000));
  print(`5 KB of JSON: ${coding}: ${cpu} µs CPU, ready after ${wall} µs`);
}
const idle = monitorEventLoopDelay({ resolution: 1 });
idle.enable();
await delay(3000);
idle.disable();
print(`idle: event loop delay ${delays(idle)}`);
const large = json(100_000_000);
for (const coding of CODINGS) {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  const { wallMs } = await send(large, coding);
  loop.disable();
  print(`100 MB of JSON: ${coding}: ${Math.round(wallMs)} ms; event loop delay ${delays(loop)}`);
}
