import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';
import { type Child, runScript } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import type { Scope } from '../support/scope.ts';
import { CHROMIUM } from '../support/trusting-browser.ts';

/** Of dev servers, which are not to send anything to their makers. */
export const DEV_ENVIRONMENT: Readonly<Record<string, string>> = {
  ASTRO_TELEMETRY_DISABLED: '1',
  NEXT_TELEMETRY_DISABLED: '1',
  NG_CLI_ANALYTICS: 'false',
  NUXT_TELEMETRY_DISABLED: '1',
  STORYBOOK_DISABLE_TELEMETRY: '1',
  NO_COLOR: '1',
  NODE_ENV: 'development',
  PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter),
};

/** A developer's project: files in a folder of their own, removed with the scope. */
export class Project {
  readonly folder: string;
  /** next to the installed packages, so that the project finds them */
  readonly #apps: string;

  /** @param apps the folder of this one with the packages that it needs */
  constructor(scope: Scope, files: Readonly<Record<string, string>>, apps = 'apps') {
    this.#apps = realpathSync(fileURLToPath(new URL(`./${apps}`, import.meta.url)));
    this.folder = mkdtempSync(join(this.#apps, 'run-'));
    scope.defer(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 }));
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  /** Saves a file, as an editor does. */
  write(name: string, text: string): void {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** A command whose first word is an installed program, with its path. */
  command([program = '', ...args]: readonly string[]): string[] {
    return [join(this.#apps, 'node_modules/.bin', program), ...args];
  }

  /**
   * Starts a script of the project; ended with the scope.
   *
   * @param ready a line that it prints once it accepts requests
   */
  async run(scope: Scope, name: string, args: readonly string[], ready: RegExp): Promise<void> {
    const child = runScript(join(this.folder, name), args, DEV_ENVIRONMENT);
    scope.defer(() => child.stop('SIGTERM'));
    await child.line((line) => (ready.test(line) ? true : undefined), 180_000);
  }
}

/** Waits until a program accepts connections, on either loopback address. */
export async function listening(child: Child, port: number): Promise<void> {
  await eventually(180_000, async () => {
    if (child.hasExited) throw new Error(child.output);
    await Promise.any([accepts('127.0.0.1', port), accepts('::1', port)]);
  });
}

async function accepts(host: string, port: number): Promise<void> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(5000) });
  } finally {
    socket.destroy();
  }
}

/** Debian's Chromium, without a window; for it, `*.localhost` is this machine. Closed with the scope. */
export async function launchBrowser(scope: Scope): Promise<Browser> {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
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
