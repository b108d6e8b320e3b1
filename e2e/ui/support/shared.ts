/** What all suites of a run share: made when the first of them asks for it, ended after the last. */
import { Relay } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { startBrowser } from './browser.ts';
import { buildWindow } from './build.ts';

const run = new Scope();
after(() => run.end());

/** @returns what gives everybody the same one */
export function sharedByAll<T>(make: (run: Scope) => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make(run));
}

export const sharedBrowser = sharedByAll(startBrowser);
export const sharedWindow = sharedByAll(buildWindow);
/** For scenarios that leave it running, each with an account of its own. */
export const sharedRelay = sharedByAll((scope) => Relay.start(scope));
