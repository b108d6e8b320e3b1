import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { buildPage, buildPreload } from '../../../desktop/build/build.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

/** Uses a seventh of the CPU time of the full browser to open a window. */
const SHELL = '/usr/bin/chromium-headless-shell';
/** Debian's Chromium. It has the same major version as the one in Electron. */
const CHROMIUM = process.env['CULVERT_CHROMIUM'] ?? (existsSync(SHELL) ? SHELL : '/usr/bin/chromium');

/** Starts a real Chromium without a window; ends with the scope. */
export async function startBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // The sandbox of Chromium needs privileges that containers do not have. The pages are our own.
    chromiumSandbox: false,
  });
  scope.defer(() => browser.close());
  return browser;
}

/** The files of the window, as the app ships them. */
export interface BuiltWindow {
  /** directory of the page */
  readonly page: string;
  /** source of the bundled preload, which loads `electron` with `require` */
  readonly preload: string;
}

/** Bundles the page and its preload as the app's own build does. */
export async function buildWindow(scope: Scope): Promise<BuiltWindow> {
  const directory = temporaryDirectory(scope);
  const page = join(directory, 'page');
  const preload = join(directory, 'preload.cjs');
  await Promise.all([buildPage(page), buildPreload(preload)]);
  return { page, preload: await readFile(preload, 'utf8') };
}
