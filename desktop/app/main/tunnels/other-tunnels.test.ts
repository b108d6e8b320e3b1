import assert from 'node:assert/strict';
import type { Tunnel } from '../../../../shared/tunnel.ts';
import { RelayUnreachable } from '../../../client/relay/errors.ts';
import { checkApp, poll } from '../../../testing/app-script.ts';
import { type App, failsWith, signedIn, start } from '../../../testing/core-app.ts';
import { TUNNEL } from '../../../testing/fake-platform.ts';
import { UNDO_MS } from '../undo-list.ts';

const ID = '7c9e6679-7425-40de-944b-00000000000e';
const ELSEWHERE: Tunnel = {
  ...TUNNEL,
  id: ID,
  slug: 'elsewhere',
  online: true,
  public_url: 'https://elsewhere.tunnels.test',
};

const othersOf = ({ core }: App) => core.snapshots.make().others;

/** An app with a visible window, which shows these tunnels of other clients. */
async function visible(...tunnels: Tunnel[]): Promise<App> {
  const app = await signedIn();
  app.core.setVisible(true);
  app.api.tunnels = tunnels;
  return tunnels.length === 1 ? await checkApp('poll: other elsewhere online', app) : app;
}

describe('tunnels opened by other clients', () => {
  const STOPPED = 'stop elsewhere: other elsewhere online stopping, undo elsewhere stops in 8 s.';
  const scripts: Readonly<Record<string, string>> = {
    'are shown beside those of this app, each only once, even when it was just stopped and removed here': `
      create: create 3000, serve 1, slug-1 connecting; poll;
      stop slug-1: stop, slug-1 ended, undo Stopped slug-1.; forget slug-1: no slug-1 ended, undo Removed slug-1.;
      poll`,
    'are copied and opened': `copy elsewhere: copied https://elsewhere.tunnels.test;
      open elsewhere: opened https://elsewhere.tunnels.test`,
    'are stopped 8 s later, or not at all': `
      ${STOPPED}; stop elsewhere; undo: no undo, other elsewhere online;
      ${STOPPED}; +7999; +1: close e, no other elsewhere online stopping, no undo`,
    'are dropped with the account they belong to': `
      sign-out: no other elsewhere online, signed-out, undo You signed out.`,
  };
  for (const [title, script] of Object.entries(scripts))
    it(title, async () => void (await checkApp(script, visible(ELSEWHERE))));

  it('name the client that serves them, which is queried only when they change', async () => {
    const app = await visible(ELSEWHERE);
    app.api.servedHere = [ID];
    await checkApp('poll', app);
    app.api.tunnels = [{ ...ELSEWHERE, online: false }];
    await checkApp('poll: other elsewhere offline here', app);
    app.api.tunnels = [];
    await checkApp('poll: no other elsewhere offline here', app);
  });

  it('are not those that this app has got back since the relay was asked', async () => {
    const app = await visible();
    await checkApp('create 3000: create 3000, serve 1, 3000 connecting', app);
    await app.core.chosen.others.show(app.api.tunnels, new Set());
    assert.deepEqual(othersOf(app), []);
  });

  it('are stopped later if the relay is unreachable at that time', async () => {
    const app = await checkApp(STOPPED, visible(ELSEWHERE));
    app.api.failure = new RelayUnreachable('The relay cannot be reached: nothing listens');
    app.clock.advance(UNDO_MS);
    assert.equal(othersOf(app)[0]?.isStopping, true);
    app.api.failure = undefined;
    await poll(app);
    assert.deepEqual([app.api.tunnels, othersOf(app)], [[], []]);
  });

  it('are extended', async () => {
    const app = await visible(ELSEWHERE);
    await app.call('tunnel:extend', { key: ID, ttl: '1h' });
    assert.equal(othersOf(app)[0]?.expiresAt, Date.UTC(2026, 6, 10, 14));
    await assert.rejects(app.call('tunnel:copy-url', { key: 'nobody' }), failsWith('no-such-tunnel'));
  });

  it('are at most 200, and none while signed out', async () => {
    const app = await visible(
      ...Array.from({ length: 201 }, (_, n) => ({ ...ELSEWHERE, id: `${ID}${n}`, slug: `t${n}` })),
    );
    await poll(app);
    assert.deepEqual([othersOf(app).length, othersOf(app)[0]?.slug], [200, 't0']);
    assert.deepEqual(othersOf(await start()), []);
  });
});
