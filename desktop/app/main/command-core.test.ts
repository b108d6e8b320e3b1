import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { OPEN } from '../../../shared/access.ts';
import { until } from '../../testing/core-app.ts';
import { fakeSystem, TUNNEL } from '../../testing/fake-platform.ts';
import { fakeHost } from '../../testing/served.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { createCore } from './core.ts';

async function ofCommand() {
  const system = fakeSystem();
  const { host, serve, connection, api } = fakeHost();
  const create = (name: string) => host.create({ settings: { ...SPEC, name }, access: OPEN });
  await create('one');
  const platform = { ...system.platform, dataDirectory: undefined };
  const core = await createCore(platform, host);
  await core.start();
  await core.chosen.signIn.enter(connection, await api.getAccount(), 'session');
  return { ...system, core, host, serve, api, create };
}

describe('the core of a command', () => {
  it('shows the tunnels of the command, in their order, and what happens to them', async () => {
    const { core, serve, create, host } = await ofCommand();
    await create('two');
    serve.last.onState({ name: 'online' });
    const shown = (): string[] =>
      core.snapshots.make().tunnels.map(({ slug, status }) => `${slug} ${status.name}`);
    assert.equal(core.snapshots.make().isOfCommand, true);
    assert.deepEqual(shown(), ['one connecting', 'two online']);
    // A service creates tunnels again and again, each with its own log.
    for (const served of host.tunnels.slice(0, 1)) host.forget(served);
    assert.deepEqual(shown(), ['one connecting']);
  });

  it('stores nothing, and shows no other tunnels of the account', async () => {
    const { core, api, platform } = await ofCommand();
    api.tunnels = [...api.tunnels, { ...TUNNEL, id: 't9', slug: 'elsewhere' }];
    core.setVisible(true);
    await core.store.change({ settings: { ...core.store.data.settings, theme: 'dark' } });
    assert.equal(core.store.data.settings.theme, 'dark');
    const before = api.calls.length;
    core.wake();
    await until(() => (api.calls.slice(before).includes('list') ? true : undefined));
    assert.deepEqual(core.snapshots.make().others, []);
    assert.deepEqual(readdirSync(platform.dataDirectory), []);
  });
});
