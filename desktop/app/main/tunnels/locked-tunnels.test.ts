/** Access policies of the app's tunnels: from the window to the relay, to the disk, and back. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onPosix } from '../../../../shared/testing/posix.ts';
import { AccessUnsupported, RelayRefusal, RelayUnreachable } from '../../../client/relay/errors.ts';
import { again, type App, failsWith, FORM, SIGN_IN, signedIn, start } from '../../../testing/core-app.ts';
import type { TunnelAccess, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { APPROVAL_NOTICES_MAX } from '../limits.ts';

const PASSWORD = { kind: 'password', password: 'brisk-plum-tide' } as const;
const OPEN = { allow: [], basic: [], password: undefined, links: false, knock: false, tokens: [] };

function lockOf(app: App): TunnelAccessView | undefined {
  return app.core.snapshots.make().tunnels[0]?.lock;
}
async function locked(lock: TunnelAccess, app?: App): Promise<App & { key: string }> {
  const owner = app ?? (await signedIn());
  const { key } = await owner.call('tunnel:create', { ...FORM, name: 'my-app', lock });
  return { ...owner, key };
}
function knock(app: App, id: string): void {
  app.serve.last.onKnock({ id, address: '192.0.2.7', agent: 'curl/8.18.0' });
}
/** the file of the passwords */
const file = (app: App): string => join(app.platform.dataDirectory, 'passwords.json');
const read = (app: App): string => readFileSync(file(app), 'utf8');
const tokens = (app: App) => app.core.snapshots.make().tunnels[0]?.tokens;
const waiting = (app: App) => app.core.snapshots.make().tunnels[0]?.knocks.map(({ id }) => id);

