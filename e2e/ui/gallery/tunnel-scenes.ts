import type { Page } from 'playwright-core';
import type { DiagnosticsView, OtherTunnelView, TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import type { AccessKind, KeptNameView, TokenView } from '../../../desktop/app/ipc/tunnel-views.ts';
import {
  exampleOther,
  exampleRequest,
  exampleSnapshot,
  exampleTunnel,
} from '../../../desktop/testing/views.ts';
import { refuse } from '../support/scripted-main.ts';
import {
  CONNECTING,
  ENDED,
  HERON,
  HOOKS,
  HOUR,
  AGENT_KNOCKS,
  KNOCKS,
  LOCKED,
  logOf,
  LOST,
  MINUTE,
  NOW,
  PASSWORD,
  QUIET_SHOP,
  type Scene,
  scene,
  SHOP,
  SIGN_INS,
} from './scripted.ts';

const signedIn = exampleSnapshot().session;
if (signedIn.state !== 'signed-in') throw new Error('the example is signed in');
const OTHERS: readonly OtherTunnelView[] = [
  exampleOther({
    key: 'o1',
    slug: 'webhooks',
    url: 'https://webhooks.tunnels.example.com',
    localPort: 8787,
    log: { epoch: 0, revision: 0 },
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

/** A tunnel that was paused, a name whose tunnel another machine had, and one without a message. */
const PAUSED: TunnelView = {
  ...HERON,
  name: HERON.slug,
  localProblem: undefined,
  status: { name: 'ended', reason: 'stopped', why: 'You paused the tunnel.' },
};
const NAMES: readonly KeptNameView[] = [
  { key: HERON.slug, isLive: false, away: 'Back after lunch.\nCall me if it burns.', until: NOW + 2 * HOUR },
  { key: 'invoices', isLive: false, away: `Closed until ${'Monday'.repeat(12)}.`, until: undefined },
  {
    key: 'a-name-that-is-as-long-as-names-of-tunnels-can-be-in-this-world',
    isLive: false,
    away: undefined,
    until: undefined,
  },
];

/** A TCP tunnel with a connection in each state. */
const RAW = exampleTunnel({
  key: 'shop',
  slug: 'database',
  url: 'tcp://tunnels.example.com:20432',
  localPort: 5432,
  lock: { kind: 'addresses', allow: ['203.0.113.0/24', '198.51.100.7'] },
  requests: 3,
  recent: (['open', 'done', 'refused'] as const).map((connection, index) =>
    exampleRequest({
      id: 3 - index,
      startedAt: NOW - (index + 1) * MINUTE,
      method: 'TCP',
      target: `203.0.113.${index + 7}:49152`,
      status: undefined,
      durationMs: connection === 'open' ? undefined : 2140,
      connection,
      isBroken: connection === 'refused',
    }),
  ),
});

export const LIST_SCENES: readonly Scene[] = [
  scene('tunnels', { tunnels: [SHOP, HOOKS, HERON] }),
  scene('tunnels-states', {
    tunnels: [CONNECTING, { ...HERON, localProblem: undefined, status: LOST }, ENDED],
    others: OTHERS,
    update: { version: '0.2.0', isReady: true },
    isTrayMissing: true,
    undos: [
      { id: 'u1', text: 'Removed stripe-hooks.' },
      { id: 'u2', text: 'Stopped shop-demo.' },
    ],
  }),
  scene('names', { tunnels: [SHOP, PAUSED], names: NAMES }),
  scene('names-asleep', {
    tunnels: [{ ...SHOP, name: SHOP.slug }],
    names: [{ key: SHOP.slug, isLive: true, away: undefined, until: undefined }],
  }),
  scene('names-message', { tunnels: [PAUSED], names: NAMES }, (page) =>
    page.locator(`#away-${PAUSED.key}`).click(),
  ),
  scene('raw', { tunnels: [RAW] }, openLock),
  scene('raw-log', { tunnels: [RAW], handlers: { 'log:changes': logOf(RAW.recent) } }, async (page) => {
    await page.locator('#log-shop').click();
    await page.getByText('203.0.113.7:49152').first().waitFor();
  }),
  scene('checkup', { tunnels: [{ ...SHOP, recent: [], status: LOST }], diagnostics: CHECKUP }),
  scene('palette', { tunnels: [SHOP, HOOKS, HERON], signIns: SIGN_INS }, async (page) => {
    await page.locator('.create .primary').waitFor();
    await page.keyboard.press('Control+k');
    await page.locator('.palette input').fill('shop');
  }),
  scene('keys', { tunnels: [SHOP] }, async (page) => {
    await page.locator('#settings').focus();
    await page.keyboard.press('?');
    await page.locator('dialog').waitFor();
  }),
  scene('empty', {}),
  scene('relay-down', {
    tunnels: [{ ...SHOP, recent: [], status: LOST }],
    session: {
      ...signedIn,
      problem: {
        code: 'unreachable',
        text: 'The relay at https://tunnels.example.com cannot be reached: it did not respond in time. Culvert keeps trying.',
      },
    },
  }),
  scene('extend', { tunnels: [SHOP, HERON] }, (page) => page.locator('#extend-shop').click()),
  scene('qr-locked', { tunnels: [{ ...SHOP, lock: PASSWORD }] }, async (page) => {
    await page.locator('#log-shop').click();
    await page.locator('#qr-shop').click();
  }),
  scene('many', {
    tunnels: Array.from({ length: 50 }, (_, n) =>
      exampleTunnel({
        key: `many-${n}`,
        slug: `service-${n}`,
        url: `https://service-${n}.tunnels.example.com`,
        localPort: 3000 + n,
        expiresAt: NOW + (n + 10) * MINUTE,
      }),
    ),
  }),
];

async function openLock(page: Page, choice?: AccessKind): Promise<void> {
  await page.locator('#lock-shop').click();
  if (choice !== undefined) await page.locator(`#lock-form-shop-${choice}`).check();
}

export const LOCK_SCENES: readonly Scene[] = [
  scene('locked', { tunnels: LOCKED }),
  scene('lock-knock', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'knock' } }] }, async (page) => {
    await openLock(page);
    await page.getByText('203.0.113.7').waitFor();
  }),
  scene('lock', { tunnels: [QUIET_SHOP] }, openLock),
  scene('lock-password', { tunnels: [QUIET_SHOP] }, async (page) => {
    await openLock(page, 'password');
    await page.getByRole('status').getByText('brisk-plum-tide').waitFor({ state: 'attached' });
  }),
  scene('lock-links', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'links' } }] }, async (page) => {
    await openLock(page);
    await page.getByText('for the review').waitFor();
  }),
  scene('lock-link-code', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'links' } }] }, async (page) => {
    await openLock(page);
    await page.locator('.link-form input[type=checkbox]').check();
    await page.locator('.link-form .button').click();
    await page.locator('.qr').waitFor();
  }),
  scene(
    'lock-tokens',
    { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'tokens' }, tokens: TOKENS }] },
    async (page) => {
      await openLock(page);
      await page.locator('.link-list li').last().waitFor();
    },
  ),
  scene(
    'lock-sign-in',
    { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'signIn', rules: ['*@example.com', 'group:Web Team'] } }] },
    openLock,
  ),
  scene('lock-agents', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'agents' } }] }, async (page) => {
    await openLock(page);
    await page.locator('.link-list li').last().waitFor();
  }),
  scene('lock-addresses', { tunnels: [QUIET_SHOP] }, async (page) => {
    await openLock(page, 'addresses');
    await page.locator('#lock-form-shop-detail').fill('203.0.113.0/24, office.example.com');
    await page.locator('.lock-apply button').click();
  }),
  scene(
    'lock-refused',
    {
      tunnels: [QUIET_SHOP],
      handlers: {
        'lock:set': refuse({
          code: 'relay-without-it',
          field: 'lock',
          text: 'This relay cannot restrict access to a tunnel. Nothing has changed.',
        }),
      },
    },
    async (page) => {
      await openLock(page, 'knock');
      await page.locator('.lock-apply button').click();
      await page.locator('.lock-form .problem').first().waitFor();
    },
  ),
  scene('knocks-agents', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'agents' }, knocks: AGENT_KNOCKS }] }),
  scene('knocks', { tunnels: [{ ...QUIET_SHOP, lock: { kind: 'knock' }, knocks: KNOCKS }, HOOKS] }),
];

export const FORM_SCENES: readonly Scene[] = [
  scene('create', { tunnels: [SHOP] }, async (page) => {
    await page.locator('#options-button').click();
    await page.locator('#name').fill('design-review');
  }),
  scene('create-domain', { tunnels: [QUIET_SHOP] }, async (page) => {
    await page.locator('#options-button').click();
    await page.locator('.options .headers-fold').click();
    await page.locator('#domain').selectOption('shop.example.org');
    await page.locator('.domain-setup > .button').click();
    await page.locator('#lock-password').check();
    await page.getByText('203.0.113.7').scrollIntoViewIfNeeded();
  }),
  scene('create-problems', { tunnels: [SHOP] }, async (page) => {
    await page.locator('#options-button').click();
    await page.locator('.options .headers-fold').click();
    await page.locator('#name').fill('café');
    await page.locator('#ttl').selectOption('custom');
    await page.locator('#custom-ttl').fill('soon');
    await page.locator('#host').selectOption('custom');
    await page.locator('#port').fill('99999');
    await page.locator('.create .primary').click();
  }),
  scene('ports', { tunnels: [SHOP] }, async (page) => {
    await page.locator('#port').click();
    await page.keyboard.press('ArrowDown');
  }),
];
