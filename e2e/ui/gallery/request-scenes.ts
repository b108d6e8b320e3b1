import type { Page } from 'playwright-core';
import type { SignatureCheck } from '../../../desktop/app/ipc/request-views.ts';
import type { SocketMessage, SocketMessages } from '../../../desktop/client/inspector/records.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import type { ScriptedHandlers } from '../support/scripted-main.ts';
import {
  bytes,
  detail,
  EARLIER,
  EDITED,
  HOOKS,
  HOUR,
  logOf,
  MINUTE,
  NOW,
  openCheckout,
  PULSE,
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

const COUNTS = { kind: 'websocket', fromVisitor: 2, fromService: 3, control: 2 } as const;

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
    'log:detail': ({ id }) => ({ ...detail(id), status: 101, messages: COUNTS }),
    'log:messages': ({ after = 0 }) => messagesAfter(after),
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

const STRIPE = { webhook: 'stripe', signature: { provider: 'stripe', verdict: 'valid' } } as const;
const WEBHOOKS = [
  exampleRequest({
    id: 17,
    startedAt: NOW - 10_000,
    method: 'POST',
    target: '/webhooks',
    durationMs: 31,
    ...STRIPE,
  }),
  exampleRequest({ id: 16, startedAt: NOW - 14_000, target: '/orders/1042' }),
  exampleRequest({ id: 15, startedAt: NOW - 2 * MINUTE, target: '/orders', durationMs: 9 }),
  exampleRequest({ id: 14, startedAt: NOW - 3 * MINUTE, target: '/main.css', status: 304, durationMs: 2 }),
  exampleRequest({
    id: 13,
    startedAt: NOW - 4 * MINUTE,
    method: 'POST',
    target: '/checkout',
    status: 303,
    durationMs: 84,
  }),
  exampleRequest({ id: 12, startedAt: NOW - 5 * MINUTE, target: '/cart', durationMs: 14 }),
];
/** A webhook whose signature is valid. */
const VERIFIED = {
  tunnels: [{ ...HOOKS, recent: WEBHOOKS.slice(0, 3), pulse: PULSE.slice(-5), expiresAt: NOW + 52 * MINUTE }],
  handlers: {
    'log:changes': logOf(WEBHOOKS),
    'log:detail': ({ id }) => ({
      ...detail(id),
      ...WEBHOOKS.find((request) => request.id === id),
      timing: { waitedMs: 2, connectedMs: 0.4, answeredMs: 29 },
      bytesIn: 612,
      bytesOut: 191,
      request: {
        startLine: 'POST /webhooks HTTP/1.1',
        fields: [
          ['Host', 'stripe-hooks.tunnels.example.com'],
          ['Content-Type', 'application/json'],
          ['Stripe-Signature', '[redacted]'],
        ],
        body: bytes(
          '{"id":"evt_1042","type":"checkout.session.completed","data":{"object":{"amount_total":2780,"currency":"eur","payment_status":"paid"}}}',
        ),
        isTruncated: false,
      },
      response: {
        startLine: 'HTTP/1.1 200 OK',
        fields: [['Content-Type', 'application/json']],
        body: bytes('{"received":true,"order":1042}'),
        isTruncated: false,
      },
    }),
    'signature:look': () => ({
      signature: { provider: 'stripe', verdict: 'valid' },
      name: 'Stripe',
      secrets: [{ id: 's1', addedAt: NOW - HOUR }],
      isKept: true,
    }),
  } satisfies ScriptedHandlers,
};

/** A request with every part, and many headers. */
const PARTS = {
  tunnels: [SHOP],
  handlers: {
    'log:detail': ({ id }) => {
      const { request, ...rest } = detail(id);
      const more = Array.from({ length: 7 }, (_none, n): [string, string] => [`X-Shop-${n}`, `${n}`]);
      return {
        ...rest,
        request: {
          ...request,
          startLine: 'POST /api/checkout?coupon=HERON10 HTTP/1.1',
          fields: [...request.fields, ...more, ['Cookie', 'session=[redacted]']],
        },
      };
    },
  } satisfies ScriptedHandlers,
};

/** A row of each kind: signed, imported, live, slow, and sent by nobody yet. */
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
      ...EARLIER,
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
  scene('request-parts', PARTS, async (page) => {
    await openCheckout(page);
    await page.getByRole('tab', { name: 'Cookies 1' }).waitFor();
  }),
  scene('request', VERIFIED, async (page) => {
    await page
      .getByRole('button', { name: /\/webhooks/ })
      .first()
      .click();
    await page.locator('.verdict').waitFor();
    await page.locator('.message .tree-row').last().waitFor();
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
    const response = page.locator('.message').first();
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
