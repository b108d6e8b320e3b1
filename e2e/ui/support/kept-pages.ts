/** Pages that tests use one after the other, because a new one costs more processor time than most tests. */
import type { Browser, Page } from 'playwright-core';
import type { Scope } from '../../support/scope.ts';

export interface KeptPage {
  readonly page: Page;
}

/** Pages that no test is using, by browser and by what sets their contexts apart. */
const idle = new WeakMap<Browser, Map<string, KeptPage[]>>();

/**
 * Takes a page that an earlier test has left, or a new one; leaves it at the end of the scope.
 *
 * @param kind what sets it apart; pages of the same kind have the same type
 * @param leave ends what the test did, without leaving the site, because the browser would start another process
 *   for the next one
 */
export async function keptPage<T extends KeptPage>(
  scope: Scope,
  browser: Browser,
  kind: string,
  make: () => Promise<T>,
  leave: (kept: T) => Promise<unknown>,
): Promise<T> {
  const ofBrowser = idle.get(browser) ?? new Map<string, KeptPage[]>();
  idle.set(browser, ofBrowser);
  const left = ofBrowser.get(kind) ?? [];
  ofBrowser.set(kind, left);
  const kept = (left.pop() as T | undefined) ?? (await make());
  scope.defer(async () => {
    try {
      await leave(kept);
      // Otherwise, what the next test has below the pointer would show that.
      await kept.page.mouse.move(-1, -1);
      left.push(kept);
    } catch {
      // The test has closed it, or it is stuck.
      await kept.page.context().close();
    }
  });
  return kept;
}
