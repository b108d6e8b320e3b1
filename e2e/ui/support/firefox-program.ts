#!/usr/bin/env node
/**
 * Debian's Firefox, as Playwright starts it (`executablePath`), behind a proxy for the one command of WebDriver BiDi that
 * Playwright always sends and this Firefox does not know: the proxy does what it asks for with a script in Firefox's own
 * window. Everything else passes unchanged.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { WebSocket, WebSocketServer } from 'ws';

/** Sets what a page sees of the system's theme: of what it may contain, Playwright sends the color scheme alone. */
const UNKNOWN = 'emulation.setMediaFeaturesOverride';
/** What the page has to see, which the test has just written (firefox.ts). */
const MEDIA = join(process.env['HOME'] ?? '', 'media.json');
/** Numbers of the proxy's own commands; Playwright counts up from 1. */
const OWN_ID = 1_000_000_000;
/** Screenshots are the largest messages. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

// In the process group of this program, which Playwright ends as a whole.
const firefox = spawn('firefox-esr', ['--remote-allow-system-access', ...process.argv.slice(2)], {
  stdio: ['ignore', 'inherit', 'pipe'],
});
firefox.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
firefox.on('exit', (code) => process.exit(code ?? 1));

for await (const line of createInterface({ input: firefox.stderr })) {
  const [, address] = /^WebDriver BiDi listening on (ws:\/\/\S+)$/.exec(line) ?? [];
  const shown = address === undefined ? line : `WebDriver BiDi listening on ${await startProxy(address)}`;
  process.stderr.write(`${shown}\n`);
}

/** @returns the address of the proxy, for Playwright to connect to */
async function startProxy(address: string): Promise<string> {
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    maxPayload: MAX_MESSAGE_BYTES,
    // No page may drive the browser. Firefox checks that too, but does not see who connects to the proxy.
    verifyClient: ({ req }: { readonly req: IncomingMessage }) => req.headers.origin === undefined,
  });
  await once(server, 'listening');
  server.on('connection', (playwright, { url }) => connect(playwright, `${address}${url ?? ''}`));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Command {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly contexts?: readonly string[] };
}

function connect(playwright: WebSocket, address: string): void {
  const browser = new WebSocket(address, { maxPayload: MAX_MESSAGE_BYTES });
  const opened = once(browser, 'open');
  opened.catch(() => playwright.terminate());
  const own = new Map<number, (result: unknown) => void>();
  let lastId = OWN_ID;
  const ask = (method: string, params: object): Promise<unknown> => {
    const id = (lastId += 1);
    const { promise, resolve } = Promise.withResolvers<unknown>();
    own.set(id, resolve);
    browser.send(JSON.stringify({ id, method, params }));
    return promise;
  };

  async function setMedia({ contexts = [] }: Command['params']): Promise<void> {
    // What applies to later pages is set in each of them.
    if (contexts.length === 0 || !existsSync(MEDIA)) return;
    const tree = (await ask('browsingContext.getTree', { 'moz:scope': 'chrome', maxDepth: 0 })) as {
      readonly contexts: readonly { readonly context: string }[];
    };
    await ask('script.evaluate', {
      expression: script(readFileSync(MEDIA, 'utf8')),
      target: { context: tree.contexts[0]?.context },
      awaitPromise: false,
    });
  }

  async function pass(text: string): Promise<void> {
    await opened;
    const { id, method, params } = JSON.parse(text) as Command;
    if (method !== UNKNOWN) return browser.send(text);
    await setMedia(params);
    playwright.send(JSON.stringify({ type: 'success', id, result: {} }));
  }

  playwright.on('message', (data: Buffer) => void pass(data.toString()).catch(() => playwright.terminate()));
  browser.on('message', (data: Buffer) => {
    const text = data.toString();
    const { id, result } = JSON.parse(text) as { readonly id?: number; readonly result?: unknown };
    const waiting = own.get(id ?? 0);
    if (waiting === undefined) return playwright.send(text);
    own.delete(id ?? 0);
    waiting(result);
  });
  for (const [one, other] of [
    [playwright, browser],
    [browser, playwright],
  ] as const) {
    one.on('error', () => one.terminate());
    one.on('close', () => other.terminate());
  }
}

/**
 * @param media JSON
 * @returns a script that sets preferences of the whole browser, because a page loses its own when it loads another
 */
function script(media: string): string {
  return `{
    const { colorScheme, forcedColors, reducedMotion } = ${media};
    const { prefs } = Services;
    prefs.setIntPref('layout.css.prefers-color-scheme.content-override', colorScheme === 'dark' ? 0 : 1);
    prefs.setIntPref('browser.display.document_color_use', forcedColors === 'active' ? 2 : 0);
    prefs.setIntPref('ui.prefersReducedMotion', reducedMotion === 'reduce' ? 1 : 0);
  }`;
}
