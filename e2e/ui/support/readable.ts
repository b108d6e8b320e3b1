import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { eventually } from '../../support/deadline.ts';
import type { Scope } from '../../support/scope.ts';

/** The number of visible pixels that a squeezed text needs to be recognizable: about five letters. */
const SEEN_PX = 40;
/** The height of a window from which on its fixed parts leave room for what scrolls. */
const USUAL_PX = 640;
/** A page is redrawn shortly after a change of size or theme. */
const SETTLE_MS = 20_000;

/**
 * Asserts that the page is accessible: axe-core finds nothing, and nothing is cut off.
 *
 * @param view named in the error
 */
export async function assertReadable(page: Page, view: string): Promise<void> {
  await eventually(SETTLE_MS, async () => assert.deepEqual(await violations(page), [], view));
  await assertNothingCutOff(page, view);
}

/** The rules of axe-core about what a theme changes. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

/** Asserts that axe-core finds nothing in the colors of the page, and that nothing is cut off. */
export async function assertColorsReadable(page: Page, view: string): Promise<void> {
  await eventually(SETTLE_MS, async () => assert.deepEqual(await violations(page, COLOR_RULES), [], view));
  await assertNothingCutOff(page, view);
}

/**
 * Asserts that nothing overflows the window or its card horizontally if that does not scroll, that no text is squeezed
 * to nothing, and that the page itself does not scroll, only parts of it.
 */
export async function assertNothingCutOff(page: Page, view: string): Promise<void> {
  await eventually(SETTLE_MS, async () => assert.deepEqual(await overflowing(page), [], view));
}

async function overflowing(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`
    [document.documentElement, ...document.querySelectorAll('button, input, select, textarea, .chip, .from, p, h1, h2, .link-name, .row span, .address *, .meta span')]
      .filter((element) => {
        if (element === document.documentElement) return innerHeight >= ${USUAL_PX} && element.scrollHeight > innerHeight;
        const { display, overflowX } = getComputedStyle(element);
        // Browsers differ in what they say of a text in a line.
        const isTooLong = display !== 'inline' && element.scrollWidth > element.clientWidth;
        const { left, right, width } = element.getBoundingClientRect();
        const room = element.closest('.card')?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
        const isOutside = width > 1 && (left < room.left - 1 || right > room.right + 1);
        // Long texts may end in an ellipsis, but a part of them must be visible.
        const isSqueezed = isTooLong && element.clientWidth < ${SEEN_PX};
        // What does nothing about a text that is too long lets it stick out.
        const isSpilling = isTooLong && element.scrollWidth > element.clientWidth + 1 && overflowX === 'visible';
        if (isSpilling && element.matches('button:not(.icon-button), .chip, .row span:not(.unseen)')) return true;
        return isOutside || (isSqueezed && element.matches('h1, b, .link-name, .target, .status, .took'));
      })
      .map((element) => element.outerHTML.slice(0, 200))
  `);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * What axe-core finds on a page, one line each.
 *
 * @param rules names of its rules; all by default
 */
export async function violations(page: Page, rules?: readonly string[]): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(AXE);
  // Describes only violations, because there are many nodes without one.
  const options = { resultTypes: ['violations'], selectors: false, ...(rules && { runOnly: rules }) };
  return await page.evaluate<string[]>(`(async () => {
    const { violations } = await axe.run(document, ${JSON.stringify(options)});
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html + ' ' + node.failureSummary));
  })()`);
}

/** Whether the background of the window is darker than its text. */
export async function isDark(page: Page): Promise<boolean> {
  const brightness = async (property: string) => {
    const numbers = (await colorOf(page, 'body', property)).match(/\d+/g) ?? [];
    return numbers.slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
  };
  return (await brightness('backgroundColor')) < (await brightness('color'));
}

/** A computed property of the first element that matches. */
export async function colorOf(page: Page, selector: string, property: string): Promise<string> {
  return await page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
  );
}

/* Pages of a relay, as visitors see them. */

/** The ways in which people may view a page. */
const VIEWS = {
  light: { colorScheme: 'light', forcedColors: 'none' },
  dark: { colorScheme: 'dark', forcedColors: 'none' },
  'high contrast': { colorScheme: 'dark', forcedColors: 'active' },
} as const;

/** A small phone, a window at a zoom of 200 %, and a wide one. */
const WIDTHS_PX = [320, 640, 1280];
/** The default font size of browsers. */
const READABLE_PX = 16;

/** Asserts that a page of the relay is readable in every view and width, and loads and runs nothing. */
export async function assertPageReadable(page: Page): Promise<void> {
  // Some pages load themselves again. A response without content keeps the page.
  await page.route('**', (route) => route.fulfill({ status: 204 }));
  assert.equal(await page.locator('script, link, img, iframe, object').count(), 0);
  const papers = new Set<string>();
  for (const [view, media] of Object.entries(VIEWS)) {
    await page.emulateMedia(media);
    assert.deepEqual(await violations(page, view === 'light' ? undefined : COLOR_RULES), [], view);
    papers.add(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
  }
  for (const width of WIDTHS_PX) {
    await page.setViewportSize({ width, height: 640 });
    for (const [view, media] of Object.entries(VIEWS)) {
      await page.emulateMedia(media);
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      assert.ok(wide <= width, `${view}: ${wide} px in a window of ${width} px`);
    }
  }
  assert.equal(papers.size, Object.keys(VIEWS).length, [...papers].join('; '));
  const size = await page.evaluate<string>("getComputedStyle(document.querySelector('p')).fontSize");
  assert.ok(Number.parseFloat(size) >= READABLE_PX, size);
  await page.unroute('**');
}

/** The forms of a tunnel's address; each ends in a slash, so that everything its page requests is below it. */
export const FORMS = {
  subdomain: ({ urls }: Tunnel) => `${urls.subdomain}/`,
  path: ({ urls }: Tunnel) => `${urls.path}/`,
  'account subdomain': ({ urls }: Tunnel) => `${urls.account}/`,
} as const;
/** Those that need no subdomain of the account. */
export const TWO_FORMS = [
  ['subdomain', FORMS.subdomain],
  ['path', FORMS.path],
] as const;

/** A page that a visitor has opened. */
export type OpenAddress = Awaited<ReturnType<typeof openAddress>>;

/** Opens an address in a browser that stores only what the options contain. Ends with the scope. */
export async function openAddress(
  scope: Scope,
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
) {
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
  return {
    page,
    /** the response to the address itself */
    answer,
    /** addresses of all requests, in order */
    requests,
    /** errors that the page logs, failed scripts included */
    errors,
  };
}
