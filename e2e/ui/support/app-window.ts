/** The window of the app, in a browser: the built page with the production policy, and the bundled preload. */
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { CONTENT_SECURITY_POLICY } from '../../../desktop/app/ipc/views.ts';
import type { Scope } from '../../support/scope.ts';
import type { BuiltWindow } from './browser.ts';

/** Nobody answers at this address: every request is fulfilled from the built files, or refused. */
const ORIGIN = 'http://culvert.test';
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
/** The size with which the app opens it. */
export const WINDOW_SIZE = { width: 400, height: 640 };

/** How long a test waits for the window to show something. */
const WAIT_MS = 90_000;

/** The other side of the preload. */
export interface MainSide {
  /** Answers what `ipcRenderer.invoke` asks. */
  invoke(channel: string, payload: unknown): unknown;
  /** Receives a function that pushes to the page. */
  connect(push: (name: string, value: unknown) => Promise<void>): void;
}

export interface WindowOptions extends BrowserContextOptions {
  /** wall-clock ms at which the page's clock stands still; the real time by default */
  readonly now?: number;
  /** errors that belong to what is tested, such as what the policy blocks of a hostile page */
  readonly expected?: RegExp;
}

/** Runs in the page before its own script: the preload, on as much of Electron as it uses. */
function preloadScript(preload: string): string {
  return `(() => {
    const listeners = new Map();
    const electron = {
      contextBridge: { exposeInMainWorld: (name, api) => (globalThis[name] = Object.freeze(api)) },
      ipcRenderer: {
        invoke: (channel, payload) => globalThis.fakeInvoke(channel, payload),
        on: (channel, listener) => listeners.set(channel, (listeners.get(channel) ?? new Set()).add(listener)),
        off: (channel, listener) => listeners.get(channel)?.delete(listener),
      },
    };
    // A file of the browser has no path: a test names it after what it stands for.
    electron.webUtils = { getPathForFile: (file) => decodeURIComponent(file.name) };
    // In a task of its own, like a message from main.
    globalThis.fakePush = (channel, value) =>
      setTimeout(() => listeners.get(channel)?.forEach((listener) => listener({}, value)));
    const require = () => electron;
    const module = { exports: {} };
    const exports = module.exports;
    ${preload}
  })();`;
}

/** Opens the window. Errors that the page logs, and what its policy blocks, fail the end of the scope. */
export async function openWindow(
  scope: Scope,
  browser: Browser,
  built: BuiltWindow,
  main: MainSide,
  { now, expected, ...options }: WindowOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: WINDOW_SIZE, deviceScaleFactor: 1, ...options });
  scope.defer(() => context.close());
  await context.exposeFunction('fakeInvoke', (channel: string, payload: unknown) =>
    main.invoke(channel, payload),
  );
  await context.addInitScript({ content: preloadScript(built.preload) });
  const page = await context.newPage();
  const errors = watchPage(scope, page, expected);
  if (now !== undefined) await page.clock.setFixedTime(now);
  await page.route('**/*', async (route) => {
    const url = new URL(route.request().url());
    if (url.origin !== ORIGIN) {
      errors.push(`the page asked for ${url.href}`);
      await route.abort();
      return;
    }
    await route.fulfill({
      body: await readFile(join(built.page, url.pathname)),
      contentType: TYPES[extname(url.pathname)] ?? 'application/octet-stream',
      headers: { 'content-security-policy': CONTENT_SECURITY_POLICY },
    });
  });
  main.connect(async (name, value) => {
    // A closed or blank window accepts no input.
    if (page.isClosed() || page.url() === 'about:blank') return;
    await page.evaluate(([pushed, sent]) => (globalThis as unknown as PageGlobals).fakePush(pushed, sent), [
      name,
      value,
    ] as const);
  });
  await page.goto(`${ORIGIN}/index.html`);
  return page;
}

/** Drops files on the window; their names stand for their paths, which a browser does not know. */
export async function dropOnWindow(page: Page, paths: readonly string[]): Promise<void> {
  const names = JSON.stringify(paths.map((path) => encodeURIComponent(path)));
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    for (const name of ${names}) dataTransfer.items.add(new File([], name));
    const event = (type) => new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer });
    const target = document.querySelector('main, [role=main]');
    // A browser would open what nobody takes.
    if (target.dispatchEvent(event('dragover'))) throw new Error('the window does not take it');
    target.dispatchEvent(event('drop'));
  }`);
}

/** Zooming gives a page correspondingly less room. */
export async function zoomWindow(page: Page, factor: number): Promise<void> {
  const { width, height } = WINDOW_SIZE;
  await page.setViewportSize({ width: Math.floor(width / factor), height: Math.floor(height / factor) });
}

/**
 * Makes errors that the page logs fail the end of the scope.
 *
 * @param expected errors that do not
 * @returns the list of errors, to which more may be added
 */
export function watchPage(scope: Scope, page: Page, expected?: RegExp): string[] {
  const errors: string[] = [];
  scope.defer(() => {
    if (errors.length > 0) throw new Error(`the page had errors: ${errors.join('; ')}`);
  });
  // Shorter than the limit of a test, so that a failure says what it waited for; longer than a busy machine takes to
  // draw.
  page.setDefaultTimeout(WAIT_MS);
  const add = (text: string): void => {
    if (expected?.test(text) !== true) errors.push(text);
  };
  // Firefox reports lost connections as errors of the page.
  page.on('pageerror', (error) => add(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') add(message.text());
  });
  return errors;
}

interface PageGlobals {
  fakePush(name: string, value: unknown): void;
}
