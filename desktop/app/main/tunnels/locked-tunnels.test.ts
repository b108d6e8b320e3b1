/** Access policies of the app's tunnels: from the window to the relay, to the disk, and back. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AccessView, OPEN } from '../../../../shared/access.ts';
import { onPosix } from '../../../../shared/testing/posix.ts';
import { AccessUnsupported, RelayRefusal, RelayUnreachable } from '../../../client/relay/errors.ts';
import { checkApp, PASSWORD } from '../../../testing/app-script.ts';
import { again, type App, failsWith, FORM, SIGN_IN, signedIn, start } from '../../../testing/core-app.ts';
import type { TunnelAccess, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { APPROVAL_NOTICES_MAX } from '../session/session.ts';

const STOP = 'stop: stop, shop ended, undo Stopped shop.; commit: close 1, no undo';

const shownIn = (app: App) => app.core.snapshots.make().tunnels[0];
const lockOf = (app: App): TunnelAccessView | undefined => shownIn(app)?.lock;
const waiting = (app: App) => shownIn(app)?.knocks.map(({ id }) => id);
/** Its only tunnel at the relay is changed by another client. */
function changeElsewhere({ api }: App, access: AccessView): void {
  api.tunnels = api.tunnels.map((tunnel) => ({ ...tunnel, access }));
}
async function locked(lock: TunnelAccess, app?: App): Promise<App & { key: string }> {
  const owner = app ?? (await signedIn());
  const { key } = await owner.call('tunnel:create', { ...FORM, name: 'shop', lock });
  return { ...owner, key };
}
/** the file of the passwords */
const file = (app: App): string => join(app.platform.dataDirectory, 'passwords.json');

