#!/usr/bin/env node
/**
 * Debian's Firefox, as Playwright starts it (`executablePath`), behind a proxy for the one command of WebDriver BiDi that
 * Playwright always sends and this Firefox does not know. Everything else passes unchanged.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { WebSocket, WebSocketServer } from 'ws';

/** Sets what a page sees of the system's theme. The preferences of the profile do that here (firefox.test.ts). */
const UNKNOWN = 'emulation.setMediaFeaturesOverride';
/** Screenshots are the largest messages. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

// In the process group of this program, which Playwright ends as a whole.
const firefox = spawn('firefox-esr', process.argv.slice(2), { stdio: ['ignore', 'inherit', 'pipe'] });
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
  server.on('connection', (playwright, { url }) => join(playwright, `${address}${url ?? ''}`));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function join(playwright: WebSocket, address: string): void {
  const browser = new WebSocket(address, { maxPayload: MAX_MESSAGE_BYTES });
  const opened = once(browser, 'open');
  opened.catch(() => playwright.terminate());
  playwright.on('message', (data: Buffer) => {
    const text = data.toString();
    const { id, method } = JSON.parse(text) as { readonly id: number; readonly method: string };
    if (method === UNKNOWN) playwright.send(JSON.stringify({ type: 'success', id, result: {} }));
    else
      void opened.then(
        () => browser.send(text),
        () => undefined,
      );
  });
  browser.on('message', (data: Buffer) => playwright.send(data.toString()));
  for (const [one, other] of [
    [playwright, browser],
    [browser, playwright],
  ] as const) {
    one.on('error', () => one.terminate());
    one.on('close', () => other.terminate());
  }
}
