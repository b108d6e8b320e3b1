/**
 * `npx node e2e/bench/page.ts [minutes]`: the cost of the window with 50 tunnels and 100 requests/s through them. Main
 * is scripted, so that only the page is measured: it pushes a complete snapshot up to 4 times a second, like the real
 * one.
 */
import type { TunnelView } from '../../desktop/app/ipc/snapshot.ts';
import { exampleRequest, exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { Scope } from '../support/scope.ts';
import { openWindow } from '../ui/support/app-window.ts';
import { buildWindow, startBrowser } from '../ui/support/browser.ts';
import { ScriptedMain } from '../ui/support/scripted-main.ts';

const TUNNELS = 50;
const REQUESTS_A_SECOND = 100;
const PUSH_MS = 250;
const RECENT = 3;
const SAMPLE_MS = 30_000;
const MIB = 1024 * 1024;

const minutes = Number(process.argv[2] ?? 2);
if (!(minutes > 0)) throw new Error('give a number of minutes above 0');

let tunnels: readonly TunnelView[] = Array.from({ length: TUNNELS }, (_, n) =>
  exampleTunnel({
    key: `k${n}`,
    slug: `service-${n}`,
    url: `https://service-${n}.tunnels.example.com`,
    localPort: 3000 + n,
    expiresAt: Date.now() + (n + 30) * 60_000,
  }),
);
let served = 0;

/** Adds requests to each tunnel in turn. */
function serve(count: number): void {
  const next = [...tunnels];
  for (let left = count; left > 0; left -= 1) {
    served += 1;
    const at = served % TUNNELS;
    const tunnel = next[at];
    if (tunnel === undefined) continue;
    const request = exampleRequest({ id: served, target: `/page/${served}`, startedAt: Date.now() });
    next[at] = {
      ...tunnel,
      requests: tunnel.requests + 1,
      bytesIn: tunnel.bytesIn + request.bytesIn,
      bytesOut: tunnel.bytesOut + request.bytesOut,
      recent: [request, ...tunnel.recent].slice(0, RECENT),
    };
  }
  tunnels = next;
}

const scope = new Scope();
try {
  const [browser, built] = await Promise.all([startBrowser(scope), buildWindow(scope)]);
  const main = new ScriptedMain(exampleSnapshot({ tunnels }));
  const page = await openWindow(scope, browser, built, main);
  const system = await browser.newBrowserCDPSession();
  const tab = await page.context().newCDPSession(page);
  // CPU time, not elapsed time: the machine may be busy.
  await tab.send('Performance.enable', { timeDomain: 'threadTicks' });

  /**
   * CPU seconds used by the page and by the DevTools protocol in it so far, and the page's heap after a garbage
   * collection.
   */
  const measure = async () => {
    const { processInfo } = await system.send('SystemInfo.getProcessInfo');
    // There is a second, idle renderer. The page's is the one that has worked.
    const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ cpuTime }) => cpuTime);
    await tab.send('HeapProfiler.collectGarbage');
    const { usedSize } = await tab.send('Runtime.getHeapUsage');
    const { metrics } = await tab.send('Performance.getMetrics');
    // What this program asks about the page is not the page's work.
    const protocol = metrics.find(({ name }) => name === 'DevToolsCommandDuration')?.value ?? 0;
    const { nodes } = await tab.send('Memory.getDOMCounters');
    return {
      at: performance.now(),
      page: Math.max(...renderers) - protocol,
      protocol,
      heap: usedSize,
      nodes,
    };
  };

  let isPushing = false;
  const timer = setInterval(() => {
    serve((REQUESTS_A_SECOND * PUSH_MS) / 1000);
    if (isPushing) return;
    isPushing = true;
    main.show({ tunnels }).then(
      () => (isPushing = false),
      // The window closes at the end while a push is on its way.
      () => undefined,
    );
  }, PUSH_MS);
  scope.defer(() => clearInterval(timer));

  let last = await measure();
  const end = performance.now() + minutes * 60_000;
  process.stdout.write('   s  page CPU  of the test       heap   DOM nodes  requests\n');
  while (performance.now() < end) {
    await page.waitForTimeout(Math.min(SAMPLE_MS, Math.max(1000, end - performance.now())));
    const now = await measure();
    const share = (seconds: number) => `${((seconds / ((now.at - last.at) / 1000)) * 100).toFixed(1)} %`;
    const cells = [
      String(Math.round(minutes * 60 - (end - now.at) / 1000)).padStart(4),
      share(now.page - last.page).padStart(9),
      share(now.protocol - last.protocol).padStart(13),
      `${(now.heap / MIB).toFixed(2)} MiB`.padStart(10),
      String(now.nodes).padStart(11),
      String(served).padStart(9),
    ];
    process.stdout.write(`${cells.join(' ')}\n`);
    last = now;
  }
} finally {
  await scope.end();
}
