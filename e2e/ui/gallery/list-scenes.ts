import type { CheckupView, OtherTunnelView } from '../../../desktop/shared/snapshot.ts';
import { exampleOther, exampleSnapshot, exampleTunnel } from '../../../desktop/testing/views.ts';
import { PASSWORD } from './locks.ts';
import { HOUR, MINUTE, NOW, type Scene } from './scene.ts';
import { live, scripted } from './scripted.ts';
import { CONNECTING, ENDED, HERON, HOOKS, LOST, QUIET_SHOP, SHOP } from './tunnels.ts';

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
  exampleOther({ key: 'o2', expiresAt: NOW + 25 * MINUTE }),
  exampleOther({
    key: 'o3',
    slug: 'old-laptop',
    url: 'https://old-laptop.tunnels.example.com',
    isOnline: false,
    expiresAt: NOW + 8 * MINUTE,
  }),
];
const CHECKUP: CheckupView = {
  id: 'c',
  slug: 'shop-demo',
  isRunning: true,
  results: [
    { hop: 'dns', result: 'ok', ms: 4, detail: 'tunnels.example.com is 203.0.113.80' },
    { hop: 'connect', result: 'ok', ms: 21, detail: 'port 443 takes connections' },
    { hop: 'tls', result: 'ok', ms: 38, detail: 'the certificate is for tunnels.example.com and trusted' },
    {
      hop: 'relay',
      result: 'failed',
      ms: 32,
      detail: 'it runs, and is not ready',
      fix: 'Check the log of the relay: its database cannot be reached, or it is shutting down.',
    },
    { hop: 'key', result: 'skipped', ms: 0, detail: 'not tried without "relay"' },
    { hop: 'control', result: 'skipped', ms: 0, detail: 'not tried without "relay"' },
    { hop: 'data', result: 'skipped', ms: 0, detail: 'not tried without "relay"' },
    { hop: 'address', result: 'skipped', ms: 0, detail: 'not tried without "relay"' },
    { hop: 'trunk', result: 'skipped', ms: 0, detail: 'not tried without a test tunnel' },
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
    main: scripted({ tunnels: [{ ...SHOP, recent: [], status: LOST }], checkup: CHECKUP }),
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
          text: 'The relay at https://tunnels.example.com cannot be reached: it did not answer in time. Culvert keeps trying.',
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
        { ...QUIET_SHOP, status: { name: 'ended', reason: 'stopped', why: 'You stopped it.' } },
        HERON,
      ],
      undos: [
        { id: 'u1', text: 'stripe-hooks is removed.' },
        { id: 'u2', text: 'shop-demo is stopped.' },
      ],
    }),
  },
];
