import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toMessage } from '../../../client/messages.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import { type App, failsWith, FORM, KEY, SIGN_IN, start, until } from '../../../testing/core-app.ts';
import { ACCOUNT, FakeApi, fakeSystem, type FakeSystem } from '../../../testing/fake-platform.ts';
import { SESSIONS_MAX } from '../settings/app-store.ts';
import { trayFeed } from '../tray.ts';
import { UNDO_MS } from '../undo-list.ts';

/** Several relays, each with an account named after it. */
class Relays {
  readonly #apis = new Map<string, FakeApi>();

  api(name: string): FakeApi {
    const known = this.#apis.get(name);
    if (known !== undefined) return known;
    const api = new FakeApi();
    api.getAccount = () => Promise.resolve({ ...ACCOUNT, client_id: `id of ${name}`, name });
    this.#apis.set(name, api);
    return api;
  }

  /** @param dataDirectory of an app that ran before */
  system(dataDirectory?: string): FakeSystem {
    const system = fakeSystem(dataDirectory);
    return {
      ...system,
      platform: {
        ...system.platform,
        connect: ({ origin }) => this.api(new URL(origin).hostname.split('.')[0] ?? ''),
      },
    };
  }
}

const shown = ({ core }: App) => core.snapshots.make();
const slugs = (app: App): string[] => shown(app).tunnels.map(({ slug }) => slug);
/** Each sign-in in words; the chosen one has a star. */
const signIns = (app: App): string[] =>
  shown(app).signIns.map(
    ({ account, running, isChosen, isSignedIn, isTroubled }) =>
      `${account} ${running}${isSignedIn ? '' : ' out'}${isTroubled ? ' !' : ''}${isChosen ? ' *' : ''}`,
  );
const idOf = (app: App, name: string): string =>
  shown(app).signIns.find(({ account }) => account === name)?.id ?? assert.fail(name);

async function signInTo(app: App, name: string, key: string = KEY): Promise<void> {
  await app.call('session:sign-in', { ...SIGN_IN, relay: `${name}.example.com`, key });
}

/** Signed in to two relays, with a tunnel at each; the second one is shown. */
async function both(relays = new Relays()): Promise<{ app: App; relays: Relays; shop: string }> {
  const app = await start(relays.system());
  await signInTo(app, 'work');
  const { key: shop } = await app.call('tunnel:create', { ...FORM, name: 'shop' });
  await app.call('session:add', undefined);
  await signInTo(app, 'home');
  await app.call('tunnel:create', { ...FORM, name: 'blog' });
  for (const { onState } of app.serve.all) onState({ name: 'online' });
  return { app, relays, shop };
}