describe('the access policy', () => {
  const scripts: Readonly<Record<string, string>> = {
    'changes immediately, each replacing the previous one': `
      create shop: create 3000, serve 1, shop connecting;
      lock password: access 1, shop connecting password brisk-plum-tide;
      lock links: access 1, shop connecting links; lock knock: access 1, shop connecting knock;
      lock anyone: access 1, shop connecting`,
    'stays as it is if the relay is unreachable': `
      create shop links: create 3000, serve 1, shop connecting links;
      gone; lock anyone: fails RelayUnreachable, access 1`,
    'is the same after the tunnel is restarted': `
      create shop password: create 3000, serve 1, shop connecting password brisk-plum-tide;
      stop: stop, shop ended password brisk-plum-tide, undo Stopped shop.; commit: close 1, no undo;
      start: create 3000, serve 2, shop connecting password brisk-plum-tide`,
    'is copied as one sentence to send': `
      create shop password: create 3000, serve 1, shop connecting password brisk-plum-tide;
      share: copied Open http://shop.tunnels.test:8080 and enter the password brisk-plum-tide`,
    'drops approval requests when it changes or the tunnel has ended': `
      create shop knock: create 3000, serve 1, shop connecting knock;
      knock n1: notice Someone is asking for access to shop, shop connecting knock n1;
      lock links: access 1, shop connecting links; lock knock: access 1, shop connecting knock;
      knock n2: notice Someone is asking for access to shop, shop connecting knock n2;
      stop: stop, shop ended knock, undo Stopped shop.`,
    'has tokens, each of which can be copied once': `
      create shop tokens: create 3000, serve 1, shop connecting tokens ci*;
      token create agent: get 1, access 1, shop connecting tokens ci* agent*;
      token copy ci: copied cvp_ci_2, shop connecting tokens ci agent*; token copy ci: fails token-unknown;
      refresh`,
  };
  for (const [title, script] of Object.entries(scripts)) it(title, async () => void (await checkApp(script)));

  it('is sent to the relay with everything else open', async () => {
    const app = await locked({ kind: 'addresses', allow: ['10.0.0.0/8'] });
    assert.deepEqual(lockOf(app), { kind: 'addresses', allow: ['10.0.0.0/8'] });
    await checkApp(
      `lock password: access 1, shop connecting password brisk-plum-tide; lock links: access 1, shop connecting links;
       lock knock: access 1, shop connecting knock; lock anyone: access 1, shop connecting`,
      app,
    );
    assert.deepEqual(app.api.asked, [
      { ...OPEN, allow: ['10.0.0.0/8'] },
      { ...OPEN, password: PASSWORD.password },
      { ...OPEN, links: true },
      { ...OPEN, knock: true },
      OPEN,
    ]);
    assert.deepEqual(await app.call('lock:invent', undefined), { password: 'mild-oak-fern' });
  });

  it('asks for new tokens beside the others, and stores none', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    await app.call('token:create', { key: app.key, name: 'agent' });
    assert.deepEqual(app.api.asked.at(-1)?.tokens, [
      { name: 'ci', token: undefined },
      { name: 'agent', token: undefined },
    ]);
    const stored = readdirSync(app.platform.dataDirectory).map((name) =>
      readFileSync(join(app.platform.dataDirectory, name), 'utf8'),
    );
    assert.ok(!stored.join('').includes('cvp_'));
  });

  it('keeps tokens of other programs when one is revoked, and never loses the last one', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    const { key } = app;
    const used = { name: 'agent', last_used_at: '2026-07-10T12:00:00.000Z' };
    changeElsewhere(app, { tokens: [{ name: 'ci' }, used] });
    await app.call('token:revoke', { key, name: 'ci' });
    assert.deepEqual(app.api.asked.at(-1), { ...OPEN, tokens: [{ name: 'agent', token: undefined }] });
    await assert.rejects(app.call('token:revoke', { key, name: 'agent' }), failsWith('last-token'));
    changeElsewhere(app, { links: true, tokens: [used] });
    await app.core.chosen.tunnelList.refresh();
    assert.equal(shownIn(app)?.tokens[0]?.usedAt, Date.parse(used.last_used_at));
    await app.call('token:revoke', { key, name: 'agent' });
    assert.deepEqual(app.api.asked.at(-1), { ...OPEN, links: true });
  });

  it('stays as it is if a token is changed but this app does not know the passwords', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    for (const other of [{ password: true }, { basic: ['ann'] }] as const) {
      changeElsewhere(app, { ...other, tokens: [{ name: 'ci' }] });
      await assert.rejects(app.call('token:revoke', { key: app.key, name: 'ci' }), failsWith('lock-unknown'));
    }
    assert.equal(app.api.asked.length, 1);
  });

  it('prevents sharing, or stays as it is, if the relay does not support it', async () => {
    const app = await signedIn();
    app.api.failure = new AccessUnsupported('The tunnel was closed immediately');
    await assert.rejects(locked(PASSWORD, app), AccessUnsupported);
    assert.deepEqual([app.core.snapshots.make().tunnels, app.serve.all], [[], []]);
    app.api.failure = undefined;
    const { key } = await locked(PASSWORD, app);
    app.api.failure = new AccessUnsupported('Nothing has changed');
    await assert.rejects(app.call('lock:set', { key, lock: { kind: 'anyone' } }), AccessUnsupported);
    assert.deepEqual(lockOf(app), PASSWORD);
  });

  it('is not undone by a list that the relay sent before the change', async () => {
    const app = await locked({ kind: 'anyone' });
    const before = app.api.tunnels;
    const relay = new EventEmitter();
    app.api.listTunnels = async () => {
      relay.emit('asked');
      await once(relay, 'answer');
      return before;
    };
    const asked = once(relay, 'asked');
    const list = app.core.chosen.tunnelList.refresh();
    await asked;
    await app.call('lock:set', { key: app.key, lock: PASSWORD });
    relay.emit('answer');
    await list;
    assert.deepEqual(lockOf(app), PASSWORD);
  });

  it('set elsewhere is shown, and never weaker after a restart: an unknown password is replaced', async () => {
    const app = await locked({ kind: 'anyone' });
    changeElsewhere(app, { password: true });
    await checkApp(
      `refresh: shop connecting password ?; share: fails password-unknown;
       ${STOP.replace('ended', 'ended password ?')};
       start: create 3000, serve 2, shop connecting password mild-oak-fern`,
      app,
    );
  });
});

