import type { RootHookObject } from 'mocha';
import type { Page } from 'playwright-core';
import type { TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { buildWindow, type MainSide, openWindow, type WindowOptions } from './app-window.ts';
import { startBrowser } from '../../support/browser.ts';
import { startFirefox } from './firefox.ts';

/** What a scenario sees and does outside the app's page. The same in every step (docs/contributing/testing.md). */
export interface RunningApp {
  /** The newest tunnel, as reported to the window. @throws if there is none */
  tunnel(): Promise<TunnelView>;
  /** what was copied, in order */
  copied(): Promise<readonly string[]>;
  /** addresses that were opened in the user's browser, in order */
  opened(): Promise<readonly string[]>;
  /** the theme that was requested from the system */
  theme(): Promise<string>;
  /** The user's answer when the system asks for a folder; `undefined` to cancel. */
  chooseNext(folder: string | undefined): Promise<void>;
  /** Opens a `culvert://` link, for example from a browser. */
  openLink(link: string): Promise<void>;
  /** The machine is going to sleep. */
  suspend(): Promise<void>;
  /** The machine is awake again. */
  wake(): Promise<void>;
}

export interface StartedApp {
  readonly app: RunningApp;
  readonly page: Page;
  /** Drops files or folders on the window, as the system does. @param paths of the dropped files */
  readonly drop: (paths: readonly string[]) => Promise<void>;
}

/**
 * Starts the app on a directory with its files. Once the scope of the previous app has ended, the same directory
 * restarts that app.
 */
export type StartApp = (scope: Scope, directory: string) => Promise<StartedApp>;

/** A way to run the app with its window. */
export interface Driver {
  /** Prepares what all suites share. */
  begin(): Promise<StartApp>;
}

/** @throws when there is no tunnel */
export function newest(tunnels: readonly TunnelView[]): TunnelView {
  const [tunnel] = tunnels;
  if (tunnel === undefined) throw new Error('the app has no tunnel');
  return tunnel;
}

/*
 * Resources that suites share: created on first use, released after the last suite of the run. Loaded with
 * `mocha --require`, which reports the end of the run. With `mocha --parallel` each worker has its own, for all of its
 * files: each file counts as a run there, and a browser, a relay and a build of the window for each file cost more than
 * its tests.
 */

/** Whether this is a worker that runs only some files. Its shared resources end with the process (reaper.ts). */
const isWorker = process.env['MOCHA_WORKER_ID'] !== undefined;
let run = new Scope();
/** functions that drop what belongs to the previous run */
const forgetters: (() => void)[] = [];

export const mochaHooks: RootHookObject = {
  async afterAll() {
    if (isWorker) return;
    const ended = run;
    run = new Scope();
    for (const forget of forgetters) forget();
    await ended.end();
  },
};

/** @returns a function that returns the same value to all callers in a run */
export function sharedByAll<T>(make: (run: Scope) => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  forgetters.push(() => (made = undefined));
  return () => (made ??= make(run));
}

/** Whether the tests run in Firefox instead of Chromium. */
export const isFirefox = process.env['CULVERT_BROWSER'] === 'firefox';

/** Declares a test of what the driver of Firefox cannot do. @param why it cannot */
export function itInChromium(why: string, title: string, test: () => Promise<void>): void {
  if (isFirefox) it.skip(`${title} (not in Firefox: ${why})`);
  else it(title, test);
}

export const sharedBrowser = sharedByAll((scope) => (isFirefox ? startFirefox(scope) : startBrowser(scope)));
export const sharedWindow = sharedByAll(buildWindow);
/** A relay for scenarios that do not restart it, each with its own account. */
export const sharedRelay = sharedByAll((scope) => Relay.start(scope));

/** Opens the window on answers of a test. */
export async function openScripted(scope: Scope, main: MainSide, options?: WindowOptions): Promise<Page> {
  const [browser, built] = await Promise.all([sharedBrowser(), sharedWindow()]);
  return await openWindow(scope, browser, built, main, options);
}
