/** Every screen of the window in each of its states, for axe-core and for the screenshots. */
import type { Page } from 'playwright-core';
import type { TeamView } from '../../../desktop/app/ipc/ipc.ts';
import type { InvitationView } from '../../../desktop/app/ipc/snapshot.ts';
import type { ProjectTunnelView } from '../../../desktop/app/ipc/tunnel-views.ts';
import { t } from '../../../desktop/app/messages/translate.ts';
import { exampleSignIn } from '../../../desktop/testing/views.ts';
import type { Scope } from '../../support/scope.ts';
import type { WindowOptions } from '../support/app-window.ts';
import { openScripted } from '../support/running-app.ts';
import { Refusal, type ScriptedHandlers, type ScriptedMain } from '../support/scripted-main.ts';
import { BENCH_SCENES, LOG_SCENES, TRANSFER_SCENES } from './request-scenes.ts';
import { ELSEWHERE, HERON, HOUR, NOW, scene, type Scene, SHOP, SIGN_INS } from './scripted.ts';
import { FORM_SCENES, LIST_SCENES, LOCK_SCENES } from './tunnel-scenes.ts';

const DROP_SCENES: readonly Scene[] = [
  scene('drop-project', {
    tunnels: [SHOP],
    drop: { id: 'd', state: 'folder', name: 'shop', isProject: true },
  }),
  scene('drop-refused', {
    tunnels: [SHOP],
    drop: {
      id: 'd',
      state: 'refused',
      problem: {
        code: 'unreadable',
        text: 'The folder "/media/nas/pictures" does not respond. Its drive or server may be disconnected. Choose one folder that you can read.',
      },
    },
  }),
  scene('drop-here', { tunnels: [SHOP, HERON] }, async (page) => {
    await page.evaluate(`{
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([], 'folder'));
        document.querySelector('main, [role=main]').dispatchEvent(
          new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer }),
        );
      }`);
    await page.locator('.drop-here').waitFor();
  }),
];

const API_TUNNEL: ProjectTunnelView = {
  label: 'api',
  address: undefined,
  leadsTo: 'https://localhost:4000',
  lock: { kind: 'other', parts: ['users', 'links'], password: undefined },
  ttl: '4h',
  status: { name: 'ready' },
};
const DOCS_TUNNEL: ProjectTunnelView = {
  label: 'docs',
  address: 'docs.example.org',
  leadsTo: './public',
  lock: { kind: 'password', password: undefined },
  ttl: undefined,
  status: { name: 'ready' },
};
const PROJECT_TUNNELS: readonly ProjectTunnelView[] = [
  {
    label: 'web',
    address: 'shop-demo',
    leadsTo: 'http://localhost:5173',
    lock: { kind: 'anyone' },
    ttl: undefined,
    status: { name: 'online' },
  },
  API_TUNNEL,
  DOCS_TUNNEL,
  {
    label: 'nas',
    address: undefined,
    leadsTo: 'http://192.0.2.7:80',
    lock: { kind: 'anyone' },
    ttl: undefined,
    status: {
      name: 'blocked',
      why: 'This tunnel cannot be started here: it forwards to another machine, 192.0.2.7, which visitors could reach through this one. To allow that, run culvert start --allow-other-hosts.',
    },
  },
];

const PROJECT_SCENES: readonly Scene[] = [
  scene('project', {
    tunnels: [SHOP],
    project: { id: 'p', name: 'shop', state: 'open', tunnels: PROJECT_TUNNELS },
  }),
  scene('project-failed', {
    tunnels: [SHOP],
    project: {
      id: 'p',
      name: 'shop',
      state: 'open',
      tunnels: [
        { ...API_TUNNEL, status: { name: 'started' } },
        {
          ...DOCS_TUNNEL,
          status: { name: 'failed', why: 'You no longer have this domain.' },
        },
      ],
    },
  }),
  scene('project-refused', {
    tunnels: [SHOP],
    project: {
      id: 'p',
      name: 'shop',
      state: 'refused',
      why: '/home/ann/shop/culvert.yml:3: tunnels.web.prot: is unknown. Did you mean port?\n/home/ann/shop/culvert.yml:5: tunnels.api.port: is 0, but must be a whole number from 1 to 65535.',
    },
  }),
];

async function openSettings(page: Page): Promise<void> {
  await page.locator('#settings').click();
}

