/** What the scenarios share: a browser, a relay, and the app in its window. */
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Relay, temporaryDirectory } from '../../support/programs.ts';
import { type Scope, suiteScope, testScope } from '../../support/scope.ts';
import { openWindow, type WindowOptions } from './app-window.ts';
import { startBrowser } from './browser.ts';
import { type BuiltWindow, buildWindow } from './build.ts';
import { DesktopApp } from './desktop-app.ts';

export interface OpenApp {
  readonly app: DesktopApp;
  readonly page: Page;
  /** The app's own files, for starting it again. */
  readonly directory: string;
}

export interface Fixture {
  /** ends after each test */
  readonly scope: Scope;
  readonly relay: Relay;
  readonly browser: Browser;
  /** Starts the app and opens its window. */
  open(options?: WindowOptions & { readonly directory?: string }): Promise<OpenApp>;
  /** The same, signed in through the form, with an account of its own. */
  openSignedIn(
    options?: WindowOptions & { readonly plan?: 'free' | 'dev' },
  ): Promise<OpenApp & { account: TestAccount }>;
}

/** Declares the hooks of a suite. Its members are there once the tests run. */
export function uiFixture(): Fixture {
  const suite = suiteScope();
  const scope = testScope();
  let started: { relay: Relay; browser: Browser; built: BuiltWindow } | undefined;
  before(async function () {
    this.timeout(30_000);
    const [relay, browser, built] = await Promise.all([
      Relay.start(suite),
      startBrowser(suite),
      buildWindow(suite),
    ]);
    started = { relay, browser, built };
  });
  const parts = () => {
    if (started === undefined) throw new Error('the suite has not begun');
    return started;
  };

  async function open({ directory, ...options }: Parameters<Fixture['open']>[0] = {}): Promise<OpenApp> {
    const { browser, built } = parts();
    const files = directory ?? join(temporaryDirectory(scope), 'culvert');
    const app = await DesktopApp.start(scope, files);
    const page = await openWindow(scope, browser, built, app, { reducedMotion: 'reduce', ...options });
    return { app, page, directory: files };
  }

  return {
    scope,
    get relay() {
      return parts().relay;
    },
    get browser() {
      return parts().browser;
    },
    open,
    async openSignedIn({ plan = 'dev', ...options } = {}) {
      const { relay } = parts();
      const [account, opened] = await Promise.all([createAccount(relay, { plan }), open(options)]);
      await signIn(opened.page, relay.url, account.key);
      await opened.page.getByRole('heading', { name: 'Nothing is exposed' }).waitFor();
      return { ...opened, account };
    },
  };
}

/** Fills the sign-in form in and sends it. */
export async function signIn(page: Page, relay: string, key: string): Promise<void> {
  await page.getByLabel('Relay').fill(relay);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Exposes a port, and waits until it is online. @returns the slug */
export async function expose(page: Page, port: number): Promise<string> {
  await page.getByLabel('Port', { exact: true }).fill(String(port));
  await page.getByRole('button', { name: 'Expose' }).click();
  const card = page.locator('.card', { hasText: `localhost:${port}` });
  await card.getByText('Online').waitFor();
  return (await card.getAttribute('data-slug')) ?? '';
}
