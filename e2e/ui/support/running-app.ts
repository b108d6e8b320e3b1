import type { RootHookObject } from 'mocha';
import type { Page } from 'playwright-core';
import type { TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { buildWindow, startBrowser } from './browser.ts';

/** What a scenario sees of the app besides its page, and does to it: the same on every rung (docs/testing.md). */
export interface RunningApp {
  /** The newest tunnel, as the window is told about it. @throws while there is none */
  tunnel(): Promise<TunnelView>;
  /** what was copied, in order */
  copied(): Promise<readonly string[]>;
  /** addresses that were opened in the user's browser, in order */
  opened(): Promise<readonly string[]>;
  /** the theme that the system was asked for */
  theme(): Promise<string>;
  /** What the user answers when the system asks for a folder; `undefined`: wants none. */
  chooseNext(folder: string | undefined): Promise<void>;
  /** Somebody opens a `culvert://` link, for example in a browser. */
  openLink(link: string): Promise<void>;
  /** The machine is going to sleep. */
  suspend(): Promise<void>;
  /** The machine is awake again. */
  wake(): Promise<void>;
}

export interface StartedApp {
  readonly app: RunningApp;
  readonly page: Page;
  /** Drops files or folders on the window, as the system does. @param paths theirs */
  readonly drop: (paths: readonly string[]) => Promise<void>;
  /** Zooms the page, as the user can. @param factor 1 is 100 % */
  readonly zoom: (factor: number) => Promise<void>;
}

/**
 * Starts the app on a directory of its own files: the same directory is the same app, started again, once the scope of the
 * previous one has ended.
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
 * What suites share: created when the first of them asks for it, ended after the last one of the run. Loaded with
 * `mocha --require`, which is how the end is told here. With `mocha --parallel` each worker has its own, for all of its files:
 * there each file counts as a run, and a browser, a relay and a build of the window for each file cost more than its tests.
 */

/** Whether this process runs some files of a run. What they share ends with the process (reaper.ts). */
const isWorker = process.env['MOCHA_WORKER_ID'] !== undefined;
let run = new Scope();
/** what was created before does not belong to the next run */
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

/** @returns a function that gives everybody in a run the same one */
export function sharedByAll<T>(make: (run: Scope) => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  forgetters.push(() => (made = undefined));
  return () => (made ??= make(run));
}

export const sharedBrowser = sharedByAll(startBrowser);
export const sharedWindow = sharedByAll(buildWindow);
/** For scenarios that leave it running, each with an account of its own. */
export const sharedRelay = sharedByAll((scope) => Relay.start(scope));
