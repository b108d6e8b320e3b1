/** Every screen of the window, in each of its states: axe judges them and the screenshots show them. */
import type { Page } from 'playwright-core';
import type { RecordedMessage, RequestDetail } from '../../../desktop/engine/inspector/records.ts';
import type { About } from '../../../desktop/shared/ipc.ts';
import type { AdmittedView, KnockView, LinkView, LockView } from '../../../desktop/shared/lock.ts';
import type { Snapshot, TunnelView } from '../../../desktop/shared/snapshot.ts';
import { exampleRequest, exampleSnapshot, exampleTunnel } from '../../../desktop/testing/views.ts';
import { Refusal, ScriptedMain } from './scripted-main.ts';

/** The time on every screen, so that the pictures are always the same. */
export const NOW = Date.UTC(2026, 10, 21, 10, 30);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export interface Scene {
  readonly name: string;
  /** what the picture shows, for people who cannot see it */
  readonly alt: string;
  readonly main: () => ScriptedMain;
  /** leads from the main list to the screen */
  readonly go?: (page: Page) => Promise<void>;
}

const REQUESTS = [
  exampleRequest({ id: 5, startedAt: NOW - 3000 }),
  exampleRequest({ id: 4, startedAt: NOW - 5000, target: '/src/main.ts', status: 304, durationMs: 3 }),
  exampleRequest({
    id: 3,
    startedAt: NOW - 9000,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({
    id: 2,
    startedAt: NOW - 12_000,
    target: '/events',
    status: undefined,
    durationMs: undefined,
  }),
  exampleRequest({ id: 1, startedAt: NOW - 20_000, target: '/video.mp4', durationMs: 2140, isBroken: true }),
];

const SHOP = exampleTunnel({
  key: 'shop',
  slug: 'shop-demo',
  name: 'shop-demo',
  url: 'https://shop-demo.tunnels.example.com',
  localPort: 5173,
  framework: 'Vite',
  isIdle: true,
  expiresAt: NOW + 41 * MINUTE,
  requests: 1284,
  bytesIn: 612_000,
  bytesOut: 36_200_000,
  recent: REQUESTS.slice(0, 3),
});
const HOOKS = exampleTunnel({
  key: 'hooks',
  slug: 'stripe-hooks',
  name: 'stripe-hooks',
  url: 'https://stripe-hooks.tunnels.example.com',
  localPort: 3000,
  framework: 'Node',
  expiresAt: NOW + 4 * MINUTE,
  requests: 17,
  bytesIn: 21_300,
  bytesOut: 4100,
});
const HERON = exampleTunnel({
  key: 'heron',
  slug: 'quiet-heron-k3f9',
  url: 'https://quiet-heron-k3f9.tunnels.example.com',
  localPort: 8080,
  ttl: 4 * 3600,
  expiresAt: NOW + 2 * HOUR + 58 * MINUTE,
  localProblem: {
    code: 'local-refused',
    text: 'Nothing listens on port 8080. Visitors see a 502 until you start your server.',
  },
});
const CONNECTING = exampleTunnel({
  key: 'new',
  slug: 'calm-otter-p7c2',
  url: 'https://calm-otter-p7c2.tunnels.example.com',
  localPort: 4321,
  framework: 'Astro',
  status: { name: 'connecting' },
  expiresAt: NOW + HOUR,
});
const ENDED = exampleTunnel({
  key: 'old',
  slug: 'brave-finch-t5x1',
  url: 'https://brave-finch-t5x1.tunnels.example.com',
  localPort: 8000,
  status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' },
  requests: 3,
});

const LINKS: readonly LinkView[] = [
  { id: 'l3', note: 'for the review', expiresAt: NOW + 23 * HOUR + 59 * MINUTE },
  { id: 'l2', note: 'Ann, from the agency that makes the pictures', expiresAt: NOW + 6 * 24 * HOUR },
  { id: 'l1', note: '', expiresAt: NOW + 38 * MINUTE },
];
const PASSWORD: LockView = { kind: 'password', password: 'mild-oak-fern' };
const KNOCKS: readonly KnockView[] = [
  {
    id: 'n1',
    address: '203.0.113.7',
    agent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36',
  },
  {
    id: 'n2',
    address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
    agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile/15E148 Safari/604.1',
  },
];
const ADMITTED: readonly AdmittedView[] = KNOCKS.map((knock, index) => ({
  ...knock,
  endsAt: NOW + (index * 6 * 24 + 1) * HOUR - 17 * MINUTE,
}));
/** One of each kind, without requests. */
const QUIET_SHOP: TunnelView = { ...SHOP, recent: [], requests: 0 };
const LOCKED: readonly TunnelView[] = [
  { ...QUIET_SHOP, lock: PASSWORD },
  {
    ...HERON,
    key: 'review',
    slug: 'design-review',
    url: 'https://design-review.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'links' },
  },
  {
    ...HERON,
    key: 'office',
    slug: 'office-wiki',
    url: 'https://office-wiki.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'addresses', allow: ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'] },
  },
  {
    ...HERON,
    key: 'other',
    slug: 'nightly-build',
    url: 'https://nightly-build.tunnels.example.com',
    localProblem: undefined,
    lock: { kind: 'other', parts: ['addresses', 'users'] },
  },
];

