import type { Page } from 'playwright-core';
import type { SignatureCheck } from '../../../desktop/shared/signatures.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import type { ScriptedMain } from '../support/scripted-main.ts';
import { logOf } from './requests.ts';
import { HOUR, MINUTE, NOW, type Scene } from './scene.ts';
import { live, scripted } from './scripted.ts';
import { SHOP } from './tunnels.ts';

async function openLog(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
}

function signed(check: SignatureCheck): () => ScriptedMain {
  return scripted({ tunnels: [SHOP] }, { 'signature:look': () => check });
}
async function openSigned(page: Page): Promise<void> {
  await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
  await page.locator('.signature h2').scrollIntoViewIfNeeded();
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
    alt: 'One request with fields and body, and its response',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
      await page.locator('.message + .message h2').waitFor();
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
    go: openSigned,
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
      await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
      const response = page.locator('.message + .message');
      await response.locator('.body-bar button[aria-expanded]').click();
      await response.getByRole('searchbox').fill('mug');
      await response.locator('.tree-target').waitFor();
      await response.locator('.tree-bar .copy').last().scrollIntoViewIfNeeded();
    },
  },
];