describe('the access policy', () => {
  it('is sent to the relay when the tunnel is created, and shown', async () => {
    const app = await locked({ kind: 'addresses', allow: ['10.0.0.0/8'] });
    assert.deepEqual(app.api.asked, [{ ...OPEN, allow: ['10.0.0.0/8'] }]);
    assert.deepEqual(lockOf(app), { kind: 'addresses', allow: ['10.0.0.0/8'] });
  });

  it('changes immediately, each replacing the previous one', async () => {
    const app = await locked({ kind: 'anyone' });
    for (const lock of [PASSWORD, { kind: 'links' }, { kind: 'knock' }, { kind: 'anyone' }] as const) {
      await app.call('lock:set', { key: app.key, lock });
      assert.deepEqual(lockOf(app), lock);
    }
    assert.deepEqual(app.api.asked.slice(1), [
      { ...OPEN, password: PASSWORD.password },
      { ...OPEN, links: true },
      { ...OPEN, knock: true },
      OPEN,
    ]);
  });

  it('has tokens, each of which can be copied once, and is never stored', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    const { key } = app;
    const ci = { name: 'ci', usedAt: undefined, canCopy: true };
    assert.deepEqual([lockOf(app), tokens(app)], [{ kind: 'tokens' }, [ci]]);
    await app.call('token:create', { key, name: 'agent' });
    assert.deepEqual(app.api.asked.at(-1)?.tokens, [
      { name: 'ci', token: undefined },
      { name: 'agent', token: undefined },
    ]);
    assert.deepEqual(tokens(app), [ci, { ...ci, name: 'agent' }]);
    await app.call('token:copy', { key, name: 'ci' });
    assert.match(app.seen.copied.at(-1) ?? '', /^cvp_ci_\d+$/);
    assert.deepEqual(tokens(app)?.[0], { ...ci, canCopy: false });
    await assert.rejects(app.call('token:copy', { key, name: 'ci' }), failsWith('token-unknown'));
    await app.core.tunnelList.refresh();
    assert.equal(tokens(app)?.[1]?.canCopy, true, 'a list of the relay does not show it');
    const stored = readdirSync(app.platform.dataDirectory).map((name) =>
      readFileSync(join(app.platform.dataDirectory, name), 'utf8'),
    );
    assert.ok(!stored.join('').includes('cvp_'));
  });

  it('keeps tokens of other programs when one is revoked, and never loses the last one', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    const { key } = app;
    const [tunnel] = app.api.tunnels;
    assert.ok(tunnel !== undefined);
    const used = { name: 'agent', last_used_at: '2026-07-10T12:00:00.000Z' };
    app.api.tunnels = [{ ...tunnel, access: { tokens: [{ name: 'ci' }, used] } }];
    await app.call('token:revoke', { key, name: 'ci' });
    assert.deepEqual(app.api.asked.at(-1), { ...OPEN, tokens: [{ name: 'agent', token: undefined }] });
    await assert.rejects(app.call('token:revoke', { key, name: 'agent' }), failsWith('last-token'));
    app.api.tunnels = [{ ...tunnel, access: { links: true, tokens: [used] } }];
    await app.core.tunnelList.refresh();
    assert.equal(tokens(app)?.[0]?.usedAt, Date.parse(used.last_used_at));
    await app.call('token:revoke', { key, name: 'agent' });
    assert.deepEqual(app.api.asked.at(-1), { ...OPEN, links: true });
  });

  it('stays as it is if a token is changed but this app does not know the passwords', async () => {
    const app = await locked({ kind: 'tokens', name: 'ci' });
    const [tunnel] = app.api.tunnels;
    assert.ok(tunnel !== undefined);
    for (const other of [{ password: true }, { basic: ['ann'] }] as const) {
      app.api.tunnels = [{ ...tunnel, access: { ...other, tokens: [{ name: 'ci' }] } }];
      await assert.rejects(app.call('token:revoke', { key: app.key, name: 'ci' }), failsWith('lock-unknown'));
    }
    assert.equal(app.api.asked.length, 1);
  });

  it('stays as it is if the relay does not support it or is unreachable', async () => {
    const app = await locked(PASSWORD);
    for (const failure of [new AccessUnsupported('Nothing has changed'), new RelayUnreachable('gone')]) {
      app.api.failure = failure;
      await assert.rejects(
        app.call('lock:set', { key: app.key, lock: { kind: 'anyone' } }),
        (error) => error === failure,
      );
      assert.deepEqual(lockOf(app), PASSWORD);
    }
  });

  it('prevents sharing at all if the relay does not support it', async () => {
    const app = await signedIn();
    app.api.failure = new AccessUnsupported('The tunnel was closed immediately');
    await assert.rejects(locked(PASSWORD, app), AccessUnsupported);
    assert.deepEqual([app.core.snapshots.make().tunnels, app.serve.all], [[], []]);
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
    const list = app.core.tunnelList.refresh();
    await asked;
    await app.call('lock:set', { key: app.key, lock: PASSWORD });
    relay.emit('answer');
    await list;
    assert.deepEqual(lockOf(app), PASSWORD);
  });

  it('is updated when it was changed elsewhere', async () => {
    const app = await locked({ kind: 'anyone' });
    const [tunnel] = app.api.tunnels;
    assert.ok(tunnel !== undefined);
    app.api.tunnels = [{ ...tunnel, access: { password: true } }];
    await app.core.tunnelList.refresh();
    assert.deepEqual(lockOf(app), { kind: 'password', password: undefined });
    await assert.rejects(app.call('tunnel:copy-share', { key: app.key }), failsWith('password-unknown'));
  });

  it('is the same after the tunnel is restarted', async () => {
    const app = await locked(PASSWORD);
    await app.call('tunnel:stop', { key: app.key });
    await app.core.undos.commitAll();
    await app.call('tunnel:start', { key: app.key });
    assert.deepEqual(lockOf(app), PASSWORD);
    assert.equal(app.api.asked.at(-1)?.password, PASSWORD.password);
  });

  it('is never weaker after a restart: an unknown password is replaced by a new one', async () => {
    const app = await locked({ kind: 'anyone' });
    const [tunnel] = app.api.tunnels;
    assert.ok(tunnel !== undefined);
    app.api.tunnels = [{ ...tunnel, access: { password: true } }];
    await app.core.tunnelList.refresh();
    await app.call('tunnel:stop', { key: app.key });
    await app.core.undos.commitAll();
    await app.call('tunnel:start', { key: app.key });
    assert.deepEqual(lockOf(app), { kind: 'password', password: 'mild-oak-fern' });
  });

  it('generates three words, and copies one sentence to send', async () => {
    const app = await locked(PASSWORD);
    assert.deepEqual(await app.call('lock:invent', undefined), { password: 'mild-oak-fern' });
    await app.call('tunnel:copy-share', { key: app.key });
    assert.deepEqual(app.seen.copied, [
      'Open http://my-app.tunnels.test:8080 and enter the password brisk-plum-tide',
    ]);
  });
});

