import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { FORM, KEY, until } from '../../testing/core-app.ts';
import { emptyLog, FakeServe, fakeSystem, TUNNEL } from '../../testing/fake-platform.ts';
import { createCore } from './core.ts';

async function ofCommand() {
  const system = fakeSystem();
  const core = await createCore({ ...system.platform, dataDirectory: undefined });
  await core.start();
  const connection = { relay: parseRelayAddress('https://relay.example.com'), key: KEY, api: system.api };
  await core.signIn.enter(connection, await system.api.getAccount(), 'session');
  return { ...system, core };
}

describe('the core of a command', () => {
  it('shows the tunnels of the command, in their order, and what happens to them', async () => {
    const { core } = await ofCommand();
    const commands = new FakeServe();
    const { lock: _lock, ...form } = FORM;
    for (const slug of ['one', 'two'])
      core.tunnelList.adopt({ form, tunnel: { ...TUNNEL, id: slug, slug } }, undefined, {
        serve: commands.serve,
        log: emptyLog(),
      });
    commands.last.onState({ name: 'online' });
    const { tunnels, isOfCommand } = core.snapshots.make();
    assert.equal(isOfCommand, true);
    assert.deepEqual(
      tunnels.map(({ slug, status }) => `${slug} ${status.name}`),
      ['one connecting', 'two online'],
    );
  });

  it('stores nothing, and shows no other tunnels of the account', async () => {
    const { core, api, platform } = await ofCommand();
    api.tunnels = [{ ...TUNNEL, id: 't9', slug: 'elsewhere' }];
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