const PORTS = [
  { port: 4321, process: 'node', framework: 'Astro' },
  { port: 3001, process: 'node', framework: 'Next.js' },
  { port: 8000, process: 'python3', framework: undefined },
  { port: 5432, process: 'postgres', framework: undefined },
];

const ABOUT: About = {
  version: '0.1.0',
  versions: [
    { name: 'Electron', version: '45.4.1' },
    { name: 'Chromium', version: '156.0.8078.79' },
    { name: 'Node', version: '24.21.0' },
  ],
  licences: [
    { name: 'Culvert', licence: 'MIT' },
    { name: 'Electron', licence: 'MIT' },
    { name: 'Preact', licence: 'MIT' },
    { name: 'uqr', licence: 'MIT' },
  ],
};

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const ASKED: RecordedMessage = {
  startLine: 'POST /api/checkout HTTP/1.1',
  fields: [
    ['Host', 'shop-demo.tunnels.example.com'],
    ['Content-Type', 'application/json'],
    ['Authorization', '•••'],
    ['X-Forwarded-For', '203.0.113.7'],
  ],
  body: bytes('{"cart":[{"sku":"heron-mug","count":2}],"currency":"EUR"}'),
  isTruncated: false,
};
const ANSWERED: RecordedMessage = {
  startLine: 'HTTP/1.1 500 Internal Server Error',
  fields: [
    ['Content-Type', 'application/json'],
    ['Date', 'Sat, 21 Nov 2026 10:29:51 GMT'],
  ],
  body: bytes('{"error":"no price for heron-mug in EUR"}'),
  isTruncated: false,
};

function detail(id: number): RequestDetail {
  const summary = REQUESTS.find((request) => request.id === id) ?? exampleRequest({ id });
  return {
    ...summary,
    bytesIn: 512,
    bytesOut: 289,
    request: ASKED,
    response: id === 2 ? undefined : ANSWERED,
  };
}

function scripted(changes: Partial<Snapshot>): () => ScriptedMain {
  return () =>
    new ScriptedMain(exampleSnapshot({ ports: PORTS, ...changes }), {
      'log:list': ({ search }) => REQUESTS.filter(({ target }) => target.includes(search)),
      'log:detail': ({ id }) => detail(id),
      'log:replay': () => ({ id: 5 }),
      'lock:invent': () => ({ password: 'brisk-plum-tide' }),
      'link:list': () => LINKS,
      'knock:admitted': () => ADMITTED,
      'link:create': ({ note }) => ({ id: 'l4', note, expiresAt: NOW + 24 * HOUR }),
      'app:about': () => ABOUT,
    });
}

function live(...tunnels: TunnelView[]): () => ScriptedMain {
  return scripted({ tunnels });
}

const signedIn = exampleSnapshot().session;
if (signedIn.state !== 'signed-in') throw new Error('the example is signed in');
const KEEPS = ['system', 'session', 'file'] as const;
const SIGNED_OUT = { state: 'signed-out', relay: 'https://tunnels.example.com', problem: undefined } as const;
const LOST: TunnelView['status'] = {
  name: 'reconnecting',
  retryAt: NOW + 4000,
  why: 'No connection to the relay: the connection was reset.',
};

async function openLock(page: Page, choice?: string): Promise<void> {
  await page.getByRole('button', { name: 'Who may come in to shop-demo' }).click();
  if (choice !== undefined) await page.getByRole('radio', { name: choice }).check();
}
async function openSettings(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Settings' }).click();
}
async function openLog(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'All requests to shop-demo' }).click();
}

