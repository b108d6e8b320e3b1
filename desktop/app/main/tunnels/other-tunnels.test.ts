import assert from 'node:assert/strict';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { RelayUnreachable } from '../../../client/relay/errors.ts';
import { type App, failsWith, FORM, SIGN_IN, signedIn, start, until } from '../../../testing/core-app.ts';
import { TUNNEL } from '../../../testing/fake-platform.ts';
import { POLL_VISIBLE_MS, UNDO_MS } from '../limits.ts';

const ID = '7c9e6679-7425-40de-944b-00000000000e';
const ELSEWHERE: Tunnel = {
  ...TUNNEL,
  id: ID,
  slug: 'elsewhere',
  online: true,
  public_url: 'https://elsewhere.tunnels.test',
};

function shown(app: App) {
  return app.core.snapshots.make();
}

function others(app: App): string[] {
  return shown(app).others.map(({ slug, isOnline, isHere, isStopping }) =>
    [
      slug,
      isOnline ? 'online' : 'offline',
      ...(isHere ? ['here'] : []),
      ...(isStopping ? ['stopping'] : []),
    ].join(' '),
  );
}

/** Asks the relay again, and waits until that is done. */
async function poll(app: App): Promise<void> {
  const asked = (): number => app.api.calls.filter((call) => call === 'list').length;
  const before = asked();
  app.clock.advance(POLL_VISIBLE_MS);
  await until(() => asked() > before || undefined);
  await until(() => (app.clock.waiting.includes(POLL_VISIBLE_MS) ? true : undefined));
}

async function visible(...tunnels: Tunnel[]): Promise<App> {
  const app = await signedIn();
  app.core.setVisible(true);
  app.api.tunnels = [...tunnels, ...app.api.tunnels];
  await poll(app);
  return app;
}

describe('tunnels opened by other clients', () => {
  it('are shown beside those of this app, each only once', async () => {
    const app = await visible(ELSEWHERE);
    const { key } = await app.call('tunnel:create', FORM);
    await poll(app);
    assert.deepEqual(
      [shown(app).tunnels.map(({ slug }) => slug), others(app)],
      [['slug-1'], ['elsewhere online']],
    );
    await app.call('tunnel:stop', { key });
    await app.call('tunnel:forget', { key });
    await poll(app);
    assert.deepEqual(
      others(app),
      ['elsewhere online'],
      'what was just stopped and removed here is not one of others',
    );
  });

  it('name the client that serves them, which is queried only when they change', async () => {
    const app = await visible(ELSEWHERE);
    assert.deepEqual(others(app), ['elsewhere online']);
    app.api.servedHere = [ID];
    await poll(app);
    assert.deepEqual(others(app), ['elsewhere online']);
    app.api.tunnels = [{ ...ELSEWHERE, online: false }];
    await poll(app);
    assert.deepEqual(others(app), ['elsewhere offline here']);
    app.api.tunnels = [];
    await poll(app);
    assert.deepEqual(others(app), []);
  });

  it('are copied and extended', async () => {
    const app = await visible(ELSEWHERE);
    await app.call('tunnel:copy-url', { key: ID });
    await app.call('tunnel:open-url', { key: ID });
    assert.deepEqual([app.seen.copied, app.seen.opened], [[ELSEWHERE.public_url], [ELSEWHERE.public_url]]);
    await app.call('tunnel:extend', { key: ID, ttl: '1h' });
    assert.equal(shown(app).others[0]?.expiresAt, Date.UTC(2026, 6, 10, 14));
    await assert.rejects(app.call('tunnel:copy-url', { key: 'nobody' }), failsWith('no-such-tunnel'));
  });

  it('are stopped 8 s later, or not at all', async () => {
    const app = await visible(ELSEWHERE);
    await app.call('tunnel:stop', { key: ID });
    await app.call('tunnel:stop', { key: ID });
    assert.deepEqual([others(app), shown(app).undos.length], [['elsewhere online stopping'], 1]);
    await app.call('undo:take', { id: shown(app).undos[0]?.id ?? '' });
    assert.deepEqual([others(app), app.api.tunnels.length], [['elsewhere online'], 1]);
    await app.call('tunnel:stop', { key: ID });
    app.clock.advance(UNDO_MS);
    await until(() => shown(app).others.length === 0 || undefined);
    assert.deepEqual(app.api.tunnels, []);
  });

  it('are stopped later if the relay is unreachable at that time', async () => {
    const app = await visible(ELSEWHERE);
    await app.call('tunnel:stop', { key: ID });
    app.api.failure = new RelayUnreachable('The relay cannot be reached: nothing listens');
    app.clock.advance(UNDO_MS);
    assert.deepEqual(others(app), ['elsewhere online stopping']);
    app.api.failure = undefined;
    await poll(app);
    assert.deepEqual([app.api.tunnels, others(app)], [[], []]);
  });

  it('are dropped with the account they belong to', async () => {
    const app = await visible(ELSEWHERE);
    await app.call('session:sign-out', undefined);
    assert.deepEqual(others(app), []);
    app.api.tunnels = [];
    await app.call('session:sign-in', SIGN_IN);
    assert.deepEqual(others(app), []);
  });

  it('shows at most 200', async () => {
    const many = Array.from({ length: 201 }, (_, n) => ({ ...ELSEWHERE, id: `${ID}${n}`, slug: `t${n}` }));
    const app = await visible(...many);
    assert.deepEqual([others(app).length, others(app)[0]], [200, 't0 online']);
  });

  it('are empty while signed out', async () => {
    assert.deepEqual(others(await start()), []);
  });
});
