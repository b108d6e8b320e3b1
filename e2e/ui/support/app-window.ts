/** The window, served to a browser by the server of `culvert ui`. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { Browser, BrowserContext, BrowserContextOptions, ConsoleMessage, Page } from 'playwright-core';
import { WindowServer, type WindowServerOptions } from '../../../desktop/app/browser/window-server.ts';
import type { Answer, Pushes } from '../../../desktop/app/ipc/ipc.ts';
import { PAGE } from '../../../desktop/build/build.ts';
import { systemClock } from '../../../desktop/client/clock.ts';
import { spawnCulvert, temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

/** The size with which the app opens it. */
export const WINDOW_SIZE = { width: 400, height: 640 };

/** How long a test waits for the window to show something. */
const WAIT_MS = 90_000;

/** Resolves once the page has it. */
export type Push = (name: keyof Pushes, value: unknown) => Promise<void>;

/** What answers the page. */
export interface MainSide {
  invoke(channel: string, payload: unknown): Answer<unknown>;
  /** Receives a function that pushes to the page. */
  connect(push: Push): void;
}

export interface WindowOptions extends BrowserContextOptions {
  /** wall-clock ms at which the page's clock stands still; the real time by default */
  readonly now?: number;
  /** errors that belong to what is tested, such as what the policy blocks of a hostile page */
  readonly expected?: RegExp;
  /** whether the page is closed afterwards, because the test adds listeners or scripts to it */
  readonly isOwn?: boolean;
}

/** Runs in the page before its own script: records what a test cannot see. */
const RECORD = `{
  const outside = { copied: [], opened: [] };
  globalThis.outside = outside;
  // about:blank, which comes first, has none in Firefox.
  if (isSecureContext) navigator.clipboard.writeText = (text) => Promise.resolve(void outside.copied.push(text));
  globalThis.open = (url) => (outside.opened.push(url), globalThis);
}`;

/** Opens the window on answers of a test. @param directory of the built page */
export async function openWindow(
  scope: Scope,
  browser: Browser,
  directory: string,
  main: MainSide,
  options?: WindowOptions,
): Promise<Page> {
  const asked = Promise.withResolvers<void>();
  const handler: WindowServerOptions['handler'] = {
    call(channel, payload) {
      asked.resolve();
      return Promise.resolve(main.invoke(channel, payload));
    },
    closed: () => undefined,
    stateChanged: () => undefined,
    clicked: () => undefined,
  };
  const server = new WindowServer({ directory, isRemote: false, clock: systemClock, handler });
  main.connect(async (name, value) => {
    for (const page of server.pages) {
      page.push(name, value as never);
      // The page answers in order, also what it does not know.
      await page.ask('nothing' as 'copy', '');
    }
  });
  const page = await openPage(scope, browser, await listen(scope, server), options);
  await asked.promise;
  return page;
}

/** @returns a link to the window of a server, which closes with the scope */
export async function listen(scope: Scope, server: WindowServer): Promise<string> {
  scope.defer(() => server.close());
  return `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}/#${server.access.createToken()}`;
}

interface KeptWindow {
  readonly page: Page;
  /** the origin of the window, while a test uses it */
  origin: string;
  /** receives the addresses of requests to any other */
  refuse: (url: string) => void;
}

/**
 * Pages that no test is using, by browser and by what sets their contexts apart. Tests use them one after the other,
 * because a new one costs more processor time than most tests.
 */
const idle = new WeakMap<Browser, Map<string, KeptWindow[]>>();

/**
 * Opens a link to the window, in a page that an earlier test has left if there is one. Errors that the page logs, and
 * what its policy blocks, fail the end of the scope.
 */
export async function openPage(
  scope: Scope,
  browser: Browser,
  link: string,
  { now, expected, isOwn = false, viewport, ...options }: WindowOptions = {},
): Promise<Page> {
  const { colorScheme, forcedColors, reducedMotion, ...fixed } = options;
  const { origin } = new URL(link);
  const ofBrowser = idle.get(browser) ?? new Map<string, KeptWindow[]>();
  idle.set(browser, ofBrowser);
  const kind = JSON.stringify([now, fixed]);
  const left = ofBrowser.get(kind) ?? [];
  ofBrowser.set(kind, left);
  const kept = left.pop() ?? (await newWindow(browser, fixed, now));
  const { page } = kept;
  const leave = async (): Promise<void> => {
    // Without leaving the site, because the browser would start another process for the next one.
    await page.goto(`${origin}/nothing`);
    await page.context().clearCookies();
    // Otherwise, what the next test has below the pointer would show that.
    await page.mouse.move(-1, -1);
    left.push(kept);
  };
  const close = (): Promise<void> => page.context().close();
  // If it cannot leave, the test has closed it, or it is stuck.
  scope.defer(() => (isOwn ? close() : leave().catch(close)));
  const errors = watchPage(scope, page, expected);
  kept.origin = origin;
  kept.refuse = (url) => errors.push(`the page asked for ${url}`);
  await page.setViewportSize(viewport ?? WINDOW_SIZE);
  await page.emulateMedia({
    colorScheme: colorScheme ?? 'light',
    forcedColors: forcedColors ?? 'none',
    reducedMotion: reducedMotion ?? 'no-preference',
  });
  await page.goto(link);
  return page;
}