describe('the passwords of tunnels', () => {
  onPosix(
    'are known after a restart, in a file for its owner only, and never stored in plain text',
    async () => {
      const app = await locked(PASSWORD);
      assert.deepEqual(lockOf(await start(again(app))), PASSWORD);
      for (const name of ['culvert.json', 'passwords.json'])
        assert.ok(!readFileSync(join(app.platform.dataDirectory, name), 'utf8').includes('brisk'), name);
      assert.equal(statSync(file(app)).mode & 0o777, 0o600);
    },
  );

  it('are stored the way the key is: in a plain file, or not at all', async () => {
    const app = await start();
    await app.call('session:sign-in', { ...SIGN_IN, keep: 'file' });
    await locked(PASSWORD, app);
    assert.ok(readFileSync(file(app), 'utf8').includes('brisk-plum-tide'));

    const careful = await start();
    await careful.call('session:sign-in', { ...SIGN_IN, keep: 'session' });
    await locked(PASSWORD, careful);
    assert.equal(existsSync(file(careful)), false);
    assert.deepEqual(lockOf(careful), PASSWORD);
  });

  it('are kept while signed out, and forgotten with the access policy and at sign-out', async () => {
    const app = await locked(PASSWORD);
    const before = readFileSync(file(app), 'utf8');
    app.serve.last.onState({ name: 'offline', reason: 'key-refused', why: 'The API key was revoked.' });
    await app.call('session:sign-in', SIGN_IN);
    await app.call('tunnel:stop', { key: app.key });
    assert.equal(readFileSync(file(app), 'utf8'), before);
    await app.call('lock:set', { key: app.key, lock: { kind: 'links' } });
    assert.equal(existsSync(file(app)), false);
    await app.call('lock:set', { key: app.key, lock: PASSWORD });
    assert.equal(existsSync(file(app)), true);
    await app.call('session:sign-out', {});
    assert.equal(existsSync(file(app)), false);
  });

  it('are unknown if the file cannot be read', async () => {
    const app = await locked(PASSWORD);
    const kept = { version: 1, data: { kept: 'file', value: '{"no":"list"}' } };
    writeFileSync(file(app), JSON.stringify(kept));
    assert.deepEqual(lockOf(await start(again(app))), { kind: 'password', password: undefined });
  });
});

describe('links', () => {
  it('are created for a note, copied, listed and revoked', async () => {
    const app = await locked({ kind: 'links' });
    const { key } = app;
    const made = await app.call('link:create', { key, note: 'review', ttl: '1h', once: true });
    const { url, ...listed } = made;
    assert.deepEqual([app.seen.copied, url], [[url], app.api.linkUrl(made.id)]);
    assert.deepEqual(listed, {
      id: made.id,
      note: 'review',
      expiresAt: Date.parse('2026-07-10T13:00:00.000Z'),
      once: { usedAt: undefined },
    });
    assert.deepEqual(await app.call('link:list', { key }), [listed]);
    await app.call('link:revoke', { key, id: made.id });
    assert.deepEqual(await app.call('link:list', { key }), []);
  });

  it('are revoked if they no longer exist, whichever client revoked them', async () => {
    const app = await locked({ kind: 'links' });
    app.api.failure = new RelayRefusal(404, 'link not found', { code: 'link-not-found' });
    await app.call('link:revoke', { key: app.key, id: 'gone' });
    app.api.failure = new RelayUnreachable('gone');
    await assert.rejects(app.call('link:revoke', { key: app.key, id: 'gone' }), RelayUnreachable);
  });
});

