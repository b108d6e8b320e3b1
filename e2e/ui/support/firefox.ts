import { delimiter, dirname, join } from 'node:path';
import { type Browser, firefox } from 'playwright-core';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

/** Firefox does not let a page's driver emulate these, so they are preferences of the whole browser. */
const PREFERENCES = {
  // dark
  'layout.css.prefers-color-scheme.content-override': 0,
  'ui.prefersReducedMotion': 1,
  // Processes that stand ready for further pages cost CPU time.
  'dom.ipc.processPrelaunch.enabled': false,
};

/** Starts Debian's Firefox without a window, for a user whose system is dark and without motion; ends with the scope. */
export async function startFirefox(scope: Scope): Promise<Browser> {
  const browser = await firefox.launch({
    // Drives it over WebDriver BiDi instead of a protocol that only Playwright's own build has.
    channel: 'moz-firefox',
    executablePath: join(import.meta.dirname, 'firefox-program.ts'),
    firefoxUserPrefs: PREFERENCES,
    env: {
      ...process.env,
      // That program runs in the Node.js that runs the tests.
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
      // Firefox also writes outside of its profile.
      HOME: temporaryDirectory(scope),
    },
  });
  scope.defer(() => browser.close());
  return browser;
}
