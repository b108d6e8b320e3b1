import assert from 'node:assert/strict';
import { eventually } from './deadline.ts';
import type { Response } from './raw-http.ts';

/**
 * Waits until a relay that was told to stop disconnects its visitors: until it says that it wants no new work in a response
 * that is the last one on its connection, or the listener is closed. On a busy machine that is up to a second after the
 * signal, because connections from before are accepted first.
 *
 * @param ask asks for `/readyz` on a connection of its own
 */
export async function draining(ask: () => Promise<Response>): Promise<void> {
  await eventually(20_000, async () => {
    const seen = await ask().then(
      ({ status, head }) => `${status}, ${head.field('connection')}`,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );
    assert.ok(seen === '503, close' || seen === 'ECONNREFUSED', seen);
  });
}
