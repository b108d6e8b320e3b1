import assert from 'node:assert/strict';
import { allTunnels, anAccount, aStore, aTunnel } from '../testing/fixtures.ts';
import type { Store } from '../store/store.ts';
import { LOAD_BATCH } from './coordination.ts';

describe('storedTunnels', () => {
  it('reads all tunnels, oldest first, in batches, without those that end during the read', async () => {
    const owner = anAccount();
    const { store } = await aStore(owner);
    const tunnels = Array.from({ length: LOAD_BATCH + 2 }, (_, index) =>
      aTunnel(owner.id, { createdAt: 1000 - index }),
    );
    for (const tunnel of tunnels) await store.insertTunnel(tunnel);
    const ids = tunnels.map(({ id }) => id).toReversed();
    const asked: number[] = [];
    const findTunnels: Store['findTunnels'] = (by, batch) => {
      asked.push(batch.length);
      return store.findTunnels(
        by,
        batch.filter((id) => id !== ids[1]),
      );
    };
    const loaded = await allTunnels({ tunnelIds: () => store.tunnelIds(), findTunnels });
    assert.deepEqual(
      loaded.map(({ tunnel }) => tunnel.id),
      ids.filter((id) => id !== ids[1]),
    );
    assert.deepEqual(asked, [LOAD_BATCH, 2]);
    await store.close();
  });
});
