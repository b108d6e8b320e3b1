/** Requests that are brought from elsewhere. */
import type { Page } from 'playwright-core';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import { logOf, REQUESTS } from './requests.ts';
import { MINUTE, NOW, type Scene } from './scene.ts';
import { live, scripted } from './scripted.ts';
import { SHOP } from './tunnels.ts';

async function openImport(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
  await page.locator('#import-requests').click();
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
