import { type Browser, chromium, type Page } from 'playwright-core';
import type { Scope } from '../support/scope.ts';

/** Debian's Chromium, without a window; for it, `*.localhost` is this machine. Closed with the scope. */
export async function launchBrowser(scope: Scope): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Chromium refuses to run its sandbox as root, which containers do.
    args: isRoot ? ['--no-sandbox'] : [],
    timeout: 180_000,
  });
  scope.defer(() => browser.close());
  return browser;
}

/** A page, with the addresses of the WebSockets that it has opened and what they received. */
export interface WatchedPage {
  readonly page: Page;
  readonly webSockets: readonly string[];
  readonly messages: readonly string[];
}

/** Opens a page whose waits give up after 2 min. */
export async function openPage(browser: Browser, url: string): Promise<WatchedPage> {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const webSockets: string[] = [];
  const messages: string[] = [];
  page.on('websocket', (socket) => {
    webSockets.push(socket.url());
    socket.on('framereceived', ({ payload }) => messages.push(String(payload)));
  });
  await page.goto(url, { timeout: 180_000 });
  return { page, webSockets, messages };
}
