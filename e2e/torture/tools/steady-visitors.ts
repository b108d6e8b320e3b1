/**
 * Visitors at a steady rate, independent of response times, so that all of them notice a relay that stalls. Run by
 * {@link Forked}.
 */
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { obey } from './forked.ts';

export interface Measurement {
  readonly port: number;
  readonly host: string;
  /** `most`: the maximum throughput, with {@link AT_ONCE} requests at a time */
  readonly perSecond: number | 'most';
  readonly ms: number;
}

export interface Latencies {
  readonly requests: number;
  /** requests without a 200 */
  readonly failed: number;
  /** ms from the scheduled time of each to the end of its response */
  readonly p50: number;
  readonly p99: number;
}

const TIMEOUT_MS = 10_000;
const AT_ONCE = 16;
const agent = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: AT_ONCE });

obey(async (order): Promise<Latencies> => {
  const measurement = order as Measurement;
  const results = await (measurement.perSecond === 'most' ? askAll(measurement) : askPaced(measurement));
  // A visitor without a response has waited longest.
  const times = results.map((time) => time ?? TIMEOUT_MS).toSorted((a, b) => a - b);
  return {
    requests: times.length,
    failed: results.filter((time) => time === undefined).length,
    p50: times[Math.floor(times.length * 0.5)] ?? NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? NaN,
  };
});

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
