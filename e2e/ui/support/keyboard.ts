/** Where the focus is, and the way there by the Tab key. */
import type { Locator, Page } from 'playwright-core';

type Role = 'button' | 'menuitem' | 'radio' | 'textbox';

/** Waits until the element with that id has the focus. */
export async function focused(page: Page, id: string): Promise<void> {
  await page.locator(`#${id}:focus`).waitFor();
}

/** Waits until a control of that name has the focus. */
export async function focusedName(page: Page, name: RegExp, role: Role = 'button'): Promise<void> {
  await page.getByRole(role, { name }).and(page.locator(':focus')).waitFor();
}

/** Presses Tab until a control of that name has the focus. */
export async function tabTo(page: Page, name: RegExp, role: Role = 'button'): Promise<void> {
  await tabToLocator(page, page.getByRole(role, { name }), String(name));
}

export async function tabToId(page: Page, id: string): Promise<void> {
  await tabToLocator(page, page.locator(`#${id}`), id);
}

async function tabToLocator(page: Page, target: Locator, what: string): Promise<void> {
  await target.waitFor();
  for (let left = 20; left > 0; left -= 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${what}`);
}