describe('approval requests', () => {
  const ASKED = 'notice Someone is asking for access to shop';

  it('are shown and announced once until they are answered, and stay if the answer is lost', async () => {
    const app = await checkApp(
      `knock n1: ${ASKED}, shop connecting knock n1; knock n1; knock n2: ${ASKED}, shop connecting knock n1 n2;
       gone; admit n1: fails RelayUnreachable, admit 8h 1 n1; back;
       admit n1: admit 8h 1 n1, shop connecting knock n2; refuse n2: refuse 1 n2, shop connecting knock`,
      locked({ kind: 'knock' }),
    );
    assert.deepEqual(
      app.seen.notices.map(({ text, knock: id }) => [text, id]),
      [
        ['curl from 192.0.2.7.', 'n1'],
        ['curl from 192.0.2.7.', 'n2'],
      ],
    );
  });

  it('are reported as gone when the visitor has left', async () => {
    const app = await checkApp(
      `knock n1: ${ASKED}, shop connecting knock n1; knock n2: ${ASKED}, shop connecting knock n1 n2`,
      locked({ kind: 'knock' }),
    );
    app.api.failure = new RelayRefusal(404, 'knock not found', { code: 'knock-not-found' });
    await checkApp(
      `admit n1: fails visitor-gone, admit 8h 1 n1, shop connecting knock n2;
       refuse n2: refuse 1 n2, shop connecting knock`,
      app,
    );
  });

  it('are listed once approved, and can be revoked', async () => {
    const app = await locked({ kind: 'knock' });
    const { key } = app;
    const entry = {
      address: '192.0.2.7',
      agent: 'curl/8',
      at: '2026-07-10T12:00:00.000Z',
      ends_at: '2026-07-10T13:00:00.000Z',
    };
    app.api.knocks = [
      { ...entry, id: 'n1', status: 'admitted' },
      { ...entry, id: 'n2', status: 'waiting' },
      { ...entry, id: 'n3', status: 'refused' },
      {
        ...entry,
        id: 'n4',
        status: 'admitted',
        client: { name: '', host: 'a.example', returns_to: 'a.example' },
      },
    ];
    const endsAt = Date.parse(entry.ends_at);
    assert.deepEqual(await app.call('knock:admitted', { key }), [
      { id: 'n1', address: '192.0.2.7', agent: 'curl/8', endsAt },
    ]);
    await app.call('knock:refuse', { key, id: 'n1' });
    assert.equal(app.api.calls.at(-1), 'refuse 1 n1');
  });

  it('of an agent name the hosts that the relay has checked', async () => {
    const app = await locked({ kind: 'agents' });
    app.serve.knock('n1', '192.0.2.7', { name: 'Claude', host: 'claude.ai', returns_to: 'evil.example' });
    const text = 'An agent of claude.ai, which returns to evil.example. Asked from 192.0.2.7.';
    assert.deepEqual(
      app.seen.notices.map(({ title, text: said }) => [title, said]),
      [['An agent is asking for access to shop', text]],
    );
    assert.equal(shownIn(app)?.knocks[0]?.client?.host, 'claude.ai');
    const { key } = app;
    const agent = { id: 'a1', name: 'Claude', host: 'claude.ai', user: null };
    const created_at = '2026-07-10T12:00:00.000Z';
    const times = { created_at, first_used_at: null, last_used_at: null };
    app.api.agents = [{ ...agent, returns_to: 'evil.example', ...times }];
    const since = Date.parse(created_at);
    assert.deepEqual(await app.call('agent:list', { key }), [
      { ...agent, returnsTo: 'evil.example', since, usedAt: undefined },
    ]);
    await app.call('agent:revoke', { key, id: 'a1' });
    assert.equal(app.api.calls.at(-1), 'revoke agent 1 a1');
  });

  it('do not flood the system with notifications, and cause none if the user wants none', async () => {
    const app = await locked({ kind: 'knock' });
    const quiet = await locked({ kind: 'knock' });
    await quiet.call('settings:change', { notifies: false });
    for (const { serve } of [app, quiet])
      for (let count = 0; count < 40; count += 1) serve.knock(`n${count}`);
    assert.deepEqual([app.seen.notices.length, waiting(app)?.length], [APPROVAL_NOTICES_MAX, 32]);
    assert.deepEqual([quiet.seen.notices.length, waiting(quiet)?.length], [0, 32]);
  });
});
