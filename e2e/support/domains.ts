/** Custom domains of accounts, with their records in the test's DNS server. */
import assert from 'node:assert/strict';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import type { DnsServer } from '../../server/testing/dns-server.ts';
import type { TestAccount } from './accounts.ts';

/** Claims a domain. */
export async function claimDomain({ api }: TestAccount, domain: string): Promise<Domain> {
  const { status, json } = await api.send('POST', '/v1/domains', { json: { domain } });
  assert.equal(status, 201, JSON.stringify(json));
  return json as Domain;
}

/** Asks the relay to verify a domain. */
export async function verifyDomain({ api }: TestAccount, { id }: Domain): Promise<CheckedDomain> {
  const { status, json } = await api.send('POST', `/v1/domains/${id}/verify`);
  assert.equal(status, 200, JSON.stringify(json));
  return json as CheckedDomain;
}

/** Claims a domain, adds its records and verifies it. */
export async function bringDomain(account: TestAccount, dns: DnsServer, domain: string): Promise<Domain> {
  const claim = await claimDomain(account, domain);
  dns.enter(claim.records);
  const checked = await verifyDomain(account, claim);
  assert.equal(checked.status, 'verified', JSON.stringify(checked));
  return checked;
}
