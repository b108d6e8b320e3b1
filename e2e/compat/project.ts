import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { runScript } from '../support/child.ts';
import type { Scope } from '../support/scope.ts';

/** Next to the installed packages of the apps, so that projects find them. */
const APPS = realpathSync(fileURLToPath(new URL('./apps', import.meta.url)));

/** A developer's project: files in a folder of their own, removed with the scope. */
export class Project {
  readonly folder: string;

  constructor(scope: Scope, files: Readonly<Record<string, string>>) {
    this.folder = mkdtempSync(join(APPS, 'run-'));
    scope.defer(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 }));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  /** Saves a file, as an editor does. */
  write(name: string, text: string): void {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /**
   * Starts a dev server of a package in apps/; ended with the scope.
   *
   * @param program its path below node_modules
   * @param ready a line that it prints once it accepts requests
   */
  async serve(scope: Scope, program: string, args: readonly string[], ready: RegExp): Promise<void> {
    await start(scope, join(APPS, 'node_modules', program), args, ready);
  }

  /** Starts a program of the project itself, in the same way. */
  async run(scope: Scope, name: string, args: readonly string[], ready: RegExp): Promise<void> {
    await start(scope, join(this.folder, name), args, ready);
  }
}

async function start(scope: Scope, script: string, args: readonly string[], ready: RegExp): Promise<void> {
  const environment = { NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1', NODE_ENV: 'development' };
  const child = runScript(script, args, environment);
  // Not SIGKILL: Next.js has to end its child process.
  scope.defer(() => child.stop('SIGTERM'));
  await child.line((line) => (ready.test(line) ? true : undefined), 180_000);
}

/** Debian's Chromium, without a window; for it, `*.localhost` is this machine. Closed with the scope. */
export async function launchBrowser(scope: Scope): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Chromium refuses to run its sandbox as root, which containers do.
    args: isRoot ? ['--no-sandbox'] : [],
    timeout: 180_000,
  });
  scope.defer(() => browser.close());
  return browser;
}

/** A page, with the addresses of the WebSockets that it has opened and what they received. */
export interface WatchedPage {
  readonly page: Page;
  readonly webSockets: readonly string[];
  readonly messages: readonly string[];
}

/** Opens a page whose waits give up after 2 min. */
export async function openPage(browser: Browser, url: string): Promise<WatchedPage> {
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const webSockets: string[] = [];
  const messages: string[] = [];
  page.on('websocket', (socket) => {
    webSockets.push(socket.url());
    socket.on('framereceived', ({ payload }) => messages.push(String(payload)));
  });
  await page.goto(url, { timeout: 180_000 });
  return { page, webSockets, messages };
}
