import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toMessage } from '../../../client/messages.ts';
import { RelayRefusal } from '../../../client/relay/errors.ts';
import { type App, failsWith, FORM, KEY, SIGN_IN, start, until } from '../../../testing/core-app.ts';
import {
  ACCOUNT,
  FakeApi,
  fakeEncryption,
  fakeSystem,
  type FakeSystem,
  TUNNEL,
} from '../../../testing/fake-platform.ts';
import { POLL_HIDDEN_MS, POLL_VISIBLE_MS } from '../core.ts';
import type { Platform } from '../platform.ts';
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
  system(dataDirectory?: string, changes: Partial<FakeSystem['platform']> = {}): FakeSystem {
    const system = fakeSystem(dataDirectory);
    return {
      ...system,
      platform: {
        ...system.platform,
        ...changes,
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
async function both(
  relays = new Relays(),
  system = relays.system(),
): Promise<{ app: App; relays: Relays; shop: string }> {
  const app = await start(system);
  await signInTo(app, 'work');
  const { key: shop } = await app.call('tunnel:create', { ...FORM, name: 'shop' });
  await app.call('session:add', undefined);
  await signInTo(app, 'home');
  await app.call('tunnel:create', { ...FORM, name: 'blog' });
  for (const { onState } of app.serve.all) onState({ name: 'online' });
  return { app, relays, shop };
}

/** @returns the id of an invitation to a relay, which the user can accept */
async function invited(app: App, name: string): Promise<string> {
  await app.call('invitation:open', { address: `https://${name}.example.com/invite/${'t'.repeat(32)}` });
  return shown(app).invitation?.id ?? assert.fail();
}

/** Stores keys once `release` is called. */
function slowKeyStore() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const encryption = fakeEncryption(true);
  const seal = { isOn: false };
  const slow: Platform['encryption'] = {
    ...encryption,
    async encrypt(text) {
      if (seal.isOn) await promise;
      return encryption.encrypt(text);
    },
  };
  return { encryption: slow, hold: () => (seal.isOn = true), release };
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

  it('open a project of their relay, whichever account the window shows', async () => {
    const { app } = await both();
    const folder = join(app.platform.dataDirectory, 'web');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'culvert.yml'),
      'relay: https://work.example.com\ntunnels: {web: {port: 3000}}\n',
    );
    app.answers.folder = folder;
    await app.call('project:choose', undefined);
    const refused = shown(app).project;
    assert.equal(refused?.state === 'refused' && refused.relay, 'https://work.example.com');
    const signIn = idOf(app, 'work');
    await assert.rejects(app.call('project:move', { id: 'unknown', signIn }), failsWith('no-project'));
    await app.call('session:choose', { id: idOf(app, 'home') });
    await app.call('project:move', { id: refused?.id ?? '', signIn });
    assert.deepEqual([signIns(app), shown(app).project?.state], [['work 1 *', 'home 1'], 'open']);
    await app.call('session:choose', { id: idOf(app, 'home') });
    assert.equal(shown(app).project, undefined);
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

  it('do not use up an invitation when there is no room for its account', async () => {
    const relays = new Relays();
    const app = await start(relays.system());
    for (let count = 0; count < SESSIONS_MAX; count += 1) {
      await app.call('session:add', undefined);
      await signInTo(app, `relay-${count}`);
    }
    const id = await invited(app, 'club');
    await assert.rejects(app.call('invitation:accept', { id, keep: 'system' }), failsWith('too-many'));
    assert.ok(!app.api.calls.includes('take t'));
    await app.call('session:sign-out', { id: idOf(app, 'relay-3') });
    app.clock.advance(UNDO_MS);
    await until(() => shown(app).signIns.length < SESSIONS_MAX || undefined);
    await app.call('invitation:accept', { id, keep: 'system' });
    assert.equal(signIns(app).at(-1), 'club 0 *');
  });

  it('need a place only once it can be used', async () => {
    const app = await start(new Relays().system());
    await signInTo(app, 'work');
    const inTheWay = join(app.platform.dataDirectory, 'passwords-1.json');
    mkdirSync(inTheWay);
    await assert.rejects(app.call('session:add', undefined));
    rmdirSync(inTheWay);
    await app.call('session:add', undefined);
    assert.equal(app.core.chosen.saved.slot, 1);
  });

  it('keep what an account has whose key was refused when another one signs in', async () => {
    const relays = new Relays();
    const app = await start(relays.system());
    await signInTo(app, 'work');
    await app.call('tunnel:create', { ...FORM, name: 'shop' });
    await app.core.chosen.signIn.keyRefused();
    await signInTo(app, 'home');
    assert.deepEqual([signIns(app), slugs(app)], [['work 1 out !', 'home 0 *'], []]);
    const next = await start(relays.system(app.platform.dataDirectory));
    assert.deepEqual(signIns(next), ['work 1', 'home 0 *']);
  });

  it('take the place of an account that the user has left, also after a restart', async () => {
    const relays = new Relays();
    const app = await start(relays.system());
    await signInTo(app, 'work');
    await app.call('session:sign-out', {});
    const next = await start(relays.system(app.platform.dataDirectory));
    await signInTo(next, 'home');
    assert.deepEqual(signIns(next), ['home 0 *']);
    await next.call('session:sign-out', {});
    await signInTo(next, 'club');
    assert.deepEqual(signIns(next), ['club 0 *']);
  });

  it('have places of their own, even if two begin at the same time', async () => {
    const keyStore = slowKeyStore();
    const app = await start(new Relays().system(undefined, { encryption: keyStore.encryption }));
    const id = await invited(app, 'club');
    keyStore.hold();
    const entered = Promise.all([
      app.call('invitation:accept', { id, keep: 'system' }),
      signInTo(app, 'work'),
    ]);
    keyStore.release();
    await entered;
    assert.deepEqual(signIns(app).toSorted(), ['club 0', 'work 0 *']);
  });

  it('stay when a form fails that was sent before', async () => {
    const relays = new Relays();
    const taken = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<never>();
    const system = relays.system();
    const app = await start({
      ...system,
      platform: {
        ...system.platform,
        takeInvitation: async (invitation) => {
          await taken.promise;
          return system.api.takeInvitation(invitation);
        },
      },
    });
    relays.api('slow').getAccount = () => refused.promise;
    const id = await invited(app, 'club');
    const accepted = app.call('invitation:accept', { id, keep: 'system' });
    const failed = assert.rejects(signInTo(app, 'slow'), RelayRefusal);
    taken.resolve();
    await accepted;
    refused.reject(new RelayRefusal(401, 'no such key'));
    await failed;
    assert.deepEqual(signIns(app), ['club 0 *']);
  });

  it('are entered again while their sign-out becomes final', async () => {
    const relays = new Relays();
    const keyStore = slowKeyStore();
    const { app } = await both(relays, relays.system(undefined, { encryption: keyStore.encryption }));
    await app.call('session:sign-out', {});
    const closed = Promise.withResolvers<void>();
    const home = relays.api('home');
    home.closeTunnel = () => closed.promise;
    await app.call('session:add', undefined);
    keyStore.hold();
    const entered = signInTo(app, 'home');
    await until(() => app.core.undos.isEmpty || undefined);
    closed.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20));
    keyStore.release();
    await entered;
    assert.deepEqual(signIns(app), ['work 1', 'home 0 *']);
    assert.ok(app.core.sessions.includes(app.core.chosen));
  });

  it('are gone immediately when the user leaves one whose key was refused', async () => {
    const { app } = await both();
    await app.core.chosen.signIn.keyRefused();
    await app.call('session:sign-out', {});
    assert.deepEqual([signIns(app), shown(app).undos], [['work 1 *'], []]);
  });

  it('are not stored again by what a sign-in still does that is gone', async () => {
    const { app } = await both();
    const { saved } = app.core.chosen;
    await app.core.chosen.signIn.keyRefused();
    await app.call('session:sign-out', {});
    await saved.change({ asleep: [{ name: 'shop', text: 'Asleep.' }] });
    assert.deepEqual(
      app.core.store.data.sessions.map(({ slot }) => slot),
      [0],
    );
  });

  it('are asked often only while they are shown', async () => {
    const { app } = await both();
    app.core.setVisible(true);
    const polls = () => app.clock.waiting.filter((ms) => ms === POLL_VISIBLE_MS || ms === POLL_HIDDEN_MS);
    await until(() => polls().join() === [POLL_VISIBLE_MS, POLL_HIDDEN_MS].join() || undefined);
    await app.call('session:choose', { id: idOf(app, 'work') });
    await until(() => polls().join() === [POLL_VISIBLE_MS, POLL_VISIBLE_MS].join() || undefined);
  });

  it('keep apart tunnels of other programs that have the same id at two relays', async () => {
    const { app, relays } = await both();
    const key = '0b2f4f0e-6a6e-4d53-9d0c-00000000ffff';
    for (const name of ['work', 'home'])
      relays.api(name).tunnels.push({ ...TUNNEL, id: key, public_url: `http://${name}.test` });
    app.core.wake();
    await until(() => app.core.sessions.every(({ others }) => others.find(key)) || undefined);
    await app.call('tunnel:copy-url', { key });
    assert.deepEqual(app.seen.copied, ['http://home.test']);
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
