/** Every screen of the window, in each of its states: axe judges them and the screenshots show them. */
import type { Page } from 'playwright-core';
import type {
  RecordedMessage,
  RequestDetail,
  RequestSummary,
} from '../../../desktop/engine/inspector/records.ts';
import type { EditView } from '../../../desktop/shared/bench.ts';
import type { DomainView } from '../../../desktop/shared/domain.ts';
import type { About } from '../../../desktop/shared/ipc.ts';
import type { AdmittedView, KnockView, LinkView, LockKind, LockView } from '../../../desktop/shared/lock.ts';
import type { SignatureCheck } from '../../../desktop/shared/signatures.ts';
import type {
  CheckupView,
  InvitationView,
  OtherTunnelView,
  Snapshot,
  TunnelView,
} from '../../../desktop/shared/snapshot.ts';
import {
  exampleOther,
  exampleRequest,
  exampleSnapshot,
  exampleTunnel,
} from '../../../desktop/testing/views.ts';
import { Refusal, type ScriptedHandlers, ScriptedMain } from './scripted-main.ts';

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
  exampleRequest({ id: 95, startedAt: NOW - 3000 }),
  exampleRequest({ id: 94, startedAt: NOW - 5000, target: '/src/main.ts', status: 304, durationMs: 3 }),
  exampleRequest({
    id: 93,
    startedAt: NOW - 9000,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({
    id: 92,
    startedAt: NOW - 12_000,
    target: '/events',
    status: undefined,
    durationMs: undefined,
  }),
  exampleRequest({ id: 91, startedAt: NOW - 20_000, target: '/video.mp4', durationMs: 2140, isBroken: true }),
];
/** What the log has besides the last few. */
const EARLIER = [
  exampleRequest({ id: 90, startedAt: NOW - 44_000, target: '/live', durationMs: undefined }),
  exampleRequest({
    id: 89,
    startedAt: NOW - 3 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 201,
    durationMs: 31,
    replayOf: 88,
  }),
  exampleRequest({
    id: 88,
    startedAt: NOW - 4 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({ id: 87, startedAt: NOW - 2 * HOUR, target: '/caf%C3%A9/men%C3%BC', durationMs: 9 }),
];

/** A minute of traffic that has had better moments. */
const PULSE = Array.from({ length: 42 }, (_none, index) => ({
  id: NOW / 1000 - 58 + index + Math.floor(index / 3),
  requests: 1 + ((index * 7) % 11) * (index % 4),
  errors: index % 9 === 8 ? 2 : 0,
}));

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
  pulse: PULSE,
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
    ['Authorization', 'Bearer [redacted]'],
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

const EDITED: EditView = {
  method: 'POST',
  target: '/api/checkout?token=[redacted]',
  fields: ASKED.fields.filter(([name]) => name !== 'Host'),
  body: new TextDecoder().decode(ASKED.body),
  bodySize: ASKED.body.length,
  isCut: false,
  signer: undefined,
};
/** What came to it once it was edited. */
const SENT = { id: 96, status: 201 };
const EDIT_PROBLEMS = [
  { part: 'method', text: 'The method takes 1 to 32 letters, digits and hyphens, such as POST.' },
  { part: 'target', text: 'The path takes no line break.' },
  { part: 'fields.1.name', text: 'The header Host is written by culvert, from the rest of the request.' },
  { part: 'fields.2.value', text: 'The value of X-Forwarded-For takes no control characters.' },
  { part: 'body', text: 'The body takes 64 KiB; this one has 80 KiB.' },
];
const ANSWERED_NOW: RecordedMessage = {
  startLine: 'HTTP/1.1 201 Created',
  fields: [
    ['Content-Type', 'application/json'],
    ['Location', '/orders/1044'],
  ],
  body: bytes('{"order":1044,"total":"27.80 EUR","shipped":false}'),
  isTruncated: false,
};

function detail(id: number): RequestDetail {
  const summary = REQUESTS.find((request) => request.id === id) ?? exampleRequest({ id });
  return {
    ...summary,
    timing: { waitedMs: 4, connectedMs: 0.4, answeredMs: id === 92 ? undefined : 45 },
    bytesIn: 512,
    bytesOut: 289,
    request: ASKED,
    response: id === 92 ? undefined : id === SENT.id ? ANSWERED_NOW : ANSWERED,
  };
}

/** A log in which nothing changes. */
function logOf(requests: readonly RequestSummary[]): NonNullable<ScriptedHandlers['log:changes']> {
  return ({ since }) => ({
    at: { epoch: 0, revision: 1 },
    isWhole: false,
    isMore: false,
    oldest: 1,
    requests: since.revision === 0 ? requests : [],
  });
}

function scripted(changes: Partial<Snapshot>, handlers: ScriptedHandlers = {}): () => ScriptedMain {
  return () =>
    new ScriptedMain(exampleSnapshot({ ports: PORTS, ...changes }), {
      'log:changes': logOf([...REQUESTS, ...EARLIER]),
      'log:detail': ({ id }) => detail(id),
      'log:replay': () => ({ id: 95 }),
      'bench:open': () => EDITED,
      'bench:send': ({ edit }) => (edit.method === 'POST' ? { sent: SENT } : { problems: EDIT_PROBLEMS }),
      'lock:invent': () => ({ password: 'brisk-plum-tide' }),
      'link:list': () => LINKS,
      'domain:list': () => DOMAINS,
      'domain:check': () => ({ ...PENDING_DOMAIN, problems: DOMAIN_PROBLEMS }),
      'knock:admitted': () => ADMITTED,
      'link:create': ({ note }) => ({ id: 'l4', note, expiresAt: NOW + 24 * HOUR }),
      'app:about': () => ABOUT,
      ...handlers,
    });
}

const PENDING_DOMAIN: DomainView = {
  id: 'd2',
  domain: 'shop.example.org',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'shop.example.org', value: 'tunnels.example.com' },
    {
      type: 'TXT',
      name: '_culvert.shop.example.org',
      value: 'culvert-verify=2f1e0c5b9a7d46e38f20b1c4d5e6f708',
    },
  ],
};
const DOMAINS: readonly DomainView[] = [
  { id: 'd1', domain: 'app.example.org', status: 'verified', records: [] },
  PENDING_DOMAIN,
];
const DOMAIN_PROBLEMS = [
  { text: 'shop.example.org leads somewhere else: not to this relay.', found: ['203.0.113.7'] },
  { text: 'There is no TXT record _culvert.shop.example.org.', found: [] },
];

function live(...tunnels: TunnelView[]): () => ScriptedMain {
  return scripted({ tunnels });
}

const signedIn = exampleSnapshot().session;
if (signedIn.state !== 'signed-in') throw new Error('the example is signed in');
const KEEPS = ['system', 'session', 'file'] as const;
const SIGNED_OUT = { state: 'signed-out', relay: 'https://tunnels.example.com', problem: undefined } as const;
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
const INVITATION: InvitationView = {
  id: 'i',
  relay: 'https://relay.example.org',
  state: 'open',
  account: 'agency',
  endsAt: NOW + 23 * HOUR,
  keeps: KEEPS,
};
const LOST: TunnelView['status'] = {
  name: 'reconnecting',
  retryAt: NOW + 4000,
  why: 'No connection to the relay: the connection was reset.',
};

async function openLock(page: Page, choice?: LockKind): Promise<void> {
  await page.locator('#lock-shop').click();
  if (choice !== undefined) await page.locator(`#lock-form-shop-${choice}`).check();
}
async function openSettings(page: Page): Promise<void> {
  await page.locator('#settings').click();
}
async function openLog(page: Page): Promise<void> {
  await page.locator('#log-shop').click();
}

function signed(check: SignatureCheck): () => ScriptedMain {
  return scripted({ tunnels: [SHOP] }, { 'signature:look': () => check });
}
async function openSigned(page: Page): Promise<void> {
  await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
  await page.locator('.signature h2').scrollIntoViewIfNeeded();
}
async function openEdit(page: Page): Promise<void> {
  await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
  await page.locator('#edit-request').click();
  await page.locator('#edit-body').waitFor();
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
      await page.locator('#relay').fill('my relay');
      await page.locator('#key').fill('cvt_short');
      await page.locator('button.primary').click();
    },
  },
  {
    name: 'invitation',
    alt: 'An invitation that was opened: to which relay it leads and as whom, what it ends, and where the key is kept',
    main: scripted({ tunnels: [SHOP, HERON], invitation: INVITATION }),
  },
  {
    name: 'invitation-ended',
    alt: 'An invitation that was used already',
    main: scripted({
      session: { ...SIGNED_OUT, keeps: KEEPS },
      invitation: {
        id: 'i',
        relay: 'https://relay.example.org',
        state: 'failed',
        problem: {
          code: 'invitation-ended',
          text: 'This invitation was used already, has ended, or never was. Whoever sent it to you can send another one.',
        },
      },
    }),
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
      await page.locator('#search-requests').fill('nowhere');
      await page.locator('.nothing').waitFor();
    },
  },
  {
    name: 'request',
    alt: 'One request with fields and body, and its response',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
      await page.locator('.message + .message h2').waitFor();
    },
  },
  {
    name: 'signature',
    alt: 'A webhook of Stripe whose signature is too old, and the secrets it was checked with',
    main: signed({
      signature: { provider: 'stripe', verdict: 'too-old' },
      name: 'Stripe',
      secrets: [
        { id: 's2', addedAt: NOW - HOUR },
        { id: 's1', addedAt: NOW - 90 * 24 * HOUR },
      ],
      isKept: true,
    }),
    go: async (page) => {
      await openSigned(page);
      await page.locator('.signature button[aria-expanded]').click();
    },
  },
  {
    name: 'signature-unknown',
    alt: 'A webhook of GitHub whose secret is not known, with the field for it',
    main: signed({
      signature: { provider: 'github', verdict: 'no-secret' },
      name: 'GitHub',
      secrets: [],
      isKept: false,
    }),
    go: openSigned,
  },
  {
    name: 'log-signatures',
    alt: 'The request log with what the signatures of webhooks say',
    main: scripted(
      { tunnels: [SHOP] },
      {
        'log:changes': logOf(
          (['valid', 'mismatch', 'too-old', 'no-secret'] as const).map((verdict, index) =>
            exampleRequest({
              id: 9 - index,
              startedAt: NOW - index * MINUTE,
              method: 'POST',
              target: '/hooks/stripe',
              status: verdict === 'valid' ? 200 : 400,
              webhook: 'stripe',
              signature: { provider: 'stripe', verdict },
            }),
          ),
        ),
      },
    ),
    go: openLog,
  },
  {
    name: 'request-find',
    alt: 'The body of a response as a tree, with what was found in it',
    main: live(SHOP),
    go: async (page) => {
      await page.getByRole('button', { name: /POST \/api\/checkout/ }).click();
      const response = page.locator('.message + .message');
      await response.locator('.body-bar button[aria-expanded]').click();
      await response.getByRole('searchbox').fill('mug');
      await response.locator('.tree-target').waitFor();
      await response.locator('.tree-bar .copy').last().scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'edit',
    alt: 'A request as fields, each of which can be changed: method, path, headers and body',
    main: live(SHOP),
    go: openEdit,
  },
  {
    name: 'edit-problems',
    alt: 'A request with a word below each field that it cannot be sent with',
    main: live(SHOP),
    go: async (page) => {
      await openEdit(page);
      await page.locator('#edit-method').fill('P OST');
      await page.locator('.edit .primary').click();
      await page.locator('#edit-method-note.problem').waitFor();
    },
  },
  {
    name: 'edit-sent',
    alt: 'The response to an edited request beside the one before: status, headers and lines of the body that differ are marked',
    main: live(SHOP),
    go: async (page) => {
      await openEdit(page);
      await page.locator('.edit .primary').click();
      await page.locator('.responses h2').waitFor();
      await page.locator('.diff').last().scrollIntoViewIfNeeded();
    },
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
