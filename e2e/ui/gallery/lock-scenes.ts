import type { Page } from 'playwright-core';
import type { LockKind } from '../../../desktop/shared/lock.ts';
import { exampleSnapshot } from '../../../desktop/testing/views.ts';
import { Refusal, ScriptedMain } from '../support/scripted-main.ts';
import { KNOCKS, LOCKED } from './locks.ts';
import type { Scene } from './scene.ts';
import { live, PORTS } from './scripted.ts';
import { HOOKS, QUIET_SHOP } from './tunnels.ts';

async function openLock(page: Page, choice?: LockKind): Promise<void> {
  await page.locator('#lock-shop').click();
  if (choice !== undefined) await page.locator(`#lock-form-shop-${choice}`).check();
}

export const LOCK_SCENES: readonly Scene[] = [
  {
    name: 'locked',
    alt: 'Tunnels that ask for a password, for a link, for an address, and one that was locked elsewhere',
    main: live(...LOCKED),
  },
  {
    name: 'lock',
    alt: 'A card with the choice of who may come in',
    main: live(QUIET_SHOP),
    go: openLock,
  },
  {
    name: 'lock-password',
    alt: 'The lock of a card: a password of three words, made up',
    main: live(QUIET_SHOP),
    go: async (page) => {
      await openLock(page, 'password');
      await page.getByRole('status').getByText('brisk-plum-tide').waitFor({ state: 'attached' });
    },
  },
  {
    name: 'lock-links',
    alt: 'The lock of a card: only with a link, with the links that were made',
    main: live({ ...QUIET_SHOP, lock: { kind: 'links' } }),
    go: async (page) => {
      await openLock(page);
      await page.getByText('for the review').waitFor();
    },
  },
  {
    name: 'lock-addresses',
    alt: 'The lock of a card: addresses, with one that is wrong',
    main: live(QUIET_SHOP),
    go: async (page) => {
      await openLock(page, 'addresses');
      await page.locator('#lock-form-shop-detail').fill('203.0.113.0/24, office.example.com');
      await page.locator('.lock-apply button').click();
    },
  },
  {
    name: 'lock-refused',
    alt: 'The lock of a card: the relay is too old for it',
    main: () =>
      new ScriptedMain(exampleSnapshot({ tunnels: [QUIET_SHOP], ports: PORTS }), {
        'lock:set': () => {
          throw new Refusal({
            code: 'relay-too-old',
            field: 'lock',
            text: 'This relay is too old to restrict who may come into a tunnel, and has to be updated. Nothing has changed.',
          });
        },
      }),
    go: async (page) => {
      await openLock(page, 'knock');
      await page.locator('.lock-apply button').click();
      await page.locator('.lock-form .problem').first().waitFor();
    },
  },
  {
    name: 'knocks',
    alt: 'Visitors who wait to be let in, with Admit and Refuse',
    main: live({ ...QUIET_SHOP, lock: { kind: 'knock' }, knocks: KNOCKS }, HOOKS),
  },
  {
    name: 'lock-knock',
    alt: 'The lock of a card: visitors are asked for, with those who were admitted',
    main: live({ ...QUIET_SHOP, lock: { kind: 'knock' } }),
    go: async (page) => {
      await openLock(page);
      await page.getByText('203.0.113.7').waitFor();
    },
  },
];
