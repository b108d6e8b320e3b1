import { chromium, type Browser } from 'playwright-core';
import type { Scope } from '../../support/scope.ts';

/** Debian's; the same major version as the Chromium in Electron. */
const CHROMIUM = process.env['CULVERT_CHROMIUM'] ?? '/usr/bin/chromium';

/** A real Chromium without a window; ends with the scope. */
export async function startBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // The sandbox of Chromium needs privileges that containers do not give; the pages here are our own.
    chromiumSandbox: false,
  });
  scope.defer(() => browser.close());
  return browser;
}
