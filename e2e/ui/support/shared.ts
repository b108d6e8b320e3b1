/**
 * What suites share: created when the first of them asks for it, ended after the last one of the run. Loaded with
 * `mocha --require`, which is how the end is told here. With `mocha --parallel` each worker has its own, for all of its files:
 * there each file counts as a run, and a browser, a relay and a build of the window for each file cost more than its tests.
 */
import type { RootHookObject } from 'mocha';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startBrowser } from './browser.ts';
import { buildWindow } from './build.ts';

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
