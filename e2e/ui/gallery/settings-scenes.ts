import type { Page } from 'playwright-core';
import type { Scene } from './scene.ts';
import { live } from './scripted.ts';
import { SHOP } from './tunnels.ts';

async function openSettings(page: Page): Promise<void> {
  await page.locator('#settings').click();
}

export const SETTINGS_SCENES: readonly Scene[] = [
  { name: 'settings', alt: 'Settings', main: live(SHOP), go: openSettings },
  {
    name: 'about',
    alt: 'Versions and licences',
    main: live(SHOP),
    go: async (page) => {
      await openSettings(page);
      await page.locator('#about').click();
      await page.getByText('0.1.0').waitFor();
    },
  },
];