async function newWindow(
  browser: Browser,
  options: BrowserContextOptions,
  now: number | undefined,
): Promise<KeptWindow> {
  const page = await (await newContext(browser, options)).newPage();
  const kept: KeptWindow = { page, origin: '', refuse: () => undefined };
  if (now !== undefined) await page.clock.setFixedTime(now);
  // What the policy blocks also begins a request, and a failed one is an error on the console.
  page.on('requestfinished', (request) => {
    if (new URL(request.url()).origin !== kept.origin) kept.refuse(request.url());
  });
  return kept;
}

const RENDERER = join(import.meta.dirname, '../../../desktop/app/renderer');

/** The page of the app, with the bridge of a browser instead of the preload; files are named after their paths. */
const APP_PAGE = `
  import { BrowserBridge } from './browser/browser-bridge.ts';
  import { start } from './app.tsx';
  import './style/browser.css';
  start(() => {
    const bridge = new BrowserBridge();
    const pathOf = ({ name }) => decodeURIComponent(name);
    const drop = (files) => bridge.call('folder:drop', { paths: files.map(pathOf) });
    return Object.assign(bridge, { browser: undefined, drop });
  });
`;

/** Builds the page of the app. @returns the directory of its files */
export async function buildWindow(scope: Scope): Promise<string> {
  const directory = temporaryDirectory(scope);
  await build({
    ...PAGE,
    stdin: { contents: APP_PAGE, resolveDir: RENDERER },
    outfile: join(directory, 'main.js'),
  });
  await cp(join(RENDERER, 'index.html'), join(directory, 'index.html'));
  return directory;
}

export async function newContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ deviceScaleFactor: 1, locale: 'en-US', ...options });
  await context.addInitScript({ content: RECORD });
  return context;
}

/** Drops files on the window; their names stand for their paths, which a browser does not know. */
export async function dropOnWindow(page: Page, paths: readonly string[]): Promise<void> {
  const names = JSON.stringify(paths.map((path) => encodeURIComponent(path)));
  const dispatch = (type: string): Promise<void> =>
    page.evaluate(`{
      const dataTransfer = new DataTransfer();
      for (const name of ${names}) dataTransfer.items.add(new File([], name));
      const event = new DragEvent('${type}', { bubbles: true, cancelable: true, dataTransfer });
      document.querySelector('main, [role=main]').dispatchEvent(event);
    }`);
  await dispatch('dragover');
  await page.locator('.drop-here').waitFor();
  await dispatch('drop');
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
    // Chromium with a window asks for the icon of the page on which the test before this one left.
    if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) add(message.text());
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

/* The program `culvert ui`, and a browser of its user. */

/** Starts `culvert ui`. @param home for its files. @returns also a link that opens the window, once */
export async function startUi(scope: Scope, home: string, args: readonly string[] = []) {
  const child = spawnCulvert(scope, ['ui', '--port', '0', '--no-open', ...args], uiEnvironment(home));
  const link = await child.line((line) => /^http:\S+$/.exec(line)?.[0]);
  return { child, link, origin: new URL(link).origin };
}

export function uiEnvironment(home: string): Record<string, string> {
  return { HOME: home, XDG_CONFIG_HOME: join(home, 'config'), APPDATA: home, LANG: 'en_US.UTF-8' };
}

/** Where `culvert ui` stores its files. */
export function uiFolder(home: string): string {
  return join(home, 'config', 'Culvert');
}

/** A context of its own, as a person's browser is. */
export async function newProfile(
  scope: Scope,
  browser: Browser,
  options?: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await newContext(browser, { viewport: WINDOW_SIZE, reducedMotion: 'reduce', ...options });
  scope.defer(() => context.close());
  return context;
}

/** What Chromium logs when the program behind the window is gone, whichever of its requests notices it. */
export const PROGRAM_GONE = /ERR_CONNECTION|ERR_SOCKET_NOT_CONNECTED|WebSocket/;

/** Opens the window in it. Errors that it logs fail the end of the scope. */
export async function openLink(
  scope: Scope,
  context: BrowserContext,
  link: string,
  expected?: RegExp,
): Promise<Page> {
  const page = await context.newPage();
  watchPage(scope, page, expected);
  await page.goto(link);
  return page;
}
