/**
 * Heap of the app's window under continuous traffic: 50 tunnels in the list, the log of one of them open with 10,000
 * requests, and one of those requests open. `node e2e/bench/window/heap.ts [minutes]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startBrowser } from '../../support/browser.ts';
import { Scope } from '../../support/scope.ts';
import { buildWindow, openWindow } from '../../ui/support/app-window.ts';
import { World } from './world.ts';

/** The highest rate at which main notifies the page of changes. */
const PUSH_MS = 250;
const REQUESTS_PER_PUSH = 25;
const SAMPLE_MS = 30_000;
const MIB = 1024 * 1024;

const minutes = Number(process.argv[2] ?? 10);
const scope = new Scope();
try {
  const [built, browser] = await Promise.all([buildWindow(scope), startBrowser(scope)]);
  const world = new World();
  const page = await openWindow(scope, browser, built, world.main, {
    viewport: { width: 1280, height: 800 },
  });
  const tab = await page.context().newCDPSession(page);
  await page.locator('#log-k0').click();
  await page.locator('.log li button').nth(3).click();
  await page.locator('.tree-row').first().waitFor();
  const start = performance.now();
  console.log('   s        heap   DOM nodes');
  for (let samples = 0; samples <= (minutes * 60_000) / SAMPLE_MS; samples += 1) {
    await tab.send('HeapProfiler.collectGarbage');
    const { usedSize } = await tab.send('Runtime.getHeapUsage');
    const { nodes } = await tab.send('Memory.getDOMCounters');
    const seconds = ((performance.now() - start) / 1000).toFixed(0).padStart(4);
    console.log(
      `${seconds} ${`${(usedSize / MIB).toFixed(2)} MiB`.padStart(11)} ${String(nodes).padStart(11)}`,
    );
    const end = start + (samples + 1) * SAMPLE_MS;
    while (performance.now() < end) {
      world.main.calls.length = 0;
      await world.serve(REQUESTS_PER_PUSH);
      await sleep(PUSH_MS);
    }
  }
} finally {
  await scope.end();
}
