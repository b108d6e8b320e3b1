import type { Page } from 'playwright-core';
import { EDITED } from './requests.ts';
import type { Scene } from './scene.ts';
import { live, scripted } from './scripted.ts';
import { SHOP } from './tunnels.ts';

async function openEdit(page: Page): Promise<void> {
  await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
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
      await page.locator('.edit .primary').click();
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
      await page.locator('.edit .primary').click();
      await page.locator('.responses h2').waitFor();
      await page.locator('.diff').last().scrollIntoViewIfNeeded();
    },
  },
];
