/**
 * Heap of the app's window, and of the logs that main keeps for it, under continuous traffic: 50 tunnels in the list,
 * the log of one of them open with 10,000 requests, and one of those requests open.
 * `node --expose-gc e2e/bench/window/heap.ts [minutes]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { LOG_REQUESTS_MAX, RECENT_REQUESTS } from '../../../desktop/app/main/limits.ts';
import { createTunnelLog, ShownLog } from '../../../desktop/app/main/tunnels/tunnel-log.ts';
import { localPort } from '../../../desktop/client/local/local-service.ts';
import { exampleSnapshot, exampleTunnel } from '../../../desktop/testing/views.ts';
import { Scope } from '../../support/scope.ts';
import { buildWindow, openWindow } from '../../ui/support/app-window.ts';
import { startBrowser } from '../../support/browser.ts';
import { ScriptedMain } from '../../ui/support/scripted-main.ts';
import { TUNNELS } from './world.ts';

/** The highest rate at which main notifies the page of changes. */
const PUSH_MS = 250;
const REQUESTS_PER_PUSH = 25;
const SAMPLE_MS = 30_000;
const MIB = 1024 * 1024;
const BODY = JSON.stringify({ orders: Array.from({ length: 20 }, (_, id) => ({ id, sku: `heron-${id}` })) });
const ANSWER = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
);

const minutes = Number(process.argv[2] ?? 10);
if (globalThis.gc === undefined) throw new Error('start it with node --expose-gc');
const collect = globalThis.gc;
const log = new ShownLog(createTunnelLog(localPort(9)));
let served = 0;
serve(LOG_REQUESTS_MAX);

const scope = new Scope();
try {
  const [built, browser] = await Promise.all([buildWindow(scope), startBrowser(scope)]);
  const main = new ScriptedMain(exampleSnapshot({ tunnels: tunnels() }), {
    'log:changes': ({ since }) => log.update(since),
    'log:detail': ({ id, reveal }) => log.detail(id, reveal) as never,
  });
  const page = await openWindow(scope, browser, built, main, { viewport: { width: 1280, height: 800 } });
  const tab = await page.context().newCDPSession(page);
  await page.locator('#log-k0').click();
  await page.locator('.log li button').nth(3).click();
  await page.locator('.tree-row').first().waitFor();
  const start = performance.now();
  process.stdout.write('   s  page heap   DOM nodes   main heap   main buffers  requests\n');
  for (let samples = 0; samples <= (minutes * 60_000) / SAMPLE_MS; samples += 1) {
    await tab.send('HeapProfiler.collectGarbage');
    const { usedSize } = await tab.send('Runtime.getHeapUsage');
    const { nodes } = await tab.send('Memory.getDOMCounters');
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const cells = [
      ((performance.now() - start) / 1000).toFixed(0).padStart(4),
      `${(usedSize / MIB).toFixed(2)} MiB`.padStart(10),
      String(nodes).padStart(11),
      `${(heapUsed / MIB).toFixed(2)} MiB`.padStart(11),
      `${(arrayBuffers / MIB).toFixed(2)} MiB`.padStart(14),
      String(served).padStart(9),
    ];
    process.stdout.write(`${cells.join(' ')}\n`);
    const end = start + (samples + 1) * SAMPLE_MS;
    while (performance.now() < end) {
      serve(REQUESTS_PER_PUSH);
      main.calls.length = 0;
      await main.show({ tunnels: tunnels() });
      await sleep(PUSH_MS);
    }
  }
} finally {
  await scope.end();
}

/** Records requests of visitors as they arrive. */
function serve(count: number): void {
  for (let n = 0; n < count; n += 1) {
    served += 1;
    const recording = log.recorder.open(0);
    recording.connected();
    recording.toLocal(
      Buffer.from(`GET /api/orders/${served} HTTP/1.1\r\nHost: x\r\nCookie: sid=secret\r\n\r\n`),
    );
    recording.toVisitor(ANSWER);
    recording.end(false);
  }
}

function tunnels() {
  return Array.from({ length: TUNNELS }, (_, n) =>
    exampleTunnel({
      key: `k${n}`,
      slug: `service-${n}`,
      requests: served,
      recent: log.list(RECENT_REQUESTS),
      pulse: log.pulse,
      log: log.point,
    }),
  );
}
