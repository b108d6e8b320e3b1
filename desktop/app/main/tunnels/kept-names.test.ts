import assert from 'node:assert/strict';
import { API_ERRORS } from '../../../../shared/errors.ts';
import type { KeptName } from '../../../../shared/names.ts';
import { RelayRefusal, RelayUnreachable } from '../../../client/relay/errors.ts';
import { again, type App, FORM, signedIn, start, until } from '../../../testing/core-app.ts';
import { poll } from '../../../testing/app-script.ts';
import { fakeSystem, TUNNEL } from '../../../testing/fake-platform.ts';
import { POLL_HIDDEN_MS, POLL_VISIBLE_MS } from '../core.ts';
import { UNDO_MS } from '../undo-list.ts';
import { SET_WITHIN_MS } from './asleep.ts';
import { NAMES_REFRESH_MS } from './kept-names.ts';

const SHOP: KeptName = {
  name: 'shop',
  created_at: TUNNEL.created_at,
  away: null,
  until: null,
  tunnel_id: null,
};

const shown = ({ core }: App) => core.snapshots.make();
const namesOf = (app: App): string[] => shown(app).names.flatMap(({ key, isLive }) => (isLive ? [] : [key]));
const states = (app: App): string[] => shown(app).tunnels.map(({ slug, status }) => `${slug} ${status.name}`);

/** An app with a visible window, whose account keeps these names. */
async function keeping(...names: KeptName[]): Promise<App> {
  const system = fakeSystem();
  system.api.names = names;
  const app = await signedIn(system);
  app.core.setVisible(true);
  await until(() => namesOf(app).length === names.length || undefined);
  await poll(app);
  return app;
}

/** An app with a live tunnel that has a name. */
async function serving(): Promise<App & { readonly key: string }> {
  const app = await keeping();
  const { key } = await app.call('tunnel:create', { ...FORM, name: 'shop' });
  return { ...app, key };
}

/** An app with two live tunnels, of which the account keeps `shop`; its user lets it set "Asleep". */
async function sleepy(saysAsleep: 'ask' | 'yes' | 'no' = 'yes'): Promise<App> {
  const app = await keeping(SHOP);
  await app.call('settings:change', { saysAsleep });
  for (const name of ['shop', 'other']) await app.call('tunnel:create', { ...FORM, name });
  return app;
}

/** Lets promises that wait for nothing outside of this process settle. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What visitors read at the relay. */
const messageOf = ({ api }: App): string | null | undefined => api.names[0]?.away;

async function fallAsleep(app: App): Promise<void> {
  app.core.suspend();
  await until(() => messageOf(app) ?? undefined);
}

describe('kept names in the app', () => {
  it('are paused, which keeps the name before the tunnel ends, and resumed as they were', async () => {
    const app = await serving();
    const { key, api, clock } = app;
    const before = api.calls.length;
    await app.call('tunnel:pause', { key });
    assert.deepEqual([states(app), namesOf(app)], [['shop ended'], ['shop']]);
    assert.equal(shown(app).undos[0]?.text, 'Paused shop. Your account keeps the name.');
    clock.advance(UNDO_MS);
    await poll(app);
    assert.deepEqual(
      api.calls.slice(before).filter((call) => /^(?:keep|close)/.test(call)),
      ['keep shop', 'close 1'],
    );
    await app.call('tunnel:start', { key });
    assert.deepEqual([states(app), namesOf(app)], [['shop connecting'], []]);
    assert.equal(api.tunnels[0]?.name, 'shop');
  });

  it('come back with the tunnel if the pause is undone', async () => {
    const app = await serving();
    await app.call('tunnel:pause', { key: app.key });
    await app.call('undo:take', { id: shown(app).undos[0]?.id ?? '' });
    assert.deepEqual([states(app), namesOf(app)], [['shop connecting'], []]);
    assert.ok(!app.api.calls.some((call) => call.startsWith('close')));
  });

  it('leave the tunnel as it is if the name cannot be kept', async () => {
    const app = await serving();
    const { status, code, text } = API_ERRORS.tooManyNames;
    app.api.failure = new RelayRefusal(status, text, { code });
    await assert.rejects(app.call('tunnel:pause', { key: app.key }), RelayRefusal);
    assert.deepEqual(states(app), ['shop connecting']);
  });

  it('have messages, with the time in the form of the relay', async () => {
    const app = await keeping(SHOP);
    const back = Date.parse('2026-07-10T15:00:00Z');
    await app.call('name:away', { name: 'shop', away: 'Later.', until: back });
    assert.equal(app.api.names[0]?.until, '2026-07-10T15:00:00.000Z');
    assert.deepEqual(shown(app).names, [{ key: 'shop', isLive: false, away: 'Later.', until: back }]);
    await app.call('name:away', { name: 'shop', away: null, until: null });
    assert.deepEqual(shown(app).names, [{ key: 'shop', isLive: false, away: undefined, until: undefined }]);
  });

  it('are let go 8 s later, or not at all', async () => {
    const app = await keeping(SHOP);
    await app.call('name:release', { name: 'shop' });
    assert.deepEqual(namesOf(app), []);
    await app.call('undo:take', { id: shown(app).undos[0]?.id ?? '' });
    assert.deepEqual([namesOf(app), app.api.names], [['shop'], [SHOP]]);
    await app.call('name:release', { name: 'shop' });
    app.clock.advance(UNDO_MS);
    await poll(app);
    assert.deepEqual([namesOf(app), app.api.names], [[], []]);
  });

  it('are not listed while any client serves them', async () => {
    const app = await keeping(SHOP, { ...SHOP, name: 'taken' });
    app.api.tunnels = [{ ...TUNNEL, slug: 'shop', name: 'shop', online: true }];
    const { key } = await app.call('tunnel:create', { ...FORM, name: 'taken' });
    await poll(app);
    assert.deepEqual(namesOf(app), []);
    app.serve.last.onState({ name: 'offline', reason: 'replaced', why: 'Another client serves it.' });
    assert.deepEqual([shown(app).tunnels[0]?.key, namesOf(app)], [key, []]);
  });

  it('are asked for now and then, and a relay that keeps none does not matter', async () => {
    const app = await keeping();
    let asked = 0;
    app.api.listNames = () => {
      asked += 1;
      return Promise.reject(new RelayRefusal(404, API_ERRORS.notFound.text));
    };
    for (let time = 0; time <= NAMES_REFRESH_MS; time += POLL_VISIBLE_MS) await poll(app);
    const { session } = shown(app);
    assert.deepEqual([asked, session.state === 'signed-in' && session.problem], [1, undefined]);
  });
});

