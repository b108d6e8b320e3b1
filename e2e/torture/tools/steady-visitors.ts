/**
 * Visitors who come at a steady pace, however long the answers take, so that a relay that stands still is noticed by
 * everyone who comes meanwhile. Run by {@link Forked}.
 */
import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { obey } from './forked.ts';

export interface Measurement {
  readonly port: number;
  readonly host: string;
  readonly perSecond: number;
  readonly ms: number;
}

export interface Latencies {
  readonly requests: number;
  /** requests without the answer 200 */
  readonly failed: number;
  /** ms from when each was due to the end of its answer */
  readonly p50: number;
  readonly p99: number;
}

const TIMEOUT_MS = 10_000;
const agent = new Agent({ keepAlive: true, maxSockets: 256 });

obey(async (order): Promise<Latencies> => {
  const { port, host, perSecond, ms } = order as Measurement;
  const start = performance.now();
  const visits: Promise<number | undefined>[] = [];
  for (let due = start; due < start + ms; due += 1000 / perSecond) {
    const early = due - performance.now();
    if (early > 0) await delay(early);
    visits.push(visit(port, host).then((ok) => (ok ? performance.now() - due : undefined)));
  }
  const results = await Promise.all(visits);
  // Who got no answer has waited longest.
  const times = results.map((time) => time ?? TIMEOUT_MS).toSorted((a, b) => a - b);
  return {
    requests: times.length,
    failed: results.filter((time) => time === undefined).length,
    p50: times[Math.floor(times.length * 0.5)] ?? NaN,
    p99: times[Math.floor(times.length * 0.99)] ?? NaN,
  };
});

/** @returns whether the answer was 200 and complete */
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
