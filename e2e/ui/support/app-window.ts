/** The window of the app, in a browser: the built page with the production policy, and the bundled preload. */
import type { Browser, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core';
import type { Scope } from '../../support/scope.ts';
import { type BuiltWindow, IDLE_PATH } from './browser.ts';
import { type KeptPage, keptPage } from './kept-pages.ts';

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
  /** whether the page is closed afterwards, because the test adds listeners or scripts to it */
  readonly isOwn?: boolean;
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

interface KeptWindow extends KeptPage {
  /** the other side of its preload, while a test uses it */
  main: MainSide | undefined;
  /** receives the addresses of requests to anything but the built files */
  refuse: (url: string) => void;
}

/**
 * Opens the window, in a page that an earlier test has left if there is one. Errors that the page logs, and what its
 * policy blocks, fail the end of the scope.
 */
export async function openWindow(
  scope: Scope,
  browser: Browser,
  built: BuiltWindow,
  main: MainSide,
  { now, expected, isOwn = false, viewport, ...options }: WindowOptions = {},
): Promise<Page> {
  const { colorScheme, forcedColors, reducedMotion, ...fixed } = options;
  const kept = await keptPage<KeptWindow>(
    scope,
    browser,
    JSON.stringify(['window', now, fixed]),
    () => newWindow(browser, built, fixed, now),
    async ({ page }) => {
      kept.main = undefined;
      await (isOwn ? page.close() : page.goto(`${built.origin}${IDLE_PATH}`));
    },
  );
  const { page } = kept;
  const errors = watchPage(scope, page, expected);
  kept.main = main;
  kept.refuse = (url) => errors.push(`the page asked for ${url}`);
  await page.setViewportSize(viewport ?? WINDOW_SIZE);
  const address = `${built.origin}/index.html`;
  await page.emulateMedia({
    colorScheme: colorScheme ?? 'light',
    forcedColors: forcedColors ?? 'none',
    reducedMotion: reducedMotion ?? 'no-preference',
  });
  main.connect(async (name, value) => {
    // A closed or idle window accepts no input.
    if (kept.main !== main || page.isClosed() || page.url() !== address) return;
    await page.evaluate(([pushed, sent]) => (globalThis as unknown as PageGlobals).fakePush(pushed, sent), [
      name,
      value,
    ] as const);
  });
  await page.goto(address);
  return page;
}

async function newWindow(
  browser: Browser,
  built: BuiltWindow,
  options: BrowserContextOptions,
  now: number | undefined,
): Promise<KeptWindow> {
  const context = await browser.newContext({ deviceScaleFactor: 1, ...options });
  await context.exposeFunction('fakeInvoke', (channel: string, payload: unknown) =>
    kept.main?.invoke(channel, payload),
  );
  await context.addInitScript({ content: preloadScript(built.preload) });
  const page = await context.newPage();
  const kept: KeptWindow = { page, main: undefined, refuse: () => undefined };
  if (now !== undefined) await page.clock.setFixedTime(now);
  // Watched instead of intercepted, because a browser with intercepted requests does not cache compiled scripts.
  // What the policy blocks also begins a request, and a failed one is an error on the console.
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).origin !== built.origin) kept.refuse(request.url());
  });
  return kept;
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
  const add = (text: string): void => {
    if (expected?.test(text) !== true) errors.push(text);
  };
  // Firefox reports lost connections as errors of the page.
  const onError = (error: Error): void => add(String(error));
  const onMessage = (message: ConsoleMessage): void => {
    if (message.type() === 'error') add(message.text());
  };
  scope.defer(() => {
    page.off('pageerror', onError).off('console', onMessage);
    if (errors.length > 0) throw new Error(`the page had errors: ${errors.join('; ')}`);
  });
  // Shorter than the limit of a test, so that a failure says what it waited for; longer than a busy machine takes to
  // draw.
  page.setDefaultTimeout(WAIT_MS);
  page.on('pageerror', onError).on('console', onMessage);
  return errors;
}

interface PageGlobals {
  fakePush(name: string, value: unknown): void;
}
