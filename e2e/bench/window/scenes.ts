/** What people do in the window, one scene after the other. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { LOG_REQUESTS_MAX } from '../../../desktop/app/main/limits.ts';
import type { World } from './world.ts';

export interface Scene {
  readonly name: string;
  readonly act: () => Promise<void>;
}

/** A held key repeats about 30 times a second. */
const REPEAT_MS = 33;
const TRAFFIC_MS = 100;

export function scenes(page: Page, world: World): readonly Scene[] {
  const press = async (key: string, times = 1): Promise<void> => {
    for (let n = 0; n < times; n += 1) {
      await page.keyboard.press(key);
      await sleep(REPEAT_MS);
    }
  };
  const type = (text: string): Promise<void> => page.keyboard.type(text, { delay: 80 });
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
  const shown = (selector: string): Promise<void> =>
    until(page, `document.querySelector(${JSON.stringify(selector)})`);
  /** Opens one of the newest requests whose number ends with a digit, and waits for the size of its body. */
  const open = async (digit: number, size: string): Promise<void> => {
    await click(`.log li[data-request$="${digit}"] button`);
    await until(
      page,
      `document.querySelector('.message-response .body-bar')?.textContent.startsWith('${size}')`,
    );
  };
  const tree = '.message-response .tree';

  return [
    { name: 'scrolling the cards', act: () => scroll('.cards', 40) },
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
        await shown(`.log li[aria-setsize="${LOG_REQUESTS_MAX}"]`);
      },
    },
    { name: 'scrolling it fast', act: () => scroll('.log', 60) },
    {
      name: 'holding j, then k',
      act: async () => {
        await press('j', 60);
        await press('k', 60);
      },
    },
    {
      name: 'searching it, key by key',
      act: async () => {
        await press('/');
        await type('orders/99 500');
        await press('Control+a');
        await press('Backspace');
      },
    },
    {
      name: 'each of its chips',
      act: async () => {
        for (let n = 1; n <= 7; n += 1) {
          await click(`.filter-chip:nth-child(${n})`);
          await sleep(300);
        }
        await click('.filter-chip:nth-child(1)');
      },
    },
    {
      name: 'the palette: opening, typing',
      act: async () => {
        await press('Control+k');
        await type('stop service-4');
        await press('Escape');
      },
    },
    { name: 'opening a response of 64 KiB JSON', act: () => open(0, '65.') },
    {
      name: 'opening a response of 1 MiB JSON',
      act: async () => {
        await open(1, '1.0 MB');
      },
    },
    {
      name: 'unfolding its array',
      act: async () => {
        await click(`${tree} [aria-level="2"]`);
        await shown(`${tree} .tree-part:nth-child(3)`);
      },
    },
    {
      name: 'unfolding 100 objects with *',
      act: async () => {
        await press('ArrowDown');
        await press('Shift+*');
        await shown(`${tree} .tree-part:nth-child(9)`);
      },
    },
    {
      name: 'unfolding what is in them',
      act: async () => {
        await press('ArrowDown', 2);
        await press('Shift+*');
      },
    },
    { name: 'moving through its rows', act: () => press('ArrowDown', 30) },
    {
      name: 'folding and unfolding its array of them',
      act: async () => {
        await press('Home');
        await press('ArrowDown');
        await press('ArrowLeft');
        await sleep(500);
        await press('ArrowRight');
      },
    },
    {
      name: 'showing 100 more, three times',
      act: async () => {
        for (let n = 0; n < 3; n += 1) {
          await press('End');
          await press('ArrowUp');
          await press('Enter');
          await sleep(300);
        }
      },
    },
    {
      name: 'finding in the tree, key by key',
      act: async () => {
        await press('Control+f');
        await type('otter-99');
      },
    },
    { name: 'going from one to the next', act: () => press('Enter', 20) },
    ...['Pretty', 'Text', 'Hex'].flatMap((way): Scene[] => [
      {
        name: `showing it as ${way}`,
        act: async () => {
          await page.evaluate(
            `globalThis.wanted = [...document.querySelectorAll('.message-response .ways button')].find(({ textContent }) => textContent === '${way}'); wanted.id = 'wanted'`,
          );
          await click('#wanted');
          await page.evaluate(`wanted.id = ''`);
          await sleep(500);
        },
      },
      {
        name: `finding in it as ${way}`,
        act: async () => {
          await page.keyboard.press('Control+f');
          await press('Control+a');
          await press('Backspace');
          await type('otter-99');
          await press('Enter', 20);
        },
      },
    ]),
    {
      name: 'scrolling the log while each tunnel is asked every 100 ms',
      act: async () => {
        await Promise.all([traffic(3000), scroll('.log', 60)]);
      },
    },
    {
      name: 'searching it meanwhile',
      act: async () => {
        await press('/');
        await Promise.all([traffic(2000), type('orders/99 500')]);
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
