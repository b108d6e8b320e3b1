import type { Page } from 'playwright-core';
import type { SignatureCheck } from '../../../desktop/app/ipc/request-views.ts';
import type { SocketMessage, SocketMessages } from '../../../desktop/client/inspector/records.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import type { ScriptedHandlers } from '../support/scripted-main.ts';
import {
  detail,
  EDITED,
  HOUR,
  logOf,
  MINUTE,
  NOW,
  openCheckout,
  REQUESTS,
  type Scene,
  scene,
  SHOP,
} from './scripted.ts';

const MESSAGES: readonly [isFromVisitor: boolean, kind: SocketMessage['kind'], text: string][] = [
  [true, 'text', '{"subscribe":"orders"}'],
  [false, 'text', '{"order":1042,"total":"27.80 EUR","shipped":false}'],
  [false, 'ping', 'keep'],
  [true, 'pong', 'keep'],
  [false, 'binary', '\0\u0001\u0002 thumbnail'],
  [false, 'text', '{"order":1043,"total":"12.50 EUR","items":["mug","tea"],"shipped":true}'],
  [true, 'text', '{"seen":1043}'],
];

function messagesAfter(after: number): SocketMessages {
  const messages = MESSAGES.map(([isFromVisitor, kind, text], index) => {
    const body = new TextEncoder().encode(text);
    const common = { form: 'plain', isCut: false, size: body.length } as const;
    return { ...common, id: index + 1, atMs: 180 * index * index, isFromVisitor, kind, body };
  });
  return {
    count: MESSAGES.length,
    oldest: 1,
    messages: messages.filter(({ id }) => id > after),
    problem: undefined,
  };
}

async function openEdit(page: Page): Promise<void> {
  await openCheckout(page);
  await page.locator('#edit-request').click();
  await page.locator('#edit-body').waitFor();
}

const SIGNS = { tunnels: [SHOP], handlers: { 'bench:open': () => ({ ...EDITED, signer: 'Stripe' }) } };

export const BENCH_SCENES: readonly Scene[] = [
  scene('edit', { tunnels: [SHOP] }, openEdit),
  scene('edit-problems', { tunnels: [SHOP] }, async (page) => {
    await openEdit(page);
    await page.locator('#edit-method').fill('P OST');
    await page.locator('.screen-footer .primary').click();
    await page.locator('#edit-method-note.problem').waitFor();
  }),
  scene('edit-sent', SIGNS, async (page) => {
    await openEdit(page);
    await page.locator('.screen-footer .primary').click();
    await page.locator('.responses h2').waitFor();
    await page.locator('.diff').last().scrollIntoViewIfNeeded();
  }),
];

async function openLog(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
}

function signed(check: SignatureCheck) {
  return { tunnels: [SHOP], handlers: { 'signature:look': () => check } };
}
async function openSigned(page: Page): Promise<void> {
  await openCheckout(page);
  await page.locator('.verdict').waitFor();
}

const SOCKET = {
  tunnels: [SHOP],
  handlers: {
    'log:detail': ({ id }) => ({ ...detail(id), status: 101, isWebSocket: true }),
    'log:messages': ({ after }) => messagesAfter(after),
  } satisfies ScriptedHandlers,
};
const UNKNOWN = signed({
  signature: { provider: 'github', verdict: 'no-secret' },
  name: 'GitHub',
  secrets: [],
  isKept: false,
});
const TOO_OLD = signed({
  signature: { provider: 'stripe', verdict: 'too-old' },
  name: 'Stripe',
  secrets: [
    { id: 's2', addedAt: NOW - HOUR },
    { id: 's1', addedAt: NOW - 90 * 24 * HOUR },
  ],
  isKept: true,
});

/** A row of each kind: signed, imported, and sent by nobody yet. */
const MARKED = {
  tunnels: [SHOP],
  handlers: {
    'log:changes': logOf([
      ...(['valid', 'mismatch', 'too-old', 'no-secret'] as const).map((verdict, index) =>
        exampleRequest({
          id: 99 - index,
          startedAt: NOW - index * MINUTE,
          method: 'POST',
          target: '/hooks/stripe',
          status: verdict === 'valid' ? undefined : 400,
          isImported: verdict === 'valid' || verdict === 'mismatch',
          webhook: 'stripe',
          signature: { provider: 'stripe', verdict },
        }),
      ),
      ...REQUESTS,
    ]),
  },
};

export const LOG_SCENES: readonly Scene[] = [
  scene('log', { tunnels: [SHOP] }, openLog),
  scene('log-marked', MARKED, openLog),
  scene('log-empty', { tunnels: [SHOP] }, async (page) => {
    await openLog(page);
    await page.locator('#search-requests').fill('nowhere');
    await page.locator('.nothing').waitFor();
  }),
  scene('log-menu', { tunnels: [SHOP] }, async (page) => {
    await openLog(page);
    await page.locator('.log .row').nth(2).click({ button: 'right' });
    await page.locator('.menu :focus').waitFor();
  }),
  scene('request', { tunnels: [SHOP] }, async (page) => {
    await openCheckout(page);
    await page.locator('.message-response').waitFor();
  }),
  scene('socket', SOCKET, async (page) => {
    await openCheckout(page);
    await page.locator('.socket-row').nth(1).click();
    await page.locator('.socket-chosen .body-view').waitFor();
  }),
  scene('signature', TOO_OLD, async (page) => {
    await openSigned(page);
    await page.locator('.signature button[aria-expanded]').click();
  }),
  scene('signature-unknown', UNKNOWN, async (page) => {
    await openSigned(page);
    await page.locator('#signing-secrets').click();
    await page.locator('#signing-secret').waitFor();
  }),
  scene('request-find', { tunnels: [SHOP] }, async (page) => {
    await openCheckout(page);
    const response = page.locator('.message-response');
    await response.locator('.body-bar button[aria-expanded]').click();
    await response.getByRole('searchbox').fill('mug');
    await response.locator('.tree-target').waitFor();
    await response.locator('.tree-bar .copy').last().scrollIntoViewIfNeeded();
  }),
];

async function openImport(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
  await page.locator('#more-log').click();
  await page.getByRole('menuitem').nth(1).click();
  await page.locator('#import-text').fill('curl -d a=1 https://elsewhere.example/hook');
}

const IMPORTED = {
  tunnels: [SHOP],
  handlers: { 'import:text': () => ({ ids: [96, 97], leftOut: [], hasRedacted: true }) },
};

export const TRANSFER_SCENES: readonly Scene[] = [
  scene('import', { tunnels: [SHOP] }, openImport),
  scene('import-done', IMPORTED, async (page) => {
    await openImport(page);
    await page.locator('dialog .primary').click();
    await page.locator('dialog p').last().waitFor();
  }),
];
