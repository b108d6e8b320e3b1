import { randomUUID } from 'node:crypto';
import type { TestAccount } from './accounts.ts';
import { openRelayDatabase } from './database.ts';
import type { Relay } from './programs.ts';
import type { Scope } from './scope.ts';

const HOUR_MS = 3_600_000;

export interface GivenTunnel {
  readonly slug: string;
  readonly localPort: number;
}

/** Inserts tunnels for an account, oldest first, bypassing the rate limit, while no relay has the store open. */
export async function giveTunnels(
  scope: Scope,
  relay: Relay,
  account: TestAccount,
  tunnels: readonly GivenTunnel[],
): Promise<void> {
  await relay.stop();
  const database = await openRelayDatabase(scope, relay);
  const now = Date.now();
  for (const [index, { slug, localPort }] of tunnels.entries()) {
    await database.insert('tunnels', {
      id: randomUUID(),
      account_id: account.id,
      slug,
      name: '',
      local_port: localPort,
      ttl_seconds: 3600,
      idle: 0,
      created_at: now + index,
      expires_at: now + index + HOUR_MS,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
    });
  }
  await relay.restart();
}
