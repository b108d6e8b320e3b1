/** The tunnels that a database has. */
import { LOAD_BATCH } from '../limits.ts';
import type { OwnedTunnel } from '../store/records.ts';
import type { Store } from '../store/store.ts';

/**
 * Reads all tunnels, oldest first, a few at a time: memory that all of them take at once on the way from the database, neither
 * thread of the relay gives back.
 *
 * @throws StoreError
 */
export async function* storedTunnels(
  store: Pick<Store, 'tunnelIds' | 'findTunnels'>,
): AsyncGenerator<OwnedTunnel, void> {
  const ids = await store.tunnelIds();
  for (let start = 0; start < ids.length; start += LOAD_BATCH) {
    const batch = ids.slice(start, start + LOAD_BATCH);
    const found = new Map((await store.findTunnels(batch)).map((owned) => [owned.tunnel.id, owned]));
    for (const id of batch) {
      const owned = found.get(id);
      if (owned !== undefined) yield owned;
    }
  }
}
