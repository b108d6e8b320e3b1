import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import type { Scope } from '../../../support/scope.ts';
import { violations } from '../../support/readable.ts';

/** The ways in which people may view a page. */
export const VIEWS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  'high contrast': { colorScheme: 'dark', forcedColors: 'active' },
} as const;

/** A small phone, a window at a zoom of 200 %, and a wide one. */
const WIDTHS_PX = [320, 640, 1280];
/** The default font size of browsers. */
const READABLE_PX = 16;

/** Asserts that a page of the relay is readable in every view and width, and loads and runs nothing. */
export async function assertReadable(page: Page): Promise<void> {
  // Some pages load themselves again. A response without content keeps the page.
  await page.route('**', (route) => route.fulfill({ status: 204 }));
  assert.equal(await page.locator('script, link, img, iframe, object').count(), 0);
  const papers = new Set<string>();
  for (const [view, media] of Object.entries(VIEWS)) {
    await page.emulateMedia(media);
    assert.deepEqual(await violations(page), [], view);
    papers.add(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
    for (const width of WIDTHS_PX) {
      await page.setViewportSize({ width, height: 640 });
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(wide <= width, `${view}: ${wide} px in a window of ${width} px`);
    }
  }
  assert.equal(papers.size, Object.keys(VIEWS).length, [...papers].join('; '));
  const size = await page.evaluate<string>("getComputedStyle(document.querySelector('p')).fontSize");
  assert.ok(Number.parseFloat(size) >= READABLE_PX, size);
  await page.unroute('**');
}

/** A page that a visitor has opened. */
export interface OpenAddress {
  readonly page: Page;
  /** the response to the address itself */
  readonly answer: Response;
  /** addresses of all requests, in order */
  readonly requests: readonly string[];
  /** errors that the page logs, failed scripts included */
  readonly errors: readonly string[];
}

/** Opens an address in a browser that stores only what the options contain. Ends with the scope. */
export async function openAddress(
  scope: Scope,
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<OpenAddress> {
  const context = await browser.newContext(options);
  scope.defer(() => context.close());
  const page = await context.newPage();
  // Shorter than the limit of a test, so that a failure says what it waited for.
  page.setDefaultTimeout(20_000);
  const requests: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  const answer = await page.goto(address);
  if (answer === null) throw new Error(`${address} was not asked for`);
  return { page, answer, requests, errors };
}
