/**
 * How long frames of the app's window take with 50 tunnels, and 10,000 requests in one log: while it is scrolled, searched and new
 * requests come; what goes to the page for that; and how its heap grows. `node e2e/bench/window-frames.ts [minutes of traffic]`
 */
import { serialize } from 'node:v8';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CDPSession, Page } from 'playwright-core';
import { exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { Scope } from '../support/scope.ts';
import { openWindow } from '../ui/support/app-window.ts';
import { startBrowser } from '../ui/support/browser.ts';
import { buildWindow } from '../ui/support/build.ts';
import { ScriptedLog } from '../ui/support/scripted-log.ts';
import { ScriptedMain } from '../ui/support/scripted-main.ts';

const TUNNELS = 50;
const REQUESTS = 10_000;
const WINDOW = { width: 1280, height: 800 };
/** As often as main tells the page of a change, at most. */
const PUSH_MS = 250;
const REQUESTS_PER_PUSH = 25;

/** Notes how far apart frames are, and which took over 50 ms, in ms of wall-clock time. */
const WATCH = `
  globalThis.frames = [];
  globalThis.busy = [];
  new PerformanceObserver((list) => busy.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'long-animation-frame' });
  let before = performance.now();
  const look = (now) => {
    frames.push(now - before);
    before = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
`;

const minutes = Number(process.argv[2] ?? 1);
const scope = new Scope();
try {
  const [built, browser] = await Promise.all([buildWindow(scope), startBrowser(scope)]);
  const log = new ScriptedLog();
  log.add(REQUESTS, (id) => ({ startedAt: Date.now() - id, status: id % 9 === 0 ? 500 : 200 }));
  const quiet = Array.from({ length: TUNNELS - 1 }, (_, n) =>
    exampleTunnel({ key: `k${n}`, slug: `service-${n}`, recent: log.recent, requests: 12 }),
  );
  const tunnels = () => [
    exampleTunnel({ log: log.point, recent: log.recent, requests: log.point.revision }),
    ...quiet,
  ];
  const bytes = { changes: 0, snapshots: 0 };
  const main = new ScriptedMain(exampleSnapshot({ tunnels: tunnels() }), {
    'log:changes': ({ since }) => {
      const update = log.update(since);
      bytes.changes += serialize(update).length;
      return update;
    },
  });
  const push = async (): Promise<void> => {
    log.add(REQUESTS_PER_PUSH, () => ({ startedAt: Date.now() }));
    bytes.snapshots += serialize({ ...main.snapshot, tunnels: tunnels() }).length;
    await main.show({ tunnels: tunnels() });
  };
  const page = await openWindow(scope, browser, built, main, { viewport: WINDOW });
  await page
    .locator('.card')
    .nth(TUNNELS - 1)
    .waitFor({ state: 'attached' });
  await page.evaluate(WATCH);
  await measure(page, 'scrolling the cards', () => scroll(page, '.cards', 40));
  await measure(page, 'snapshots while nothing is open', () => pushing(push, 20));
  await measure(page, 'opening the log', async () => {
    await page.getByRole('button', { name: 'All requests to quiet-heron' }).click();
    await page
      .locator(`.log li[aria-setsize="${REQUESTS + 20 * REQUESTS_PER_PUSH}"]`)
      .first()
      .waitFor();
  });
  say(`the whole log, once: ${kib(bytes.changes)}`);
  await measure(page, 'scrolling the log', () => scroll(page, '.log', 60));
  await measure(page, 'searching', async () => {
    await page.getByLabel('Search requests').pressSequentially('/99');
    await page.getByLabel('Search requests').fill('');
  });
  bytes.changes = 0;
  bytes.snapshots = 0;
  await measure(page, 'scrolling while 100 requests a second come', () =>
    Promise.all([pushing(push, 40), scroll(page, '.log', 60)]).then(() => undefined),
  );
  say(`a push: ${kib(bytes.snapshots / 40)} of snapshot; changes of the log: ${kib(bytes.changes / 40)}`);

  const session = await page.context().newCDPSession(page);
  say(`heap: ${mib(await heap(session))} MiB`);
  for (let minute = 1; minute <= minutes; minute += 1) {
    await pushing(push, 60_000 / PUSH_MS);
    say(`heap after ${minute} min of 100 requests a second: ${mib(await heap(session))} MiB`);
  }
} finally {
  await scope.end();
}

async function pushing(push: () => Promise<void>, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    await push();
    await sleep(PUSH_MS);
  }
}

async function scroll(page: Page, list: string, steps: number): Promise<void> {
  await page.locator(list).hover({ position: { x: 50, y: 5 } });
  for (let n = 0; n < steps; n += 1) {
    await page.mouse.wheel(0, n % 10 === 9 ? 20_000 : 400);
    await sleep(30);
  }
  await page.mouse.wheel(0, -1_000_000);
  await sleep(200);
}

async function measure(page: Page, what: string, act: () => Promise<void>): Promise<void> {
  const session = await page.context().newCDPSession(page);
  // What other programs take of the processor meanwhile does not count.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await taskMs(session);
  await page.evaluate('frames.length = 0, busy.length = 0');
  await act();
  const [frames, busy] = await page.evaluate<[number[], number[]]>('[frames, busy]');
  const cpu = ((await taskMs(session)) - before) / Math.max(1, frames.length);
  await session.detach();
  const longest = Math.max(0, ...busy).toFixed(0);
  say(
    `${what}: ${frames.length} frames of ${cpu.toFixed(1)} ms of CPU; ${busy.length} over 50 ms, the longest ${longest}`,
  );
}

/** CPU time of the page's main thread so far, in ms. */
async function taskMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0);
}

/** Bytes in use once garbage is gone. */
async function heap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function mib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
