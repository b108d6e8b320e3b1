/** The window of the app, in a browser: the built page with the production policy, and a main process of the test. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { CONTENT_SECURITY_POLICY } from '../../../desktop/shared/csp.ts';
import type { Scope } from '../../support/scope.ts';

/** Nothing answers there: every request is fulfilled from the built files, or refused. */
const ORIGIN = 'http://culvert.test';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
/** As the app opens it. */
export const WINDOW_SIZE = { width: 400, height: 640 };

/** The other side of the bridge. */
export interface MainSide {
  /** Answers a call of the page. */
  call(channel: string, payload: unknown): unknown;
  /** Given what pushes to the page. */
  connect(push: (name: string, value: unknown) => Promise<void>): void;
}

/** Runs in the page before its own script: the shape of the preload's bridge. */
const BRIDGE = `
  const listeners = new Map();
  globalThis.culvertPush = (name, value) => listeners.get(name)?.forEach((listener) => listener(value));
  globalThis.culvert = {
    call: (channel, payload) => globalThis.culvertCall(channel, payload),
    on: (name, listener) => {
      const all = listeners.get(name) ?? new Set();
      listeners.set(name, all.add(listener));
      return () => all.delete(listener);
    },
  };
`;

/**
 * Opens the window. What the page logs as an error, and what its policy blocks, fails the scope's end.
 *
 * @param directory the built page
 * @param now wall-clock ms at which the page's clock stands still; the real time by default
 */
export async function openWindow(
  scope: Scope,
  browser: Browser,
  directory: string,
  main: MainSide,
  { now, ...options }: BrowserContextOptions & { readonly now?: number } = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: WINDOW_SIZE, deviceScaleFactor: 1, ...options });
  scope.defer(() => context.close());
  const errors: string[] = [];
  scope.defer(() => {
    if (errors.length > 0) throw new Error(`the page had errors: ${errors.join('; ')}`);
  });
  await context.exposeFunction('culvertCall', (channel: string, payload: unknown) =>
    main.call(channel, payload),
  );
  await context.addInitScript({ content: BRIDGE });
  const page = await context.newPage();
  if (now !== undefined) await page.clock.setFixedTime(now);
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    if (url.origin !== ORIGIN) {
      errors.push(`the page asked for ${url.href}`);
      await route.abort();
      return;
    }
    const file = url.pathname === '/' ? '/index.html' : url.pathname;
    await route.fulfill({
      body: await readFile(join(directory, file)),
      contentType: TYPES[extname(file)] ?? 'application/octet-stream',
      headers: { 'content-security-policy': CONTENT_SECURITY_POLICY },
    });
  });
  main.connect(async (name, value) => {
    await page.evaluate(
      ([pushed, sent]) => (globalThis as unknown as PageGlobals).culvertPush(pushed, sent),
      [name, value] as const,
    );
  });
  await page.goto(`${ORIGIN}/index.html`);
  return page;
}

interface PageGlobals {
  culvertPush(name: string, value: unknown): void;
}
