/** Shared by the scenarios: a relay, and the app in its window. */
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { findElectron } from '../../../desktop/build/electron-program.ts';
import type { Plan } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { type Relay, temporaryDirectory } from '../../support/programs.ts';
import { Scope, testScope } from '../../support/scope.ts';
import { electronDriver } from './electron-driver.ts';
import { type Driver, sharedRelay, type StartApp, type StartedApp } from './running-app.ts';
import { servedDriver } from './served-driver.ts';

export interface OpenApp extends StartedApp {
  /** The directory of the app's files, for restarting it. */
  readonly directory: string;
}

export interface Fixture {
  /** ends after each test */
  readonly scope: Scope;
  readonly relay: Relay;
  /**
   * Starts the app and opens its window. @param directory of an earlier app, which is ended first if it is still
   * running
   */
  open(directory?: string): Promise<OpenApp>;
  /** Ends the app that runs on a directory. Its tunnels stay at the relay. */
  end(directory: string): Promise<void>;
  /** Also signs in through the form, with a new account. */
  openSignedIn(options?: SignedInOptions): Promise<OpenApp & { account: TestAccount }>;
}

export interface SignedInOptions {
  readonly plan?: Plan;
  /** a relay for this test alone, if the test does more than send requests to it */
  readonly relay?: Relay;
  /** the address under which the app reaches the relay, for example behind a fault proxy */
  readonly address?: string;
}

/**
 * Declares scenarios once for step 4 and once for step 5. If Electron's binary is missing, those of step 5 are listed
 * by name, but neither run nor counted.
 */
export function scenarios(title: string, declare: (fixture: Fixture) => void): void {
  declareFor(servedDriver({ isApp: false }), title, declare);
}

/** The same for what a browser lacks: a key store, a global shortcut, start at login, and paths of files. */
export function appScenarios(title: string, declare: (fixture: Fixture) => void): void {
  declareFor(servedDriver({ isApp: true }), title, declare);
}

function declareFor(driver: Driver, title: string, declare: (fixture: Fixture) => void): void {
  const program = findElectron();
  describe(title, function () {
    declare(uiFixture(driver));
    if (program !== undefined) return;
    after(() => {
      const lines = this.tests.map((test) => `    ${notRun(title, test.title)}\n`);
      process.stdout.write(lines.join(''));
    });
  });
  if (program === undefined) return;
  describe(`${title}, in Electron`, () => declare(uiFixture(electronDriver(program))));
}

/** Reports a scenario that step 5 did not run. */
export function notRun(suite: string, scenario: string): string {
  return `not run here, Electron's binary is missing: ${suite}: ${scenario}`;
}

/** Declares the hooks of a suite. Its properties are available once the tests run. */
function uiFixture(driver: Driver): Fixture {
  const scope = testScope();
  const running = new Map<string, Scope>();
  let started: { relay: Relay; start: StartApp } | undefined;
  before(async function () {
    const [relay, start] = await Promise.all([sharedRelay(), driver.begin()]);
    started = { relay, start };
  });
  const parts = () => {
    if (started === undefined) throw new Error('the suite has not begun');
    return started;
  };

  async function end(directory: string): Promise<void> {
    await running.get(directory)?.end();
  }

  async function open(directory: string = join(temporaryDirectory(scope), 'culvert')): Promise<OpenApp> {
    await end(directory);
    const own = new Scope();
    running.set(directory, own);
    scope.defer(() => own.end());
    return { ...(await parts().start(own, directory)), directory };
  }

  return {
    scope,
    get relay() {
      return parts().relay;
    },
    open,
    end,
    async openSignedIn({ plan = 'dev', relay = parts().relay, address = relay.url } = {}) {
      const [account, opened] = await Promise.all([createAccount(relay, { plan }), open()]);
      await signIn(opened.page, address, account.key);
      await opened.page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
      return { ...opened, account };
    },
  };
}

/** Fills in and submits the sign-in form. */
export async function signIn(page: Page, relay: string, key: string): Promise<void> {
  await page.getByLabel('Relay').fill(relay);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Waits until the window shows an account. @param name of the account */
export async function signedInAs(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${name} · `) }).waitFor();
}

/** Chooses in the menu of the sign-ins. */
export async function chooseSignIn(page: Page, words: string | RegExp): Promise<void> {
  await page.locator('#sign-ins').click();
  await page.getByRole('menuitem', { name: words }).click();
}

/** Switches an English window to German in the settings. */
export async function speakGerman(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByLabel('Language').selectOption('de');
  await page.getByRole('button', { name: 'Zurück' }).click();
}

/** The card of a tunnel. */
export function card(page: Page, slug: string): Locator {
  return page.locator(`.card[data-slug="${slug}"]`);
}

/** Exposes a port, and waits until it is online. @returns the slug */
export async function expose(page: Page, port: number): Promise<string> {
  await page.getByLabel('Port', { exact: true }).fill(String(port));
  await page.getByRole('button', { name: 'Expose' }).click();
  const exposed = page.locator('.card', { hasText: `localhost:${port}` });
  await exposed.getByText('Online').waitFor();
  return (await exposed.getAttribute('data-slug')) ?? '';
}

/** Chooses a rarer action of the open request, in its menu. */
export async function chooseMore(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions', exact: true }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

/** Chooses the best match for some words in the command palette. */
export async function chooseFromPalette(page: Page, words: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(words);
  // A field behind it may have options as well.
  await page.getByRole('dialog').getByRole('option', { selected: true }).waitFor();
  await page.keyboard.press('Enter');
}

/** Chooses a rarer action of the open request log, in its menu. */
export async function chooseOfLog(page: Page, action: string): Promise<void> {
  await page.getByRole('button', { name: 'More actions for the requests' }).click();
  await page.getByRole('menuitem', { name: action }).click();
}
