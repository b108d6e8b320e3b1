/** How many clicks the most frequent tasks take, and that none of them needs scrolling. */
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { HERON, HOUR, NOW, PASSWORD, scripted, SHOP } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';
import type { ScriptedMain } from './support/scripted-main.ts';

type Button = string | RegExp;

interface Task {
  readonly title: string;
  readonly clicks: number;
  /** names of what is clicked, in order */
  readonly path: readonly Button[];
  /** what the user wants to see in the end */
  readonly shows?: (page: Page) => Locator;
  /** what main is asked to do in the end */
  readonly asks?: string;
}

const response = (page: Page): Locator => page.getByText('no price for heron-mug in EUR');
const FAILED = /^POST \/api\/checkout 500/;

const TASKS: readonly Task[] = [
  { title: 'exposes the suggested port', clicks: 1, path: ['Expose'], asks: 'tunnel:create' },
  { title: 'copies an address', clicks: 1, path: ['Copy the address of shop-demo'], asks: 'tunnel:copy-url' },
  { title: 'reads a failed response', clicks: 1, path: [FAILED], shows: response },
  {
    title: 'replays a request and reads the result',
    clicks: 2,
    path: [FAILED, 'Replay'],
    shows: (page) => page.getByRole('heading', { name: 'GET /', exact: true }),
    asks: 'log:replay',
  },
  {
    title: 'edits a request, sends it and sees the result',
    clicks: 3,
    path: [FAILED, 'Edit and send', 'Send'],
    shows: (page) => page.locator('.sent-result'),
    asks: 'log:edit',
  },
  {
    title: 'copies a request as curl',
    clicks: 2,
    path: [FAILED, 'Copy as curl'],
    asks: 'log:copy-curl',
  },
  {
    title: 'locks with a password and copies it',
    // One of them opens the panel.
    clicks: 1 + 3,
    path: [/^Who has access to shop-demo/, 'Password', 'Apply', /^Copy link and password/],
    asks: 'tunnel:copy-share',
  },
  {
    title: 'creates a link',
    clicks: 1 + 2,
    path: [/^Who has access to shop-demo/, 'Only with a link', 'Create and copy link'],
    asks: 'link:create',
  },
  {
    title: 'shows the address as a QR code',
    clicks: 2,
    path: ['All requests to shop-demo', 'QR shop-demo'],
    shows: (page) => page.getByRole('img', { name: /^QR code/ }),
  },
  {
    title: 'finds out why a tunnel fails',
    clicks: 1,
    path: ['Diagnose quiet-heron-k3f9'],
    asks: 'checkup:start',
  },
];

describe('at most the promised number of clicks', () => {
  const scope = testScope();

  for (const { title, clicks, path, shows, asks } of TASKS) {
    it(`${title}: ${clicks}`, async () => {
      assert.equal(path.length, clicks);
      const main = mainOf();
      const page = await openScripted(scope, main, { now: NOW, reducedMotion: 'reduce' });
      for (const name of path) await click(page, name);
      if (shows !== undefined) {
        await shows(page).first().waitFor();
        await assertInView(page, shows(page).first());
      }
      if (asks !== undefined)
        await eventually(20_000, () => assert.ok(main.calls.some(({ channel }) => channel === asks)));
    });
  }
});

function mainOf(): ScriptedMain {
  const main: ScriptedMain = scripted(
    { tunnels: [SHOP, HERON] },
    {
      'tunnel:create': ({ port }) => {
        void main.show({ tunnels: [exampleTunnel({ localPort: port, expiresAt: NOW + HOUR })] });
        return { key: 'k' };
      },
      'lock:set': ({ lock }) =>
        void main.show({
          tunnels: [{ ...SHOP, lock: lock.kind === 'password' ? PASSWORD : { kind: 'links' } }, HERON],
        }),
      'link:list': () => [],
    },
  )();
  return main;
}

/** Clicks where the control is, if it is in view: people should not have to scroll. */
async function click(page: Page, name: Button): Promise<void> {
  const exact = typeof name === 'string';
  const options = exact ? { name, exact } : { name };
  const control = page.getByRole('button', options).or(page.getByRole('radio', options)).first();
  await control.waitFor();
  await assertInView(page, control);
  await control.click();
}

async function assertInView(page: Page, part: Locator): Promise<void> {
  const [box, viewport] = [await part.boundingBox(), page.viewportSize()];
  assert.ok(box !== null && viewport !== null);
  assert.ok(box.y >= 0 && box.y + box.height <= viewport.height, `${box.y} is out of view`);
}
