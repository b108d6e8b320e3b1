import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { CONTENT_SECURITY_POLICY } from '../../../desktop/app/ipc/views.ts';
import { readPageFile } from '../../../desktop/app/main/page-files.ts';
import { buildPage, buildPreload } from '../../../desktop/build/build.ts';
import { startHttpService } from '../../support/services/listen.ts';
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

/** An empty page, beside the files of the window. */
export const IDLE_PATH = '/idle';

/** The window, as the app ships it. */
export interface BuiltWindow {
  /** where its files are served, with the production policy */
  readonly origin: string;
  /** source of the bundled preload, which loads `electron` with `require` */
  readonly preload: string;
}

/** Bundles the page and its preload as the app's own build does. */
export async function buildWindow(scope: Scope): Promise<BuiltWindow> {
  const directory = temporaryDirectory(scope);
  const page = join(directory, 'page');
  const preload = join(directory, 'preload.cjs');
  await Promise.all([buildPage(page), buildPreload(preload)]);
  const files = await startHttpService(scope, (request, response) => void serve(page, request, response));
  return { origin: `http://127.0.0.1:${files.port}`, preload: await readFile(preload, 'utf8') };
}

async function serve(
  directory: string,
  { url = '' }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (url === IDLE_PATH) {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end('<!doctype html><title>idle</title>');
    return;
  }
  const file = await readPageFile(directory, url, CONTENT_SECURITY_POLICY);
  response.writeHead(file === undefined ? 404 : 200, { ...file?.headers, 'cache-control': 'max-age=3600' });
  response.end(file?.body);
}
