/** Accounts with tunnels, put into a database without the API and its rate limit. */
import { randomUUID } from 'node:crypto';
import { hashKey, hintOf } from '../../../server/accounts/api-key.ts';
import { newApiKey } from '../../support/programs.ts';
import { query } from '../../support/postgres.ts';

const DAY_MS = 24 * 3600 * 1000;
/** The tunnels of one account; a relay reads all of them when it meets the first. */
const TUNNELS_AN_ACCOUNT = 20;

export interface StoredTunnel {
  readonly id: string;
  readonly slug: string;
  /** of its account */
  readonly key: string;
}

/** @param database whose tables a relay has made */
export async function storeTunnels(database: string, count: number): Promise<StoredTunnel[]> {
  const now = Date.now();
  const accounts = Array.from({ length: Math.ceil(count / TUNNELS_AN_ACCOUNT) }, () => ({
    id: randomUUID(),
    key: newApiKey(),
  }));
  const tunnels = Array.from({ length: count }, (_, index) => {
    const account = accounts[Math.floor(index / TUNNELS_AN_ACCOUNT)];
    if (account === undefined) throw new RangeError(`no account for tunnel ${index}`);
    return { id: randomUUID(), slug: `stored-${index}`, account };
  });
  await insert(
    database,
    'accounts',
    accounts.map(({ id }) => ({ id, name: id, plan: 'team', subdomain: null, created_at: now })),
  );
  await insert(
    database,
    'api_keys',
    accounts.map(({ id, key }) => ({
      id: randomUUID(),
      account_id: id,
      hash: hashKey(key),
      hint: hintOf(key),
      created_at: now,
      revoked_at: null,
    })),
  );
  await insert(
    database,
    'tunnels',
    tunnels.map(({ id, slug, account }) => ({
      id,
      account_id: account.id,
      slug,
      name: '',
      local_port: 9,
      ttl_seconds: 86_400,
      idle: 0,
      created_at: now,
      expires_at: now + DAY_MS,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
    })),
  );
  return tunnels.map(({ id, slug, account }) => ({ id, slug, key: account.key }));
}

async function insert(database: string, table: string, rows: readonly object[]): Promise<void> {
  await query(database, `insert into ${table} select * from json_populate_recordset(null::${table}, $1)`, [
    JSON.stringify(rows),
  ]);
}
