/** A relay with certificates of its own, of which it has as many as it is given. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Authority, CertificateFiles } from '../support/certificates.ts';
import { Relay } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { HANDSHAKE_DOMAIN, hostOf } from './handshakes.ts';

const OWN_HOST = 'relay.test';
const DAY_MS = 24 * 3600 * 1000;

/**
 * Starts a relay that asks no authority for anything, since nothing is missing.
 *
 * @param count how many certificates are stored, one for each host, besides the relay's own
 * @param pair what all of them are
 */
export async function startCertified(
  scope: Scope,
  count: number,
  pair: CertificateFiles,
  authority: Authority,
): Promise<Relay> {
  const relay = await Relay.start(scope, {
    CULVERT_PUBLIC_URL: `https://${OWN_HOST}`,
    CULVERT_TUNNEL_DOMAIN: HANDSHAKE_DOMAIN,
    CULVERT_ACME_EMAIL: `operator@${OWN_HOST}`,
    CULVERT_ACME_DIRECTORY: `https://127.0.0.1:${await closedPort()}/dir`,
    CULVERT_HTTP_PORT: String(await closedPort()),
  });
  await relay.stop();
  const hosts = Array.from({ length: count }, (_, number) => hostOf(number));
  const path = join(relay.dataDirectory, 'culvert.db');
  insertCertificates(path, hosts, pair);
  // Visitors of a host notice if they get this one.
  insertCertificates(path, [OWN_HOST], authority.issue(OWN_HOST));
  await relay.restart();
  return relay;
}

/** Puts certificates into a store that no relay has open. */
function insertCertificates(path: string, names: readonly string[], { cert, key }: CertificateFiles): void {
  const [chain, secret] = [readFileSync(cert, 'utf8'), readFileSync(key, 'utf8')];
  const database = new DatabaseSync(path);
  const insert = database.prepare(
    'INSERT INTO certificates (name, chain, key, renew_at, not_after, stored_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const now = Date.now();
  database.exec('BEGIN');
  for (const name of names) insert.run(name, chain, secret, now + DAY_MS, now + DAY_MS, now);
  database.exec('COMMIT');
  database.close();
}
