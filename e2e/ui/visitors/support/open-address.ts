import type { Browser, BrowserContextOptions, Page, Response } from 'playwright-core';
import type { Scope } from '../../../support/scope.ts';

/** A page at an address that a visitor has opened. */
export interface OpenAddress {
  readonly page: Page;
  /** to the address itself */
  readonly answer: Response;
  /** addresses of all requests, in order */
  readonly requests: readonly string[];
  /** errors that the page logs, failed scripts included */
  readonly errors: readonly string[];
}

/** Opens an address in a browser without stored or cached data except what the options give it. Ends with the scope. */
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
