import type { Page } from 'playwright-core';
import type { CollectionsView, SignatureCheck } from '../../../desktop/app/ipc/request-views.ts';
import type { SocketMessage, SocketMessages } from '../../../desktop/client/inspector/records.ts';
import { t } from '../../../desktop/app/messages/translate.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import { Refusal, type ScriptedMain } from '../support/scripted-main.ts';
import {
  detail,
  EDITED,
  HOUR,
  live,
  logOf,
  MINUTE,
  NOW,
  REQUESTS,
  type Scene,
  scripted,
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
  await page
    .getByRole('button', { name: /POST \/api\/checkout/ })
    .first()
    .click();
  await page.locator('#edit-request').click();
  await page.locator('#edit-body').waitFor();
}

export const BENCH_SCENES: readonly Scene[] = [
  {
    name: 'edit',
    alt: 'A request as fields, each of which can be changed: method, path, headers and body',
    main: live(SHOP),
    go: openEdit,
  },
  {
    name: 'edit-problems',
    alt: 'A request with a word below each field that it cannot be sent with',
    main: live(SHOP),
    go: async (page) => {
      await openEdit(page);
      await page.locator('#edit-method').fill('P OST');
      await page.locator('.screen-footer .primary').click();
      await page.locator('#edit-method-note.problem').waitFor();
    },
  },
  {
    name: 'edit-signs',
    alt: 'A webhook that is edited, with the choice of a new signature',
    main: scripted({ tunnels: [SHOP] }, { 'bench:open': () => ({ ...EDITED, signer: 'Stripe' }) }),
    go: async (page) => {
      await openEdit(page);
      await page.locator('.edit .choice').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'edit-sent',
    alt: 'The response to an edited request beside the one before: status, headers and lines of the body that differ are marked',
    main: live(SHOP),
    go: async (page) => {
      await openEdit(page);
      await page.locator('.screen-footer .primary').click();
      await page.locator('.responses h2').waitFor();
      await page.locator('.diff').last().scrollIntoViewIfNeeded();
    },
  },
];

async function openLog(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
}

function signed(check: SignatureCheck): () => ScriptedMain {
  return scripted({ tunnels: [SHOP] }, { 'signature:look': () => check });
}
async function openSigned(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /POST \/api\/checkout/ })
    .first()
    .click();
  await page.locator('.verdict').waitFor();
}

export const LOG_SCENES: readonly Scene[] = [
  { name: 'log', alt: 'The request log with its search', main: live(SHOP), go: openLog },
  {
    name: 'log-empty',
    alt: 'The request log where nothing matches the search',
    main: live(SHOP),
    go: async (page) => {
      await openLog(page);
      await page.locator('#search-requests').fill('nowhere');
      await page.locator('.nothing').waitFor();
    },
  },
  {
    name: 'log-menu',
    alt: 'What can be done with a row of the log, in a menu at the mouse',
    main: live(SHOP),
    go: async (page) => {
      await openLog(page);
      await page.locator('.log .row').nth(2).click({ button: 'right' });
      await page.locator('.menu :focus').waitFor();
    },
  },
  {
    name: 'request',
    alt: 'One request: its actions, its time as a bar, and the body of its response above folded headers',
    main: live(SHOP),
    go: async (page) => {
      await page
        .getByRole('button', { name: /POST \/api\/checkout/ })
        .first()
        .click();
      await page.locator('.message-response').waitFor();
    },
  },
  {
    name: 'socket',
    alt: 'A WebSocket: its messages, newest first, and the chosen one as a tree',
    main: scripted(
      { tunnels: [SHOP] },
      {
        'log:detail': ({ id }) => ({ ...detail(id), status: 101, isWebSocket: true }),
        'log:messages': ({ after }) => messagesAfter(after),
      },
    ),
    go: async (page) => {
      await page
        .getByRole('button', { name: /POST \/api\/checkout/ })
        .first()
        .click();
      await page.locator('.socket-row').nth(1).click();
      await page.locator('.socket-chosen .body-view').waitFor();
    },
  },
  {
    name: 'signature',
    alt: 'A webhook of Stripe whose signature is too old, and the secrets it was checked with',
    main: signed({
      signature: { provider: 'stripe', verdict: 'too-old' },
      name: 'Stripe',
      secrets: [
        { id: 's2', addedAt: NOW - HOUR },
        { id: 's1', addedAt: NOW - 90 * 24 * HOUR },
      ],
      isKept: true,
    }),
    go: async (page) => {
      await openSigned(page);
      await page.locator('.signature button[aria-expanded]').click();
    },
  },
  {
    name: 'signature-unknown',
    alt: 'A webhook of GitHub whose secret is not known, with the field for it',
    main: signed({
      signature: { provider: 'github', verdict: 'no-secret' },
      name: 'GitHub',
      secrets: [],
      isKept: false,
    }),
    go: async (page) => {
      await openSigned(page);
      await page.locator('#signing-secrets').click();
      await page.locator('#signing-secret').waitFor();
    },
  },
  {
    name: 'log-signatures',
    alt: 'The request log with what the signatures of webhooks say',
    main: scripted(
      { tunnels: [SHOP] },
      {
        'log:changes': logOf(
          (['valid', 'mismatch', 'too-old', 'no-secret'] as const).map((verdict, index) =>
            exampleRequest({
              id: 9 - index,
              startedAt: NOW - index * MINUTE,
              method: 'POST',
              target: '/hooks/stripe',
              status: verdict === 'valid' ? 200 : 400,
              webhook: 'stripe',
              signature: { provider: 'stripe', verdict },
            }),
          ),
        ),
      },
    ),
    go: openLog,
  },
  {
    name: 'request-find',
    alt: 'The body of a response as a tree, with what was found in it',
    main: live(SHOP),
    go: async (page) => {
      await page
        .getByRole('button', { name: /POST \/api\/checkout/ })
        .first()
        .click();
      const response = page.locator('.message-response');
      await response.locator('.body-bar button[aria-expanded]').click();
      await response.getByRole('searchbox').fill('mug');
      await response.locator('.tree-target').waitFor();
      await response.locator('.tree-bar .copy').last().scrollIntoViewIfNeeded();
    },
  },
];

