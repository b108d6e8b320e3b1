/** What the scenarios share: a relay, and the app in its window. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { findElectron } from '../../../desktop/build/electron-program.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Relay, temporaryDirectory } from '../../support/programs.ts';
import { type Scope, suiteScope, testScope } from '../../support/scope.ts';
import { CHROMIUM_DRIVER } from './chromium-driver.ts';
import { electronDriver } from './electron-driver.ts';
import type { Driver, RunningApp, StartApp } from './running-app.ts';

export interface OpenApp {
  readonly app: RunningApp;
  readonly page: Page;
  /** The app's own files, for starting it again. */
  readonly directory: string;
}

export interface Fixture {
  /** ends after each test */
  readonly scope: Scope;
  readonly relay: Relay;
  /** Starts the app and opens its window. @param directory of an app that ran before */
  open(directory?: string): Promise<OpenApp>;
  /** The same, signed in through the form, with an account of its own. */
  openSignedIn(options?: { readonly plan?: 'free' | 'dev' }): Promise<OpenApp & { account: TestAccount }>;
}

/**
 * Declares scenarios once for rung 4 and once for rung 5. Where Electron's program is missing, those of rung 5 are
 * listed by name, and neither run nor counted.
 */
export function scenarios(title: string, declare: (fixture: Fixture) => void): void {
  const program = findElectron();
  describe(title, function () {
    declare(uiFixture(CHROMIUM_DRIVER));
    if (program !== undefined) return;
    after(() => {
      const lines = this.tests.map((test) => `    ${notRun(title, test.title)}\n`);
      process.stdout.write(lines.join(''));
    });
  });
  if (program === undefined) return;
  describe(`${title}, in Electron`, () => declare(uiFixture(electronDriver(program))));
}

/** Says of a scenario that rung 5 did not run it. */
export function notRun(suite: string, scenario: string): string {
  return `not run here, Electron's binary is missing: ${suite}: ${scenario}`;
}

/** Declares the hooks of a suite. Its members are there once the tests run. */
function uiFixture(driver: Driver): Fixture {
  const suite = suiteScope();
  const scope = testScope();
  let started: { relay: Relay; start: StartApp } | undefined;
  before(async function () {
    this.timeout(30_000);
    const [relay, start] = await Promise.all([Relay.start(suite), driver.begin(suite)]);
    started = { relay, start };
  });
  const parts = () => {
    if (started === undefined) throw new Error('the suite has not begun');
    return started;
  };

  async function open(directory: string = join(temporaryDirectory(scope), 'culvert')): Promise<OpenApp> {
    return { ...(await parts().start(scope, directory)), directory };
  }

  return {
    scope,
    get relay() {
      return parts().relay;
    },
    open,
    async openSignedIn({ plan = 'dev' } = {}) {
      const { relay } = parts();
      const [account, opened] = await Promise.all([createAccount(relay, { plan }), open()]);
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
