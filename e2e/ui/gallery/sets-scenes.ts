import type { Page } from 'playwright-core';
import type { SetsView } from '../../../desktop/shared/sets.ts';
import { t } from '../../../desktop/i18n/translate.ts';
import { Refusal } from '../support/scripted-main.ts';
import type { Scene } from './scene.ts';
import { scripted } from './scripted.ts';
import { SHOP } from './tunnels.ts';

const SETS: SetsView = {
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
  await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
  await page.locator('#keep-request').click();
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
