/** What people do in the window, one scene after the other: the actions that performance.md lists. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { LOG_REQUESTS_MAX } from '../../../desktop/app/main/limits.ts';
import { LARGE_DIGIT, type World } from './world.ts';

export interface Scene {
  readonly name: string;
  readonly act: () => Promise<void>;
}

const TRAFFIC_MS = 100;

export function scenes(page: Page, world: World): readonly Scene[] {
  const search = async (): Promise<void> => {
    await page.keyboard.press('/');
    await page.keyboard.type('orders/99 500', { delay: 80 });
  };
  const click = async (selector: string): Promise<void> => {
    const { x, y } = await place(page, selector);
    await page.mouse.click(x, y);
  };
  const traffic = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= TRAFFIC_MS) {
      await world.serve(1);
      await sleep(TRAFFIC_MS);
    }
  };
  const scroll = async (selector: string, steps: number): Promise<void> => {
    const { x, y } = await place(page, selector);
    await page.mouse.move(x, y);
    for (let n = 0; n < steps; n += 1) {
      await page.mouse.wheel(0, n % 10 === 9 ? 20_000 : 700);
      await sleep(30);
    }
    await page.mouse.wheel(0, -1_000_000);
  };

  return [
    { name: '50 tunnels with a request each every 100 ms', act: () => traffic(4000) },
    {
      name: 'all 50 lose the relay, and are back',
      act: async () => {
        await world.lose();
        await sleep(1500);
        await world.find();
      },
    },
    {
      name: 'opening the log of 10,000 requests',
      act: async () => {
        await click('#log-k0');
        await until(page, `document.querySelector('.log li[aria-setsize="${LOG_REQUESTS_MAX}"]')`);
      },
    },
    { name: 'scrolling it', act: () => scroll('.log', 60) },
    {
      name: 'searching it, key by key',
      act: async () => {
        await search();
        await page.keyboard.press('Control+a');
        await page.keyboard.press('Backspace');
      },
    },
    {
      name: 'opening a response of 1 MiB JSON',
      act: async () => {
        await click(`.log li[data-request$="${LARGE_DIGIT}"] button`);
        const size = `document.querySelector('.message-response .body-bar')?.textContent.startsWith('1.0 MB')`;
        await until(page, size);
      },
    },
    {
      name: 'scrolling the log while each tunnel is asked every 100 ms',
      act: async () => {
        await Promise.all([traffic(3000), scroll('.log', 60)]);
      },
    },
    {
      name: 'searching it meanwhile',
      act: async () => {
        await Promise.all([traffic(2000), search()]);
      },
    },
  ];
}

/** The centre of the visible part of an element. */
async function place(page: Page, selector: string): Promise<{ x: number; y: number }> {
  return await page.evaluate<{ x: number; y: number }>(`(() => {
    const element = document.querySelector(${JSON.stringify(selector)});
    element.scrollIntoView({ block: 'nearest' });
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return { x: (left + right) / 2, y: (Math.max(0, top) + Math.min(innerHeight, bottom)) / 2 };
  })()`);
}

/** Polls the page without making it draw. */
async function until(page: Page, condition: string): Promise<void> {
  for (let n = 0; n < 300; n += 1) {
    if (await page.evaluate<boolean>(`Boolean(${condition})`)) return;
    await sleep(100);
  }
  throw new Error(`did not come: ${condition}`);
}
