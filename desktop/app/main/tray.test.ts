import assert from 'node:assert/strict';
import { tunnelView } from '../../testing/views.ts';
import type { SessionView, TunnelView } from '../ipc/snapshot.ts';
import type { KeptNameView } from '../ipc/tunnel-views.ts';
import { type TrayEntry, type TrayIcon, trayModel } from './tray.ts';

const SIGNED_IN: SessionView = {
  state: 'signed-in',
  relay: 'https://relay.test',
  account: { name: 'a', plan: 'dev', nameDomain: '', allowsNames: true, defaultTtl: 1, maxTtl: 1 },
  keyKept: 'system',
  problem: undefined,
};
const SIGNED_OUT: SessionView = { state: 'signed-out', relay: undefined, problem: undefined, keeps: [] };
const REFUSED = { code: 'local-refused', text: 'Nothing listens on port 3000.' };

function model(
  tunnels: readonly TunnelView[],
  session = SIGNED_IN,
  hasNetwork = true,
  names: readonly KeptNameView[] = [],
) {
  return trayModel([{ session, tunnels, names }], hasNetwork);
}

/** The labels of a menu, followed by those of its submenus. */
function labels(entries: readonly TrayEntry[]): string[] {
  return entries.flatMap((entry) => {
    if (entry.kind === 'separator') return ['-'];
    return entry.kind === 'menu' ? [entry.label, ...labels(entry.entries)] : [entry.label];
  });
}

describe('trayModel', () => {
  it('names the folder that a tunnel shares', () => {
    const shown = labels(model([tunnelView({ folder: 'site' })]).entries);
    assert.ok(shown.includes('my-app → site (online)'), shown.join());
  });

  const reconnecting = tunnelView({ status: { name: 'reconnecting', retryAt: 0, why: '' } });
  const ended = tunnelView({ status: { name: 'ended', reason: 'expired', why: 'It has expired.' } });
  const cases: [TrayIcon, string, ReturnType<typeof model>][] = [
    ['idle', 'Culvert: no tunnels', model([])],
    ['idle', 'Culvert: no tunnels', model([ended])],
    ['online', 'Culvert: 1 tunnel online', model([tunnelView(), ended])],
    ['trouble', 'Culvert: 1 of 2 tunnels online', model([tunnelView(), reconnecting])],
    [
      'trouble',
      'Culvert: 1 tunnel online, a local server is not responding',
      model([tunnelView({ localProblem: REFUSED })]),
    ],
    ['offline', 'Culvert: no network', model([tunnelView()], SIGNED_IN, false)],
    ['offline', 'Culvert: signed out', model([], SIGNED_OUT)],
  ];
  for (const [icon, tooltip, shown] of cases) {
    it(`shows "${tooltip}" as ${icon}`, () => {
      assert.deepEqual([shown.icon, shown.tooltip], [icon, tooltip]);
    });
  }

  it('offers every action on a tunnel without the window', () => {
    assert.deepEqual(labels(model([tunnelView()]).entries), [
      "Copy my-app's address",
      '-',
      'my-app → 3000 (online)',
      'Copy address',
      'Open in browser',
      'Extend by 1 hour',
      'Pause',
      'Stop',
      '-',
      'New tunnel…',
      'Share a folder…',
      'Open a project…',
      'Open Culvert',
      '-',
      'Quit',
    ]);
  });

  it('shows the access policy, and copies what visitors need to get access', () => {
    const password = { kind: 'password', password: 'mild-oak-fern' } as const;
    assert.deepEqual(labels(model([tunnelView({ lock: password })]).entries).slice(2, 5), [
      'my-app → 3000 (online, password)',
      'Copy link and password',
      'Copy address',
    ]);
    const unknown = labels(model([tunnelView({ lock: { ...password, password: undefined } })]).entries);
    assert.deepEqual(unknown.slice(2, 4), ['my-app → 3000 (online, password)', 'Copy address']);
    const [, , links] = labels(model([tunnelView({ lock: { kind: 'links' } })]).entries);
    assert.equal(links, 'my-app → 3000 (online, only with a link)');
    const [over] = labels(model([{ ...ended, lock: { kind: 'links' } }]).entries);
    assert.equal(over, 'my-app → 3000 (expired)');
  });

  it('answers approval requests', () => {
    const knocks = Array.from({ length: 7 }, (_, n) => ({
      id: `n${n}`,
      address: '192.0.2.7',
      agent: 'curl/8',
    }));
    const shown = labels(model([tunnelView({ lock: { kind: 'knock' }, knocks })]).entries);
    assert.deepEqual(shown.slice(2, 6), [
      'my-app → 3000 (online, you approve visitors, 7 waiting)',
      'curl from 192.0.2.7 is asking for access',
      'Approve for 1 hour',
      'Deny',
    ]);
    assert.equal(shown.filter((label) => label === 'Deny').length, 5);
    const client = { name: 'Claude', host: 'claude.ai', returns_to: 'evil.example' };
    const asked = [{ id: 'n1', address: '192.0.2.7', agent: '', client }];
    const agents = labels(model([tunnelView({ lock: { kind: 'agents' }, knocks: asked })]).entries);
    assert.deepEqual(agents.slice(2, 5), [
      'my-app → 3000 (online, you approve agents, 1 waiting)',
      'An agent of claude.ai, which returns to evil.example, is asking for access',
      'Approve',
    ]);
  });

  it('restarts an ended tunnel, and shows why it ended', () => {
    const shown = labels(model([ended]).entries);
    assert.deepEqual(shown.slice(0, 3), ['my-app → 3000 (expired)', 'It has expired.', 'Start again']);
  });

  it('pauses only a tunnel with a name, and resumes it', () => {
    assert.ok(!labels(model([tunnelView({ name: '' })]).entries).includes('Pause'));
    const kept = { key: 'my-app', isLive: false, away: undefined, until: undefined };
    const paused = (away?: string) =>
      labels(model([ended], SIGNED_IN, true, [{ ...kept, away }]).entries).slice(0, 4);
    assert.deepEqual(paused(), ['my-app → 3000 (paused)', 'It has expired.', 'Resume', 'Message…']);
    assert.equal(paused('Back soon.')[0], 'my-app → 3000 (away)');
    const live = model([tunnelView()], SIGNED_IN, true, [{ ...kept, isLive: true }]).entries;
    assert.deepEqual(labels(live).slice(5, 9), ['Extend by 1 hour', 'Message…', 'Pause', 'Stop']);
  });

  it('offers no actions that a refused key cannot perform', () => {
    const refused = {
      ...ended,
      status: { name: 'ended', reason: 'key-refused', why: 'The key was revoked.' },
    } as const;
    const shown = labels(model([refused], SIGNED_OUT).entries);
    assert.deepEqual(shown.slice(1, 4), ['The key was revoked.', '-', 'Sign in…']);
  });

  it('offers to sign in', () => {
    assert.deepEqual(labels(model([], SIGNED_OUT).entries)[0], 'Sign in…');
  });

  it('never gets taller than a screen', () => {
    const shown = labels(
      model(Array.from({ length: 50 }, (_, index) => tunnelView({ key: String(index) }))).entries,
    );
    assert.ok(shown.includes('35 more in the Culvert window'));
  });
});
