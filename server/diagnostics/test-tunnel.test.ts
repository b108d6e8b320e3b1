import assert from 'node:assert/strict';
import { Administration } from '../administration/administration.ts';
import { anAccount, aStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { DIAGNOSIS_LEFTOVER_MS, TestTunnel } from './test-tunnel.ts';

describe('TestTunnel', () => {
  it('removes leftovers of a run that was killed an hour ago, and its own account if nothing answers', async () => {
    const clock = new FakeClock();
    const now = clock.now();
    const { store } = await aStore(
      anAccount({ name: 'doctor-0123456789ab', createdAt: now - DIAGNOSIS_LEFTOVER_MS - 1 }),
      anAccount({ name: 'doctor-ab0123456789', createdAt: now - DIAGNOSIS_LEFTOVER_MS }),
      anAccount({ name: 'doctor-who', createdAt: 0 }),
    );
    const administration = new Administration({
      store,
      clock,
      nameHold: 0,
      by: { actor: 'shell:ann', accountId: null },
    });
    await assert.rejects(
      TestTunnel.open(new URL('http://127.0.0.1:1'), administration, now),
      /nothing is listening there/,
    );
    const names = (await store.listAccounts()).map(({ name }) => name);
    assert.deepEqual(new Set(names), new Set(['doctor-ab0123456789', 'doctor-who']));
    await store.close();
  });
});