export const SCENES: readonly Scene[] = [
  {
    name: 'sign-in',
    alt: 'Sign-in: relay address, API key, and where the key is kept',
    main: scripted({ session: { ...SIGNED_OUT, relay: undefined, keeps: KEEPS } }),
  },
  {
    name: 'sign-in-problems',
    alt: 'Sign-in with a word beside each field that is wrong',
    main: scripted({
      hasNetwork: false,
      session: {
        ...SIGNED_OUT,
        keeps: ['session', 'file'],
        problem: { code: 'key-refused', text: 'The API key was revoked. Sign in with another one.' },
      },
    }),
    go: async (page) => {
      await page.getByLabel('Relay').fill('my relay');
      await page.getByLabel('API key').fill('cvt_short');
      await page.getByRole('button', { name: 'Sign in' }).click();
    },
  },
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
    name: 'create',
    alt: 'The form with its options unfolded: name, who may come in, lifetime, host header, idle mode',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: 'Options' }).click();
      await page.getByLabel('Name', { exact: true }).fill('design-review');
    },
  },
  {
    name: 'create-problems',
    alt: 'The form with a word beside each field that is wrong',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: 'Options' }).click();
      await page.getByLabel('Name', { exact: true }).fill('café');
      await page.getByLabel('Lives for').selectOption('custom');
      await page.getByLabel('Time to live').fill('soon');
      await page.getByLabel('Host header').selectOption('custom');
      await page.getByLabel('Port', { exact: true }).fill('99999');
      await page.getByRole('button', { name: 'Expose' }).click();
    },
  },
  {
    name: 'ports',
    alt: 'Ports that something on this computer listens on, with the program',
    main: live(SHOP),
    go: async (page) => {
      await page.getByLabel('Port', { exact: true }).click();
      await page.keyboard.press('ArrowDown');
    },
  },
  {
    name: 'extend',
    alt: 'A card with the lengths of time to extend by',
    main: live(SHOP, HERON),
    go: async (page) => await page.getByRole('button', { name: 'Extend shop-demo' }).click(),
  },
  {
    name: 'qr',
    alt: 'A card with its address as a QR code',
    main: live(SHOP),
    go: async (page) => await page.getByRole('button', { name: 'QR shop-demo' }).click(),
  },
  {
    name: 'qr-locked',
    alt: 'A card with its address as a QR code, and the password that it asks for',
    main: live({ ...QUIET_SHOP, lock: PASSWORD }),
    go: async (page) => await page.getByRole('button', { name: 'QR shop-demo' }).click(),
  },
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
      await openLock(page, 'Password');
      await page.getByText('The password is').waitFor({ state: 'attached' });
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
      await openLock(page, 'These addresses');
      await page.getByLabel('Addresses and networks').fill('203.0.113.0/24, office.example.com');
      await page.getByRole('button', { name: 'Apply' }).click();
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
      await openLock(page, 'Ask me');
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByText('too old').waitFor();
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
  {
    name: 'create-lock',
    alt: 'The form with its options: a password for the new tunnel',
    main: live(QUIET_SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: 'Options' }).click();
      await page.getByRole('radio', { name: 'Password' }).check();
      await page.getByRole('textbox', { name: 'Password' }).scrollIntoViewIfNeeded();
    },
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
  { name: 'log', alt: 'The request log with its search', main: live(SHOP), go: openLog },
  {
    name: 'log-empty',
    alt: 'The request log where nothing matches the search',
    main: live(SHOP),
    go: async (page) => {
      await openLog(page);
      await page.getByLabel('Search requests').fill('nowhere');
      await page.getByText('No request matches').waitFor();
    },
  },
  {
    name: 'request',
    alt: 'One request with fields and body, and its response',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
      await page.getByRole('heading', { name: 'Response' }).waitFor();
    },
  },
  { name: 'settings', alt: 'Settings', main: live(SHOP), go: openSettings },
  {
    name: 'about',
    alt: 'Versions and licences',
    main: live(SHOP),
    go: async (page) => {
      await openSettings(page);
      await page.getByRole('button', { name: 'About and licences' }).click();
      await page.getByText('Culvert 0.1.0').waitFor();
    },
  },
];
