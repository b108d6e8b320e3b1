import assert from 'node:assert/strict';
import { parseRelayAddress } from '../../client/relay/relay-address.ts';
import { failsWith } from '../../testing/core-app.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { DOMAIN, FakeApi } from '../../testing/fake-platform.ts';
import { Domains } from './domains.ts';
import { CallFailure } from './failure.ts';
import { UNDO_MS } from './limits.ts';
import { UndoList } from './undo-list.ts';

describe('Domains', () => {
  const api = new FakeApi();
  const clock = new FakeClock();
  const undos = new UndoList(clock, (error) => assert.fail(String(error)));
  const connection = { relay: parseRelayAddress('https://relay.example'), key: 'cvt_x', api };
  const { id, domain, status, records } = DOMAIN;
  const shown = { id, domain, status, records };

  it('are listed and added at the relay', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    assert.deepEqual(await domains.list(), [shown]);
    assert.deepEqual(await domains.add('b.example.com'), { ...shown, domain: 'b.example.com' });
  });

  it('are checked, and only what is still missing is shown', async () => {
    assert.deepEqual(await new Domains(() => connection, undos).check(id), {
      ...shown,
      problems: [{ text: 'It says something else.', found: ['x'] }],
    });
  });

  it('are removed 8 s later with their tunnels, and can be restored until then', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    await domains.remove(id);
    await domains.remove(id);
    assert.deepEqual([await domains.list(), undos.views.length, api.domains.length], [[], 1, 1]);
    assert.match(
      undos.views[0]?.text ?? '',
      /^app\.example\.com will be removed in 8 s\. Any tunnel that uses it will be closed\.$/,
    );
    await undos.undo(undos.views[0]?.id ?? '');
    assert.deepEqual(await domains.list(), [shown]);
    await domains.remove(id);
    clock.advance(UNDO_MS);
    assert.deepEqual([await domains.list(), api.domains], [[], []]);
    await assert.rejects(domains.remove(id), failsWith('domain-gone'));
  });

  it('that are added again are not removed', async () => {
    api.domains = [DOMAIN];
    const domains = new Domains(() => connection, undos);
    await domains.remove(id);
    await domains.add(domain);
    clock.advance(UNDO_MS);
    assert.deepEqual([await domains.list(), undos.views], [[shown], []]);
  });

  it('are empty while signed out', async () => {
    await assert.rejects(new Domains(() => undefined, undos).list(), CallFailure);
  });
});