describe('the passwords of tunnels', () => {
  it('are known after a restart, and never stored in plain text', async () => {
    const app = await locked(PASSWORD);
    const system = again(app);
    const restarted = await start(system);
    assert.deepEqual(lockOf(restarted), PASSWORD);
    for (const name of ['culvert.json', 'passwords.json'])
      assert.ok(!readFileSync(join(app.platform.dataDirectory, name), 'utf8').includes('brisk'), name);
  });

  onPosix('are in a file for its owner only', async () => {
    assert.equal(statSync(file(await locked(PASSWORD))).mode & 0o777, 0o600);
  });

  it('are stored the way the key is: in a plain file, or not at all', async () => {
    const app = await start();
    await app.call('session:sign-in', { ...SIGN_IN, keep: 'file' });
    await locked(PASSWORD, app);
    assert.ok(read(app).includes('brisk-plum-tide'));

    const careful = await start();
    await careful.call('session:sign-in', { ...SIGN_IN, keep: 'session' });
    await locked(PASSWORD, careful);
    assert.equal(existsSync(file(careful)), false);
    assert.deepEqual(lockOf(careful), PASSWORD);
  });

  it('are kept while signed out', async () => {
    const app = await locked(PASSWORD);
    const before = read(app);
    app.serve.last.onState({ name: 'offline', reason: 'key-refused', why: 'The API key was revoked.' });
    await app.call('session:sign-in', SIGN_IN);
    await app.call('tunnel:stop', { key: app.key });
    assert.equal(read(app), before);
  });

  it('are forgotten with the access policy, and at sign-out', async () => {
    const app = await locked(PASSWORD);
    await app.call('lock:set', { key: app.key, lock: { kind: 'links' } });
    assert.equal(existsSync(file(app)), false);
    await app.call('lock:set', { key: app.key, lock: PASSWORD });
    assert.equal(existsSync(file(app)), true);
    await app.call('session:sign-out', undefined);
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
    const made = await app.call('link:create', { key, note: 'review', ttl: '1h' });
    assert.deepEqual(app.seen.copied, [app.api.linkUrl(made.id)]);
    assert.deepEqual(made, {
      id: made.id,
      note: 'review',
      expiresAt: Date.parse('2026-07-10T13:00:00.000Z'),
    });
    assert.deepEqual(await app.call('link:list', { key }), [made]);
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
  it('are shown with the tunnel and announced by a notification until they are answered', async () => {
    const app = await locked({ kind: 'knock' });
    const { key } = app;
    knock(app, 'n1');
    knock(app, 'n2');
    assert.deepEqual(waiting(app), ['n1', 'n2']);
    assert.deepEqual(
      app.seen.notices.map(({ title, text, knock: id }) => [title, text, id]),
      [
        ['Someone is asking for access to my-app', 'curl from 192.0.2.7.', 'n1'],
        ['Someone is asking for access to my-app', 'curl from 192.0.2.7.', 'n2'],
      ],
    );
    await app.call('knock:admit', { key, id: 'n1', ttl: '8h' });
    await app.call('knock:refuse', { key, id: 'n2' });
    assert.deepEqual(app.api.calls.slice(-2), ['admit 8h 1 n1', 'refuse 1 n2']);
    assert.deepEqual(waiting(app), []);
  });

  it('are reported as gone when the visitor has left', async () => {
    const app = await locked({ kind: 'knock' });
    const { key } = app;
    knock(app, 'n1');
    knock(app, 'n2');
    app.api.failure = new RelayRefusal(404, 'knock not found', { code: 'knock-not-found' });
    await assert.rejects(app.call('knock:admit', { key, id: 'n1', ttl: '1h' }), failsWith('visitor-gone'));
    await app.call('knock:refuse', { key, id: 'n2' });
    assert.deepEqual(waiting(app), []);
  });

  it('stay pending if the answer did not reach the relay', async () => {
    const app = await locked({ kind: 'knock' });
    knock(app, 'n1');
    app.api.failure = new RelayUnreachable('gone');
    await assert.rejects(app.call('knock:admit', { key: app.key, id: 'n1', ttl: '1h' }), RelayUnreachable);
    assert.deepEqual(waiting(app), ['n1']);
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
    ];
    const endsAt = Date.parse(entry.ends_at);
    assert.deepEqual(await app.call('knock:admitted', { key }), [
      { id: 'n1', address: '192.0.2.7', agent: 'curl/8', endsAt },
    ]);
    await app.call('knock:refuse', { key, id: 'n1' });
    assert.equal(app.api.calls.at(-1), 'refuse 1 n1');
  });

  it('are reported once, however often the relay reconnects', async () => {
    const app = await locked({ kind: 'knock' });
    knock(app, 'n1');
    knock(app, 'n1');
    assert.deepEqual([waiting(app), app.seen.notices.length], [['n1'], 1]);
  });

  it('are dropped when the access policy changes or the tunnel has ended', async () => {
    const app = await locked({ kind: 'knock' });
    knock(app, 'n1');
    await app.call('lock:set', { key: app.key, lock: PASSWORD });
    assert.deepEqual(waiting(app), []);
    await app.call('lock:set', { key: app.key, lock: { kind: 'knock' } });
    knock(app, 'n2');
    await app.call('tunnel:stop', { key: app.key });
    assert.deepEqual(waiting(app), []);
  });

  it('do not flood the system with notifications', async () => {
    const app = await locked({ kind: 'knock' });
    for (let count = 0; count < 40; count += 1) knock(app, `n${count}`);
    assert.equal(app.seen.notices.length, APPROVAL_NOTICES_MAX);
    assert.equal(waiting(app)?.length, 32);
  });

  it('are shown only in the window if the user wants no notifications', async () => {
    const app = await locked({ kind: 'knock' });
    await app.call('settings:change', { notifies: false });
    knock(app, 'n1');
    assert.deepEqual([app.seen.notices, waiting(app)], [[], ['n1']]);
  });
});
