import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import type { Scope } from '../../support/scope.ts';

/** Opens a window with a seventh of the work of the whole browser. */
const SHELL = '/usr/bin/chromium-headless-shell';
/** Debian's; the same major version as the Chromium in Electron. */
const CHROMIUM = process.env['CULVERT_CHROMIUM'] ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium');

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
