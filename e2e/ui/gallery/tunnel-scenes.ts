import type { Page } from 'playwright-core';
import type { DiagnosticsView, OtherTunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import type { AccessKind, TokenView } from '../../../desktop/app/ipc/tunnel-views.ts';
import { exampleOther, exampleSnapshot, exampleTunnel } from '../../../desktop/testing/views.ts';
import { Refusal, ScriptedMain } from '../support/scripted-main.ts';
import {
  CONNECTING,
  ENDED,
  HERON,
  HOOKS,
  HOUR,
  KNOCKS,
  live,
  LOCKED,
  LOST,
  MINUTE,
  NOW,
  PASSWORD,
  PORTS,
  QUIET_SHOP,
  type Scene,
  scripted,
  SHOP,
} from './scripted.ts';

const signedIn = exampleSnapshot().session;
if (signedIn.state !== 'signed-in') throw new Error('the example is signed in');
const OTHERS: readonly OtherTunnelView[] = [
  exampleOther({
    key: 'o1',
    slug: 'webhooks',
    url: 'https://webhooks.tunnels.example.com',
    localPort: 8787,
    isHere: true,
    lock: { kind: 'links' },
    requests: 482,
    ttl: 4 * 3600,
    expiresAt: NOW + 3 * HOUR,
  }),
  exampleOther({ key: 'o2', createdBy: 'Ann', expiresAt: NOW + 25 * MINUTE }),
  exampleOther({
    key: 'o3',
    slug: 'old-laptop',
    url: 'https://old-laptop.tunnels.example.com',
    isOnline: false,
    expiresAt: NOW + 8 * MINUTE,
  }),
];
const TOKENS: readonly TokenView[] = [
  { name: 'agent', usedAt: NOW - 3 * HOUR, canCopy: false },
  { name: 'stripe-webhooks', usedAt: undefined, canCopy: false },
  { name: 'ci', usedAt: undefined, canCopy: true },
];
const CHECKUP: DiagnosticsView = {
  id: 'c',
  slug: 'shop-demo',
  isRunning: true,
  results: [
    { hop: 'dns', result: 'ok', ms: 4, detail: 'tunnels.example.com is 203.0.113.80' },
    { hop: 'connect', result: 'ok', ms: 21, detail: 'port 443 accepts connections' },
    { hop: 'tls', result: 'ok', ms: 38, detail: 'the certificate is for tunnels.example.com and is trusted' },
    {
      hop: 'relay',
      result: 'failed',
      ms: 32,
      detail: 'the relay is running, but is not ready',
      fix: "Check the relay's log: the relay either cannot reach its database or is shutting down.",
    },
    { hop: 'key', result: 'skipped', ms: 0, detail: 'not checked, because an earlier step failed' },
    { hop: 'control', result: 'skipped', ms: 0, detail: 'not checked, because an earlier step failed' },
    { hop: 'data', result: 'skipped', ms: 0, detail: 'not checked, because an earlier step failed' },
    { hop: 'address', result: 'skipped', ms: 0, detail: 'not checked, because an earlier step failed' },
    { hop: 'trunk', result: 'skipped', ms: 0, detail: 'not checked without a test tunnel' },
  ],
};

export const LIST_SCENES: readonly Scene[] = [
  {
    name: 'tunnels',
    alt: 'The list: a tunnel online, one about to expire, one without a server, and the form to expose another port',
    main: live(SHOP, HOOKS, HERON),
  },
  {
    name: 'tunnels-states',
    alt: 'Tunnels that are connecting, reconnecting and expired',
    main: scripted({
      tunnels: [CONNECTING, { ...HERON, localProblem: undefined, status: LOST }, ENDED],
    }),
  },
  {
    name: 'others',
    alt: 'Below the tunnels of this app those that were opened elsewhere: by the command on this computer, by another one, and one that nobody serves',
    main: scripted({ tunnels: [{ ...QUIET_SHOP, requests: 12 }], others: OTHERS }),
  },
  {
    name: 'checkup',
    alt: 'Finding out why: the hops that were checked, the one at which it stops with its remedy, and the one that is being checked',
    main: scripted({ tunnels: [{ ...SHOP, recent: [], status: LOST }], diagnostics: CHECKUP }),
  },
  {
    name: 'palette',
    alt: 'The command palette: tunnels, requests and commands that match what is typed, each with its keys',
    main: live(SHOP, HOOKS, HERON),
    go: async (page) => {
      await page.locator('.create .primary').waitFor();
      await page.keyboard.press('Control+k');
      await page.locator('.palette input').fill('shop');
    },
  },
  { name: 'empty', alt: 'No tunnel yet, with what to do', main: scripted({}) },
  {
    name: 'offline',
    alt: 'No network: a notice above the list',
    main: scripted({ tunnels: [{ ...SHOP, recent: [], status: LOST }], hasNetwork: false }),
  },
  {
    name: 'relay-down',
    alt: 'The relay cannot be reached: a notice above the list',
    main: scripted({
      tunnels: [{ ...SHOP, recent: [], status: LOST }],
      session: {
        ...signedIn,
        problem: {
          code: 'unreachable',
          text: 'The relay at https://tunnels.example.com cannot be reached: it did not respond in time. Culvert keeps trying.',
        },
      },
    }),
  },
  {
    name: 'extend',
    alt: 'A card with the lengths of time to extend by',
    main: live(SHOP, HERON),
    go: async (page) => await page.locator('#extend-shop').click(),
  },
  {
    name: 'qr',
    alt: 'A card with its address as a QR code',
    main: live(SHOP),
    go: async (page) => await page.locator('#qr-shop').click(),
  },
  {
    name: 'qr-locked',
    alt: 'A card with its address as a QR code, and the password that it asks for',
    main: live({ ...QUIET_SHOP, lock: PASSWORD }),
    go: async (page) => await page.locator('#qr-shop').click(),
  },
  {
    name: 'many',
    alt: 'Fifty tunnels with a search field',
    main: live(
      ...Array.from({ length: 50 }, (_, n) =>
        exampleTunnel({
          key: `many-${n}`,
          slug: `service-${n}`,
          url: `https://service-${n}.tunnels.example.com`,
          localPort: 3000 + n,
          expiresAt: NOW + (n + 10) * MINUTE,
        }),
      ),
    ),
  },
  {
    name: 'update',
    alt: 'A newer version that is ready to be installed: a notice above the list',
    main: scripted({ tunnels: [SHOP], update: { version: '0.2.0', isReady: true } }),
  },
  {
    name: 'undo',
    alt: 'What was just done, each with Undo, over the end of the list',
    main: scripted({
      tunnels: [
        { ...QUIET_SHOP, status: { name: 'ended', reason: 'stopped', why: 'You stopped the tunnel.' } },
        HERON,
      ],
      undos: [
        { id: 'u1', text: 'Removed stripe-hooks.' },
        { id: 'u2', text: 'Stopped shop-demo.' },
      ],
    }),
  },
];

async function openLock(page: Page, choice?: AccessKind): Promise<void> {
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
    name: 'lock-tokens',
    alt: 'The lock of a card: tokens, one of which can be copied',
    main: live({ ...QUIET_SHOP, lock: { kind: 'tokens' }, tokens: TOKENS }),
    go: async (page) => {
      await openLock(page);
      await page.locator('.link-list li').last().waitFor();
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
            text: 'This relay is too old to restrict access to a tunnel and must be updated. Nothing has changed.',
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
    alt: 'Visitors who wait for approval, with Approve and Deny',
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
