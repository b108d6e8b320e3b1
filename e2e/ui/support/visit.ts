import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { eventually, within } from '../../support/deadline.ts';
import { type Field, visit as send } from '../../support/raw-http.ts';

interface VisitOptions {
  readonly method?: string;
  readonly body?: string;
  /** content type of the body */
  readonly type?: string;
  readonly ms?: number;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a request to a tunnel as a visitor.
 *
 * @param options the request, and the ms to wait for the whole response
 * @returns status and body, and the cookie that it sets, as it is sent back
 */
export async function visit(
  address: string,
  { method = 'GET', body = '', type = 'text/plain', ms = 10_000, cookie, headers = {} }: VisitOptions = {},
): Promise<{ status: number; body: string; cookie: string | undefined }> {
  const { host, port, pathname, search } = new URL(address);
  const fields: Field[] = Object.entries(headers);
  if (body !== '') fields.push(['Content-Type', type]);
  if (cookie !== undefined) fields.push(['Cookie', cookie]);
  const sent = { method, host, target: pathname + search, headers: fields, ...(body !== '' && { body }) };
  const { status, head, text } = await within(ms, `answer of ${address}`, send(Number(port), sent));
  return { status, body: text, cookie: head.all('set-cookie')[0]?.split(';')[0] };
}

type Role = 'button' | 'menuitem' | 'radio' | 'switch' | 'textbox';

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
  const target = page.getByRole(role, { name });
  await target.waitFor();
  for (let left = 20; left > 0; left -= 1) {
    if ((await target.and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${String(name)}`);
}

/**
 * Scrolls `part` into view, because parts out of view may not be drawn, and waits at most 20 s until its text matches
 * `text`. Fails with the text that it shows instead.
 */
export async function reads(part: Locator, text: RegExp): Promise<void> {
  await eventually(20_000, async () => {
    // It may be drawn again while it scrolls.
    await part.scrollIntoViewIfNeeded({ timeout: 5000 });
    assert.match(await part.innerText(), text);
  });
}

/** Where an element ends, in px below the top of the window. */
export async function bottomOf(part: Locator): Promise<number> {
  const box = await part.boundingBox();
  assert.ok(box);
  return box.y + box.height;
}