describe('the message of a sleep', () => {
  it('is set at names that the account keeps, and taken back when the computer is awake', async () => {
    const app = await sleepy();
    await fallAsleep(app);
    assert.deepEqual([messageOf(app), app.api.calls.at(-1)], ['Asleep', 'change shop']);
    // The network changes on the way into a sleep.
    app.core.wake();
    await poll(app);
    assert.equal(messageOf(app), 'Asleep');
    app.core.resume();
    await until(() => (messageOf(app) === null ? true : undefined));
    assert.equal(shown(app).names[0]?.away, undefined);
  });

  it('is not set before the user has allowed it', async () => {
    for (const saysAsleep of ['ask', 'no'] as const) {
      const app = await sleepy(saysAsleep);
      let asked = 0;
      app.api.listNames = () => Promise.reject(new Error(`asked ${(asked += 1)}`));
      app.core.suspend();
      await settle();
      assert.equal(asked, 0);
    }
  });

  it('replaces no message of the owner, also one that another program has just left', async () => {
    const app = await sleepy();
    app.api.names = [{ ...SHOP, away: 'On holiday.' }];
    app.core.suspend();
    await settle();
    assert.deepEqual(app.core.chosen.saved.data.asleep, []);
    app.core.resume();
    await poll(app);
    assert.equal(messageOf(app), 'On holiday.');
    app.api.names = [SHOP];
    await fallAsleep(app);
    app.api.names = [{ ...SHOP, away: 'Back at nine.' }];
    app.core.resume();
    await poll(app);
    await poll(app);
    assert.deepEqual([messageOf(app), app.core.chosen.saved.data.asleep], ['Back at nine.', []]);
  });

  it('is not set for tunnels that have ended, nor once the computer may be awake again', async () => {
    const ended = await sleepy();
    await ended.call('tunnel:stop', {
      key: shown(ended).tunnels.find(({ name }) => name === 'shop')?.key ?? '',
    });
    ended.core.suspend();
    await settle();
    assert.deepEqual([messageOf(ended), ended.core.chosen.saved.data.asleep], [null, []]);
    const late = await sleepy();
    const answer = Promise.withResolvers<KeptName[]>();
    late.api.listNames = () => answer.promise;
    late.core.suspend();
    late.clock.sleep(SET_WITHIN_MS + 1, false);
    answer.resolve([SHOP]);
    await settle();
    assert.deepEqual([messageOf(late), late.core.chosen.saved.data.asleep], [null, []]);
  });

  it('is taken back by the next start of an app that ended in the meantime', async () => {
    const app = await sleepy();
    await fallAsleep(app);
    const next = await start(again(app));
    await until(() => (messageOf(app) === null ? true : undefined));
    await until(() => (next.clock.waiting.includes(POLL_HIDDEN_MS) ? true : undefined));
    next.core.setVisible(true);
    await poll(next);
    assert.deepEqual(next.core.chosen.saved.data.asleep, []);
  });

  it('is taken back once the relay can be reached again', async () => {
    const app = await sleepy();
    await fallAsleep(app);
    app.api.failure = new RelayUnreachable('no network yet');
    app.core.resume();
    await poll(app);
    assert.equal(messageOf(app), 'Asleep');
    app.api.failure = undefined;
    await poll(app);
    assert.equal(messageOf(app), null);
  });
});
