import type { Scene } from './scene.ts';
import { live } from './scripted.ts';
import { QUIET_SHOP, SHOP } from './tunnels.ts';

export const FORM_SCENES: readonly Scene[] = [
  {
    name: 'create',
    alt: 'The form with its options unfolded: name, who may come in, lifetime, host header, idle mode',
    main: live(SHOP),
    go: async (page) => {
      await page.locator('#options-button').click();
      await page.locator('#name').fill('design-review');
    },
  },
  {
    name: 'create-domain',
    alt: 'The form with a domain of the user: what to enter at the DNS provider, and what is still missing',
    main: live(QUIET_SHOP),
    go: async (page) => {
      await page.locator('#options-button').click();
      await page.locator('#domain').selectOption('shop.example.org');
      await page.locator('.domain-setup > .button').click();
      await page.getByText('203.0.113.7').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'create-problems',
    alt: 'The form with a word beside each field that is wrong',
    main: live(SHOP),
    go: async (page) => {
      await page.locator('#options-button').click();
      await page.locator('#name').fill('café');
      await page.locator('#ttl').selectOption('custom');
      await page.locator('#custom-ttl').fill('soon');
      await page.locator('#host').selectOption('custom');
      await page.locator('#port').fill('99999');
      await page.locator('.create .primary').click();
    },
  },
  {
    name: 'ports',
    alt: 'Ports that something on this computer listens on, with the program',
    main: live(SHOP),
    go: async (page) => {
      await page.locator('#port').click();
      await page.keyboard.press('ArrowDown');
    },
  },
  {
    name: 'create-lock',
    alt: 'The form with its options: a password for the new tunnel',
    main: live(QUIET_SHOP),
    go: async (page) => {
      await page.locator('#options-button').click();
      await page.locator('#lock-password').check();
      await page.locator('#lock-detail').scrollIntoViewIfNeeded();
    },
  },
];