const KEY = { hint: 'cvt_BlK1', createdAt: NOW - 40 * 24 * HOUR, usedAt: NOW, expiresAt: undefined };
const TEAM: TeamView = {
  members: [
    { ...KEY, id: 'k1', label: 'olga', scope: 'owner', isOwn: true },
    { ...KEY, id: 'k2', label: 'ann', scope: 'all', usedAt: NOW - 3 * HOUR, isOwn: false },
    { ...KEY, id: 'k3', label: '', scope: 'all', usedAt: undefined, isOwn: false },
    {
      ...KEY,
      id: 'k4',
      label: 'build-server-of-the-documentation-in-the-basement',
      scope: 'shop-hooks',
      expiresAt: NOW + 30 * 24 * HOUR,
      isOwn: false,
    },
  ],
  invitations: [{ id: 'i1', label: 'bob', expiresAt: NOW + 23 * HOUR }],
  acts: [
    ['team.close', 'key:k2', 'web', 'of "olga", by "ann"'],
    ['team.invite', 'key:k1', 'shop', 'invite:i1 for "bob", by "olga"'],
    ['invite.take', 'invite:i0', 'shop', 'key cvt_BlK1…, "ann"'],
    ['account.create', 'operator', 'shop', 'plan team'],
  ].map(([action = '', actor = '', subject = '', detail = ''], index) => {
    return { at: NOW - index * 5 * HOUR, actor, action, subject, detail };
  }),
  hasMore: false,
};
const WITH_TEAM = {
  tunnels: [SHOP],
  handlers: {
    'team:show': () => TEAM,
    'team:invite': ({ label }) => {
      if (label === '')
        throw new Refusal({ code: 'bad-payload', field: 'label', text: t('problem.giveLabel') });
      const url = 'https://tunnels.example.com/invite/SY6nEAoJj9yf7GtlydTwxGCQIIVkZJJU';
      return { id: 'i2', label, expiresAt: NOW + 24 * HOUR, url };
    },
  } satisfies ScriptedHandlers,
};
async function openTeam(page: Page): Promise<void> {
  await openSettings(page);
  await page.locator('.team-list').scrollIntoViewIfNeeded();
}

const TEAM_SCENES: readonly Scene[] = [
  scene('team-invited', WITH_TEAM, async (page) => {
    await openTeam(page);
    await page.locator('#team-name').fill('carl');
    await page.locator('#team-name').press('Enter');
    await page.locator('.team-made').waitFor();
    await page.locator('#team-name').press('Enter');
    await page.locator('#team-name-note.problem').waitFor();
  }),
  scene('team-revoke', WITH_TEAM, async (page) => {
    await openTeam(page);
    await page.locator('.team-list button').first().click();
    await page.locator('dialog').waitFor();
  }),
];

const SETTINGS_SCENES: readonly Scene[] = [
  scene('settings', { tunnels: [SHOP] }, openSettings),
  scene('about', { tunnels: [SHOP] }, async (page) => {
    await openSettings(page);
    await page.locator('#about').click();
    await page.getByText('0.1.0').waitFor();
  }),
];

const KEEPS = ['system', 'session', 'file'] as const;
const SIGNED_OUT = { state: 'signed-out', relay: 'https://tunnels.example.com', problem: undefined } as const;
const INVITATION: InvitationView = {
  id: 'i',
  relay: 'https://relay.example.org',
  state: 'open',
  account: 'agency',
  endsAt: NOW + 23 * HOUR,
  keeps: KEEPS,
};

/** The same beside a form for one more. */
const ANOTHER = [
  ...SIGN_INS.map((signIn) => ({ ...signIn, isChosen: false })),
  exampleSignIn({ id: 's4', account: '', relay: '', isSignedIn: false }),
];

const SIGN_IN_SCENES: readonly Scene[] = [
  scene('sign-in', { session: { ...SIGNED_OUT, relay: undefined, keeps: KEEPS } }),
  scene(
    'sign-in-problems',
    {
      hasNetwork: false,
      session: {
        ...SIGNED_OUT,
        keeps: ['session', 'file'],
        problem: { code: 'key-refused', text: 'The API key was revoked. Sign in with a different one.' },
      },
    },
    async (page) => {
      await page.locator('#relay').fill('my relay');
      await page.locator('#key').fill('cvt_short');
      await page.locator('button.primary').click();
    },
  ),
  scene('sign-in-another', { session: { ...SIGNED_OUT, relay: undefined, keeps: KEEPS }, signIns: ANOTHER }),
  scene('sign-ins', { tunnels: [SHOP, HERON], signIns: SIGN_INS }, (page) =>
    page.locator('#sign-ins').click(),
  ),
  scene('project-elsewhere', {
    tunnels: [SHOP],
    signIns: SIGN_INS,
    project: {
      id: 'p',
      name: 'shop',
      state: 'refused',
      why: t('project.otherRelay', { relay: ELSEWHERE, own: 'https://tunnels.example.com' }),
      relay: ELSEWHERE,
    },
  }),
  scene('invitation', { tunnels: [SHOP, HERON], invitation: INVITATION, signIns: SIGN_INS }),
  scene('invitation-ended', {
    session: { ...SIGNED_OUT, keeps: KEEPS },
    invitation: {
      id: 'i',
      relay: 'https://relay.example.org',
      state: 'failed',
      problem: {
        code: 'invitation-not-found',
        text: 'The relay rejected the request: this invitation was already used, has expired, or never existed. Ask its sender for a new one.',
      },
    },
  }),
];

export const SCENES: readonly Scene[] = [
  ...SIGN_IN_SCENES,
  ...LIST_SCENES,
  ...FORM_SCENES,
  ...DROP_SCENES,
  ...PROJECT_SCENES,
  ...LOCK_SCENES,
  ...LOG_SCENES,
  ...BENCH_SCENES,
  ...TRANSFER_SCENES,
  ...SETTINGS_SCENES,
  ...TEAM_SCENES,
];

/** Opens the window where a scene begins. */
export async function openScene(
  scope: Scope,
  wanted: string,
  options: WindowOptions = {},
): Promise<{ page: Page; main: ScriptedMain }> {
  const main = SCENES.find(({ name }) => name === wanted)?.main();
  if (main === undefined) throw new Error(`there is no scene ${wanted}`);
  return { main, page: await openScripted(scope, main, { now: NOW, ...options }) };
}
