/** Step 6: the window that `culvert ui` serves, in a real browser, with the built program behind it. */
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Answer } from '../../../desktop/app/ipc/ipc.ts';
import type { Snapshot, TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import type { Child } from '../../support/child.ts';
import { spawnCulvert } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { watchPage, WINDOW_SIZE, zoomWindow } from './app-window.ts';
import { keptPage } from './kept-pages.ts';
import { type Driver, newest, type RunningApp, sharedBrowser } from './running-app.ts';

/** A running `culvert ui`. */
export interface UiProgram {
  readonly child: Child;
  /** opens the window, once */
  readonly link: string;
  readonly origin: string;
}

/** Starts `culvert ui`. @param home for its files */
export async function startUi(scope: Scope, home: string, args: readonly string[] = []): Promise<UiProgram> {
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

/** What the page did outside of itself. */
interface Outside {
  readonly copied: string[];
  readonly opened: string[];
}

interface PageGlobals {
  readonly outside: Outside;
  readonly culvert: { call(channel: 'snapshot:get'): Promise<Answer<Snapshot>> };
}

/** Runs in the page before its own script: records what a test cannot see. */
const RECORD = `{
  const outside = { copied: [], opened: [] };
  globalThis.outside = outside;
  // about:blank, which comes first, has none in Firefox.
  if (isSecureContext) navigator.clipboard.writeText = (text) => Promise.resolve(void outside.copied.push(text));
  globalThis.open = (url) => (outside.opened.push(url), globalThis);
}`;

/** A context of its own, as a person's browser is. */
export async function newProfile(scope: Scope, browser: Browser): Promise<BrowserContext> {
  const context = await newContext(browser);
  scope.defer(() => context.close());
  return context;
}

async function newContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: WINDOW_SIZE,
    deviceScaleFactor: 1,
    reducedMotion: 'reduce',
    locale: 'en-US',
  });
  await context.addInitScript({ content: RECORD });
  return context;
}

/** Opens the window. Errors that it logs fail the end of the scope. */
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

export const BROWSER_DRIVER: Driver = {
  async begin() {
    const browser = await sharedBrowser();
    return async (scope, directory) => {
      const { link, origin } = await startUi(scope, directory);
      const { page } = await keptPage(
        scope,
        browser,
        'served',
        async () => ({ page: await (await newContext(browser)).newPage() }),
        async (kept) => {
          await kept.page.goto(`${origin}/nothing`);
          await kept.page.context().clearCookies();
        },
      );
      await page.setViewportSize(WINDOW_SIZE);
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' });
      watchPage(scope, page);
      await page.goto(link);
      await page.getByRole('main').waitFor();
      const app = new BrowserApp(page);
      return { app, page, drop: notInBrowser, zoom: (factor) => zoomWindow(page, factor) };
    };
  },
};

/** What only the app has. */
function notInBrowser(): Promise<never> {
  return Promise.reject(new Error('a browser cannot do this'));
}

class BrowserApp implements RunningApp {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  async tunnel(): Promise<TunnelView> {
    const answer = await this.#page.evaluate(() =>
      (globalThis as unknown as PageGlobals).culvert.call('snapshot:get'),
    );
    if (!answer.ok) throw new Error(answer.error.text);
    return newest(answer.value.tunnels);
  }

  copied(): Promise<readonly string[]> {
    return this.#page.evaluate(() => (globalThis as unknown as PageGlobals).outside.copied);
  }

  opened(): Promise<readonly string[]> {
    return this.#page.evaluate(() => (globalThis as unknown as PageGlobals).outside.opened);
  }

  async theme(): Promise<string> {
    return (await this.#page.locator(':root').getAttribute('data-theme')) ?? '';
  }

  /** The browser asks for its path. */
  chooseNext(folder: string | undefined): Promise<void> {
    this.#page.once('dialog', (dialog) => {
      void (folder === undefined ? dialog.dismiss() : dialog.accept(folder));
    });
    return Promise.resolve();
  }

  readonly openLink = notInBrowser;
  readonly suspend = notInBrowser;
  readonly wake = notInBrowser;
}
