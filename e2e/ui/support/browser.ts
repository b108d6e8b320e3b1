import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type Browser, chromium } from 'playwright-core';
import { PAGE } from '../../../desktop/build/build.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { CHROMIUM } from '../../support/trusting-browser.ts';

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

const RENDERER = join(import.meta.dirname, '../../../desktop/app/renderer');

/** The page of the app, with the bridge of a browser instead of the preload; files are named after their paths. */
const APP_PAGE = `
  import { BrowserBridge } from './browser/browser-bridge.ts';
  import { start } from './app.tsx';
  import './style/browser.css';
  start(() => {
    const bridge = new BrowserBridge();
    const pathOf = ({ name }) => decodeURIComponent(name);
    const drop = (files) => bridge.call('folder:drop', { paths: files.map(pathOf) });
    return Object.assign(bridge, { browser: undefined, drop });
  });
`;

/** Builds the page of the app. @returns the directory of its files */
export async function buildWindow(scope: Scope): Promise<string> {
  const directory = temporaryDirectory(scope);
  await build({
    ...PAGE,
    stdin: { contents: APP_PAGE, resolveDir: RENDERER },
    outfile: join(directory, 'main.js'),
  });
  await cp(join(RENDERER, 'index.html'), join(directory, 'index.html'));
  return directory;
}
