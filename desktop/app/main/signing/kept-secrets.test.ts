/** Secrets of webhooks: from the window to the disk and back, and nowhere else. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import {
  again,
  type App,
  failsWith,
  FORM,
  SIGN_IN,
  signedIn,
  start,
  until,
} from '../../../testing/core-app.ts';
import { emptyLog, fakeEncryption, fakeSystem, type FakeSystem } from '../../../testing/fake-platform.ts';
import { LOG_START } from '../../ipc/request-views.ts';

const SECRET = 'a secret that GitHub was given';
const WEBHOOK = Buffer.from('POST / HTTP/1.1\r\nX-GitHub-Event: ping\r\nContent-Length: 0\r\n\r\n');

/** Each tunnel has had a webhook of GitHub without a signature. */
function withWebhook(system: FakeSystem): FakeSystem {
  const createLog = () => {
    const log = new RequestLog(system.clock);
    log.open().toLocal(WEBHOOK);
    return { ...emptyLog(), detail: (id: number, reveal: boolean) => log.detail(id, { reveal }) };
  };
  return { ...system, platform: { ...system.platform, createLog } };
}

async function withSecret(app: App, name = ''): Promise<string> {
  const { key } = await app.call('tunnel:create', { ...FORM, name });
  await app.call('signature:add-secret', { key, provider: 'github', secret: SECRET });
  return key;
}
const look = (app: App, key: string) => app.call('signature:look', { key, id: 1 });
const file = (app: App): string => join(app.platform.dataDirectory, 'signing-secrets.json');

describe('secrets of webhooks', () => {
  it('are encrypted on the disk, and not shown again', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    const key = await withSecret(app);
    const check = await look(app, key);
    assert.deepEqual(check?.signature, { provider: 'github', verdict: 'unsigned' });
    assert.deepEqual([check.secrets.length, check.isKept], [1, true]);
    const told = JSON.stringify([
      check,
      app.core.snapshots.make(),
      await app.call('log:changes', { key, since: LOG_START }),
    ]);
    assert.ok(!told.includes(SECRET));
    const files = readdirSync(app.platform.dataDirectory).map((name) =>
      readFileSync(join(app.platform.dataDirectory, name), 'utf8'),
    );
    assert.ok(files.every((text) => !text.includes(SECRET)));
  });

  it('are there after a restart, until they are removed', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    const key = await withSecret(app);
    const restarted = await start(withWebhook(again(app)));
    const check = await look(restarted, key);
    assert.equal(check?.secrets.length, 1);
    await restarted.call('signature:remove-secret', { key, id: check.secrets[0]?.id ?? '' });
    assert.equal((await look(restarted, key))?.signature.verdict, 'no-secret');
    assert.equal(existsSync(file(app)), false);
  });

  it('of a tunnel without a name are forgotten at the next start after it was removed, those of a name are not', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    for (const name of ['', 'shop']) {
      const key = await withSecret(app, name);
      await app.call('tunnel:stop', { key });
      await app.call('tunnel:forget', { key });
    }
    await app.core.undos.commitAll();
    const restarted = await start(withWebhook(again(app)));
    const { key } = await restarted.call('tunnel:create', { ...FORM, name: 'shop' });
    assert.equal((await look(restarted, key))?.secrets.length, 1);
    await restarted.call('signature:remove-secret', {
      key,
      id: (await look(restarted, key))?.secrets[0]?.id ?? '',
    });
    assert.equal(existsSync(file(app)), false);
  });

  it('stay in memory where the system has no key store, and where nothing is to be stored', async () => {
    const system = withWebhook(fakeSystem());
    const refused = { ...system, platform: { ...system.platform, encryption: fakeEncryption(false) } };
    const kept: boolean[] = [];
    for (const app of [await start(refused), await start(withWebhook(fakeSystem()))]) {
      await app.call('session:sign-in', { ...SIGN_IN, keep: 'session' });
      const key = await withSecret(app);
      kept.push((await look(app, key))?.isKept ?? true, existsSync(file(app)));
    }
    const plain = await start(refused);
    await plain.call('session:sign-in', { ...SIGN_IN, keep: 'file' });
    kept.push((await look(plain, await withSecret(plain)))?.isKept ?? true, existsSync(file(plain)));
    assert.deepEqual(new Set(kept), new Set([false]));
  });

  it('are forgotten with the sign-out, and back when that is undone', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    const key = await withSecret(app, 'shop');
    await app.call('session:sign-out', undefined);
    assert.equal(existsSync(file(app)), false);
    await app.call('undo:take', { id: app.core.undos.views[0]?.id ?? '' });
    assert.equal((await look(app, key))?.secrets.length, 1);
    assert.equal(existsSync(file(app)), true);
  });

  it('are forgotten when another account signs in after the key was refused', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    await withSecret(app, 'shop');
    await app.core.store.change({ account: undefined });
    await app.call('session:sign-in', SIGN_IN);
    await until(() => (existsSync(file(app)) ? undefined : true));
  });

  it('that cannot be any are refused with the reason', async () => {
    const app = await signedIn(withWebhook(fakeSystem()));
    const key = await withSecret(app);
    await assert.rejects(
      app.call('signature:add-secret', { key, provider: 'standard', secret: 'no base64' }),
      failsWith('bad-secret'),
    );
  });
});
