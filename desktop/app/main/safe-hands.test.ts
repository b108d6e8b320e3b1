/** What a person does by mistake, and takes back. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RelayRefusal } from '../../client/relay/errors.ts';
import { again, type App, failsWith, FORM, KEY, signedIn, start, until } from '../../testing/core-app.ts';
import { UNDO_MS } from './limits.ts';

const NAMED = { ...FORM, name: 'shop' };

function shown(app: App) {
  return app.core.snapshots.make();
}

function states(app: App): string[] {
  return shown(app).tunnels.map(({ slug, status }) => `${slug} ${status.name}`);
}

/** Takes back what was done last. */
async function undo(app: App): Promise<void> {
  const last = shown(app).undos.at(-1);
  assert.ok(last);
  await app.call('undo:take', { id: last.id });
}

describe('undo', () => {
  it('stops a tunnel here immediately, and at the relay 8 s later', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', NAMED);
    await app.call('tunnel:stop', { key });
    assert.deepEqual([states(app), app.serve.last.isStopped], [['shop ended'], true]);
    assert.deepEqual(
      shown(app).undos.map(({ text }) => text),
      ['Stopped shop.'],
    );
    app.clock.advance(UNDO_MS - 1);
    assert.equal(app.api.tunnels.length, 1);
    app.clock.advance(1);
    await until(() => app.api.tunnels.length === 0 || undefined);
    assert.deepEqual(shown(app).undos, []);
  });

  it('serves the same tunnel at the same address after an undone stop', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', FORM);
    const { tunnelId } = app.serve.last;
    await app.call('tunnel:stop', { key });
    await undo(app);
    assert.equal(app.serve.last.tunnelId, tunnelId);
    assert.deepEqual(states(app), ['slug-1 connecting']);
    app.clock.advance(UNDO_MS);
    assert.equal(app.api.tunnels.length, 1);
  });

  it('keeps the address of a tunnel that is restarted within that time', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', FORM);
    await app.call('tunnel:stop', { key });
    await app.call('tunnel:start', { key });
    assert.deepEqual([states(app), shown(app).undos], [['slug-1 connecting'], []]);
    assert.equal(app.api.calls.filter((call) => call.startsWith('create')).length, 1);
  });

  it('reverts a stop and a removal in either order', async () => {
    for (const order of [
      [1, 0],
      [0, 1],
    ]) {
      const app = await signedIn();
      await app.call('tunnel:create', FORM);
      const { key } = await app.call('tunnel:create', NAMED);
      await app.call('tunnel:stop', { key });
      await app.call('tunnel:forget', { key });
      assert.deepEqual(states(app), ['slug-1 connecting']);
      const ids = shown(app).undos.map(({ id }) => id);
      for (const index of order) {
        const id = ids[index] ?? '';
        if (shown(app).undos.some((view) => view.id === id)) await app.call('undo:take', { id });
      }
      assert.deepEqual(states(app), ['shop connecting', 'slug-1 connecting']);
      assert.equal(app.api.tunnels.length, 2);
    }
  });

  it('is impossible once an action is final', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', FORM);
    await app.call('tunnel:stop', { key });
    const [view] = shown(app).undos;
    app.clock.advance(UNDO_MS);
    await assert.rejects(app.call('undo:take', { id: view?.id ?? '' }), failsWith('too-late'));
  });

  it('gives up the name and the plan slot of a stopped tunnel when the next one needs them', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', NAMED);
    await app.call('tunnel:stop', { key });
    const create = app.api.createTunnel.bind(app.api);
    app.api.createTunnel = (request) =>
      app.api.tunnels.length > 0
        ? Promise.reject(new RelayRefusal(409, 'the name is taken'))
        : create(request);
    await app.call('tunnel:create', { ...NAMED, port: 4000 });
    assert.deepEqual(states(app), ['shop connecting', 'shop ended']);
    assert.deepEqual(shown(app).undos, []);
  });

  it('closes nothing for 8 s after a sign-out, and restores key, tunnels and addresses', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', NAMED);
    await app.call('session:sign-out', undefined);
    assert.equal(shown(app).session.state, 'signed-out');
    assert.deepEqual([shown(app).tunnels, app.serve.last.isStopped], [[], true]);
    const keyFile = join(app.platform.dataDirectory, 'key.json');
    assert.equal(existsSync(keyFile), false, 'the key is forgotten at once');
    assert.match(shown(app).undos[0]?.text ?? '', /your tunnel was closed/);
    await undo(app);
    assert.equal(shown(app).session.state, 'signed-in');
    assert.deepEqual(states(app), ['shop connecting']);
    assert.equal(existsSync(keyFile), true);
    app.clock.advance(UNDO_MS);
    assert.equal(app.api.tunnels.length, 1);
  });

  it('is impossible for a sign-out once a user signs in', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', NAMED);
    await app.call('session:sign-out', undefined);
    await app.call('session:sign-in', { relay: 'relay.example.com', key: KEY, keep: 'system' });
    await until(() => app.api.tunnels.length === 0 || undefined);
    assert.deepEqual(shown(app).undos, []);
  });

  it('completes a stop at the next start if the app ended before the relay knew', async () => {
    const app = await signedIn();
    const { key } = await app.call('tunnel:create', NAMED);
    await app.call('tunnel:stop', { key });
    await app.call('tunnel:forget', { key });
    const later = await start(again(app));
    assert.deepEqual(
      later.core.snapshots.make().tunnels.map(({ slug, status }) => `${slug} ${status.name}`),
      ['shop ended'],
      'a removal that was not final is not lost either',
    );
    await until(() => later.api.tunnels.length === 0 || undefined);
  });
});