async function openImport(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
  await page.locator('#more-log').click();
  await page.getByRole('menuitem').nth(1).click();
  await page.locator('#import-text').fill('curl -d a=1 https://elsewhere.example/hook');
}

export const TRANSFER_SCENES: readonly Scene[] = [
  {
    name: 'import',
    alt: 'A curl command that is taken into the request log, or a HAR file in its place',
    main: live(SHOP),
    go: openImport,
  },
  {
    name: 'import-done',
    alt: 'How many requests were imported, and that secrets are missing in some',
    main: scripted(
      { tunnels: [SHOP] },
      { 'import:text': () => ({ ids: [96, 97], leftOut: [], hasRedacted: true }) },
    ),
    go: async (page) => {
      await openImport(page);
      await page.locator('dialog .primary').click();
      await page.locator('dialog p').last().waitFor();
    },
  },
  {
    name: 'log-imported',
    alt: 'The request log with requests that were imported, with and without a response',
    main: scripted(
      { tunnels: [SHOP] },
      {
        'log:changes': logOf([
          exampleRequest({
            id: 97,
            startedAt: NOW - MINUTE,
            method: 'POST',
            target: '/hooks/stripe',
            status: undefined,
            durationMs: undefined,
            isImported: true,
          }),
          exampleRequest({
            id: 96,
            startedAt: NOW - MINUTE,
            target: '/checkout',
            status: 302,
            isImported: true,
          }),
          ...REQUESTS,
        ]),
      },
    ),
    go: (page) => page.locator('#log-shop').click(),
  },
];

const SETS: CollectionsView = {
  sets: [
    {
      id: 's1',
      name: 'Checkout, from cart to paid',
      requests: [
        { id: 'k1', method: 'POST', target: '/api/cart?session=[redacted]' },
        { id: 'k2', method: 'POST', target: '/api/checkout' },
        { id: 'k3', method: 'GET', target: '/api/orders/1044' },
      ],
    },
    { id: 's2', name: 'Stripe', requests: [{ id: 'k4', method: 'POST', target: '/hooks/stripe' }] },
  ],
  isKept: true,
};

const withSets = scripted(
  { tunnels: [SHOP] },
  {
    'set:list': () => SETS,
    'set:send': ({ request }) => ({ sent: { id: 95, status: request === 'k2' ? 500 : 201 } }),
  },
);

async function openSets(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
  await page.locator('#open-sets').click();
  await page.locator('.nothing, .set').first().waitFor();
}

async function openKeep(page: Page): Promise<void> {
  await page
    .getByRole('button', { name: /POST \/api\/checkout/ })
    .first()
    .click();
  await page.locator('#more-request').click();
  await page.getByRole('menuitem').nth(1).click();
  await page.locator('#keep-set, #keep-name').first().waitFor();
}

export const SETS_SCENES: readonly Scene[] = [
  {
    name: 'sets',
    alt: 'Requests that are kept in two sets, one of which was just sent: each with the status of its response',
    main: withSets,
    go: async (page) => {
      await openSets(page);
      await page.locator('.set').first().locator('.button').click();
      await page.locator('#result-k3').waitFor();
      await page.locator('#rename-s2').click();
      await page.locator('#name-s2').waitFor();
    },
  },
  {
    name: 'sets-empty',
    alt: 'How requests come to be kept, where none is',
    main: scripted({ tunnels: [SHOP] }, { 'set:list': () => ({ sets: [], isKept: false }) }),
    go: openSets,
  },
  { name: 'keep', alt: 'The question in which set a request is to be kept', main: withSets, go: openKeep },
  {
    name: 'keep-refused',
    alt: 'A request that cannot be kept, with the reason',
    main: scripted(
      { tunnels: [SHOP] },
      {
        'set:list': () => ({ sets: [], isKept: false }),
        'set:create': () => {
          throw new Refusal({ code: 'bad-name', field: 'name', text: t('problem.setNoName') });
        },
      },
    ),
    go: async (page) => {
      await openKeep(page);
      await page.locator('.dialog .primary').click();
      await page.locator('.dialog [role="alert"], #keep-name-note.problem').waitFor();
    },
  },
];