describe('several sign-ins', () => {
  it('keep their tunnels running, and the window shows one of them', async () => {
    const { app } = await both();
    assert.deepEqual([signIns(app), slugs(app)], [['work 1', 'home 1 *'], ['blog']]);
    await app.call('session:choose', { id: idOf(app, 'work') });
    assert.deepEqual([signIns(app), slugs(app)], [['work 1 *', 'home 1'], ['shop']]);
    assert.ok(app.serve.all.every(({ isStopped }) => !isStopped));
  });

  it('answer for their own tunnels, whichever is shown', async () => {
    const { app, relays, shop } = await both();
    await app.call('tunnel:copy-url', { key: shop });
    await app.call('tunnel:extend', { key: shop, ttl: '1h' });
    await app.call('tunnel:stop', { key: shop });
    app.clock.advance(UNDO_MS);
    await until(() => relays.api('work').calls.includes('close 1') || undefined);
    assert.deepEqual(app.seen.copied, ['http://shop.tunnels.test:8080']);
    assert.ok(!relays.api('home').calls.some((call) => /^(?:extend|close)/.test(call)));
    assert.deepEqual(signIns(app), ['work 0', 'home 1 *']);
  });

  it('are all there after a restart, each with its key in a file of its own', async () => {
    const { app, relays } = await both();
    await app.call('session:choose', { id: idOf(app, 'work') });
    const { dataDirectory } = app.platform;
    const files = readdirSync(dataDirectory).filter((name) => name.startsWith('key'));
    assert.deepEqual(files.sort(), ['key-1.json', 'key.json']);
    for (const file of readdirSync(dataDirectory))
      assert.ok(!readFileSync(join(dataDirectory, file), 'utf8').includes(KEY), file);
    const next = await start(relays.system(dataDirectory));
    assert.deepEqual(signIns(next), ['work 1 *', 'home 1']);
    assert.deepEqual(next.serve.all.length, 2);
  });

  it('are not doubled: a known account gets the new key', async () => {
    const { app } = await both();
    await app.call('session:add', undefined);
    assert.equal(shown(app).session.state, 'signed-out');
    const key = `cvt_${'n'.repeat(32)}`;
    await signInTo(app, 'work', key);
    assert.deepEqual([signIns(app), slugs(app)], [['work 1 *', 'home 1'], ['shop']]);
    assert.equal(app.core.chosen.signIn.connection?.key, key);
  });

  it('show another one again when the user leaves the form, even while it signs in', async () => {
    const { app, relays } = await both();
    await app.call('session:add', undefined);
    assert.deepEqual(signIns(app), ['work 1', 'home 1', ' 0 out ! *']);
    relays.api('slow').getAccount = () => new Promise(() => {});
    const cancelled = assert.rejects(signInTo(app, 'slow'), failsWith('cancelled'));
    await app.call('session:choose', { id: idOf(app, 'home') });
    await cancelled;
    assert.deepEqual(signIns(app), ['work 1', 'home 1 *']);
    // It is the same form.
    await app.call('session:add', undefined);
    assert.equal(shown(app).signIns.length, 3);
  });

  it('are left one by one, which can be undone, and then leave nothing behind', async () => {
    const { app, relays } = await both();
    await app.call('session:sign-out', {});
    assert.deepEqual([signIns(app), slugs(app)], [['work 1 *', 'home 0 out !'], ['shop']]);
    await app.call('undo:take', { id: shown(app).undos[0]?.id ?? '' });
    assert.deepEqual([signIns(app), slugs(app)], [['work 1', 'home 1 *'], ['blog']]);
    await app.call('session:sign-out', { id: idOf(app, 'work') });
    assert.deepEqual(slugs(app), ['blog']);
    app.clock.advance(UNDO_MS);
    await until(() => shown(app).signIns.length === 1 || undefined);
    assert.ok(relays.api('work').calls.includes('close 1'));
    const files = readdirSync(app.platform.dataDirectory);
    assert.deepEqual(
      files.filter((name) => name.startsWith('key')),
      ['key-1.json'],
    );
    assert.deepEqual(
      app.core.store.data.sessions.map(({ relay }) => relay),
      ['https://home.example.com'],
    );
  });

  it('tell of a refused key outside the window while it shows another account', async () => {
    const { app } = await both();
    app.core.setInFront(true);
    app.serve.all[0]?.onState({ name: 'offline', reason: 'key-refused', why: 'Refused.' });
    await until(() => signIns(app)[0] === 'work 0 out !' || undefined);
    assert.deepEqual([signIns(app)[1], shown(app).session.state], ['home 1 *', 'signed-in']);
    assert.deepEqual(
      app.seen.notices.map(({ text }) => text),
      ['Your tunnels at work.example.com are offline. Sign in with a different key.'],
    );
    await app.call('session:choose', { id: idOf(app, 'work') });
    const { session } = shown(app);
    assert.equal(session.state === 'signed-out' && session.problem?.code, 'key-refused');
    const [work, home] = ['work', 'home'].map((name) => idOf(app, name));
    await app.call('session:choose', { id: home ?? '' });
    await app.call('session:sign-out', { id: work ?? '' });
    assert.deepEqual([signIns(app), shown(app).undos], [['home 1 *'], []]);
  });

  it('are limited in number', async () => {
    const app = await start(new Relays().system());
    for (let count = 0; count < SESSIONS_MAX; count += 1) {
      await app.call('session:add', undefined);
      await signInTo(app, `relay-${count}`);
    }
    await assert.rejects(app.call('session:add', undefined), failsWith('too-many'));
    await assert.rejects(app.call('session:choose', { id: 'unknown' }), failsWith('signed-out'));
  });

  it('do not depend on each other: a relay that refuses everything', async () => {
    const { app, relays } = await both();
    relays.api('work').failure = new RelayRefusal(500, 'broken');
    app.core.wake();
    await until(() => signIns(app)[0] === 'work 1 !' || undefined);
    assert.equal(signIns(app)[1], 'home 1 *');
  });

  it('are in the menu of the tray together, and closed together', async () => {
    const { app, relays } = await both();
    const { entries, tooltip } = trayFeed(app.core).make();
    assert.deepEqual(
      entries.flatMap((entry) => (entry.kind === 'menu' ? [entry.label] : [])),
      ['shop → 3000 (online)', 'blog → 3000 (online)'],
    );
    assert.equal(tooltip, 'Culvert: 2 tunnels online');
    assert.equal(app.core.liveCount, 2);
    await app.core.closeAll(toMessage('ended.quit'));
    for (const name of ['work', 'home']) assert.ok(relays.api(name).calls.includes('close 1'), name);
  });
});
