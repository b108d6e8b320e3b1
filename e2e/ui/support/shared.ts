/**
 * What suites share: created when the first of them asks for it, ended after the last one of the run. With `mocha --parallel`
 * each file is a run of its own. Loaded with `mocha --require`, which is how the end is told here.
 */
import type { RootHookObject } from 'mocha';
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startBrowser } from './browser.ts';
import { buildWindow } from './build.ts';

let run = new Scope();
/** what was created before does not belong to the next run */
const forgetters: (() => void)[] = [];

export const mochaHooks: RootHookObject = {
  async afterAll() {
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
