/**
 * `npm run pictures` makes docs/images/first-minute.svg with this: the first minute of Culvert in twelve seconds. A
 * relay, `culvert http` on a terminal and its window run as they are; what both show is drawn again as text.
 */
import { createHmac } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../support/browser.ts';
import { CULVERT_SCRIPT, Relay, temporaryDirectory } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { type Screen, Terminal } from '../../support/terminal.ts';
import { newContext } from '../support/app-window.ts';
import { fontStyle, IMAGES } from '../support/pictures.ts';
import {
  type Caption,
  COLUMNS,
  drawRecording,
  PAGE_SIZE,
  type PageFrame,
  type TerminalFrame,
} from './drawing.ts';

const OUTPUT = process.argv[2] ?? join(IMAGES, 'first-minute.svg');
const SHAPES = readFileSync(new URL('page-shapes.js', import.meta.url), 'utf8');

const ADDRESS = 'shop.tunnels.example.com';
const PORT = 3000;
const SECRET = 'whsec_example';
const EVENT =
  '{"id":"evt_1042","type":"checkout.session.completed","data":{"amount_total":2780,"currency":"eur"}}';
/** ms between two keys */
const KEY_MS = 45;
/** s that the last frame stays */
const LAST_S = 2.5;

const LABEL =
  'culvert http 3000 gives a local server a public address. A Stripe webhook arrives and fails, although its signature is valid. Sent again, it succeeds.';

const scope = new Scope();
let start = 0;
const now = (): number => Math.round((performance.now() - start) / 10) / 100;
const terminalFrames: TerminalFrame[] = [];
const pageFrames: PageFrame[] = [];
const captions: Caption[] = [];

function addTerminal({ text, isCursorShown: hasCursor }: Screen): void {
  const last = terminalFrames.at(-1);
  if (last?.text !== text || last.hasCursor !== hasCursor)
    terminalFrames.push({ at: now(), text, hasCursor });
}

function caption(text: string): void {
  captions.push({ at: now(), text });
}

async function shapesOf(page: Page, colorScheme: 'light' | 'dark'): Promise<string[]> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  return await page.evaluate<string[]>(SHAPES);
}

/** A request that is signed as Stripe signs. */
function webhook() {
  const time = Math.floor(Date.now() / 1000);
  const digest = createHmac('sha256', SECRET).update(`${time}.${EVENT}`).digest('hex');
  return {
    method: 'POST',
    host: ADDRESS,
    target: '/webhooks',
    body: EVENT,
    headers: [
      ['Content-Type', 'application/json'],
      ['User-Agent', 'Stripe/1.0 (+https://stripe.com/docs/webhooks)'],
      ['Stripe-Signature', `t=${time},v1=${digest}`],
      ['X-Forwarded-For', '203.0.113.7'],
      ['X-Forwarded-Proto', 'https'],
    ],
  } as const;
}

/** Records the terminal whenever it changes, and the window when a step asks for it. */
async function record(): Promise<void> {
  let status = 500;
  const server = createServer((request, response) => {
    request
      .resume()
      .on('end', () =>
        response
          .writeHead(status, { 'Content-Type': 'application/json' })
          .end(status === 200 ? '{"received":true}' : '{"error":"no price in EUR"}'),
      );
  }).listen(PORT, '127.0.0.1');
  scope.defer(() => void server.close());
  const relay = await Relay.start(scope, {
    CULVERT_PUBLIC_URL: 'https://relay.example.com',
    CULVERT_TUNNEL_DOMAIN: 'tunnels.example.com',
    CULVERT_TRUST_PROXY: '127.0.0.1',
  });
  await relay.administer('account', 'create', '--name', 'ann', '--plan', 'dev');
  const { key } = await relay.administer('key', 'create', '--account', 'ann');
  const browser = await startBrowser(scope);
  const context = await newContext(browser, {
    viewport: PAGE_SIZE,
    reducedMotion: 'reduce',
    bypassCSP: true,
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  const home = temporaryDirectory(scope);
  const bin = temporaryDirectory(scope);
  writeFileSync(join(bin, 'culvert'), `#!/bin/sh\nexec '${process.execPath}' '${CULVERT_SCRIPT}' "$@"\n`, {
    mode: 0o755,
  });
  const terminal = new Terminal(
    scope,
    'exec sh -i',
    {
      PATH: `${bin}:/usr/bin:/bin`,
      HOME: home,
      XDG_CONFIG_HOME: home,
      PS1: '$ ',
      ENV: '',
      DISPLAY: '',
      WAYLAND_DISPLAY: '',
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: String(key),
      TZ: 'UTC',
    },
    COLUMNS,
  );
  const { screen } = terminal;
  screen.keepsStyles = true;
  await terminal.shows(/\$ $/);
  start = performance.now();
  addTerminal(screen);
  const sample = setInterval(() => addTerminal(screen), 40);
  const type = async (keys: string): Promise<void> => {
    for (const character of keys) {
      terminal.type(character);
      await delay(KEY_MS);
    }
  };
  const look = async (): Promise<void> => {
    const at = now();
    const light = await shapesOf(page, 'light');
    const dark = await shapesOf(page, 'dark');
    pageFrames.push({ at, light, dark });
  };

  caption('One command gives a local port a public address.');
  await delay(400);
  await type('culvert http 3000 --name shop');
  await delay(300);
  terminal.type('\n');
  await terminal.shows(/No requests yet/);
  await delay(1200);
  terminal.type('w');
  const link = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]{22}/.exec(await terminal.shows(/\/#[\w-]{22}/))?.[0] ?? '';
  await page.goto(link);
  await page.addStyleTag({ content: fontStyle() });
  await page.evaluate('document.fonts.ready');
  await page.locator('.tunnel-row').getByText('Online').waitFor();
  await look();
  await delay(700);

  await visit(relay.port, webhook());
  await terminal.shows(/\/webhooks/);
  const row = page.locator('.log .row', { hasText: '/webhooks' });
  await row.waitFor();
  caption('A webhook arrives, and the handler fails.');
  await look();
  await delay(900);
  await row.click();
  await page.locator('.message').first().waitFor();
  await look();
  await delay(900);

  caption('With the secret, Culvert checks its signature.');
  await page.locator('#signing-secrets').click();
  const field = page.locator('#signing-secret');
  for (const length of [0, 4, 8, SECRET.length]) {
    await field.fill(SECRET.slice(0, length));
    await look();
    await delay(KEY_MS);
  }
  await field.press('Enter');
  await page.getByText(/^Valid: /).waitFor();
  await look();
  await delay(1200);

  caption('With the handler fixed, Replay sends the same bytes again.');
  await delay(500);
  status = 200;
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('"received"').waitFor();
  await page.getByText('200 OK').waitFor();
  await terminal.shows(/ 200/);
  await look();
  clearInterval(sample);
  addTerminal(screen);
}

try {
  await record();
} finally {
  await scope.end();
}
const seconds = Math.ceil(now() + LAST_S);
writeFileSync(
  OUTPUT,
  drawRecording({ terminal: terminalFrames, page: pageFrames, captions, seconds, label: LABEL }),
);
process.stdout.write(`${OUTPUT}: ${seconds} s, ${statSync(OUTPUT).size} bytes\n`);
