import assert from 'node:assert/strict';
import { DNS_SHOWN_LENGTH, DNS_SHOWN_MAX } from '../limits.ts';
import type { DnsAnswer, DnsLookup } from './dns-lookup.ts';
import { lookAt, verdictOf } from './domain-check.ts';

const claim = { domain: 'app.shop.test', proof: '0123' };
const TXT = '_culvert.app.shop.test TXT';

describe('the check of a domain', () => {
  let dns: Map<string, DnsAnswer>;
  const lookup: DnsLookup = (name, type) =>
    Promise.resolve(dns.get(`${name} ${type}`) ?? { kind: 'none', exists: false });

  function enter(question: string, ...values: readonly string[]): void {
    dns.set(question, { kind: 'found', values });
  }

  beforeEach(() => {
    dns = new Map();
    enter(TXT, 'culvert-verify=0123');
    enter('app.shop.test CNAME', 'relay.test');
    enter('relay.test A', '192.0.2.1', '192.0.2.2');
    enter('relay.test AAAA', '2001:db8::1');
  });

  const look = (host = 'relay.test') => lookAt(claim, host, lookup);

  it('succeeds with both records', async () => {
    const found = await look();
    assert.equal(verdictOf(found), true);
    assert.deepEqual([found.proof.problem, found.address.problem], ['', '']);
  });

  it('succeeds with addresses of the relay instead of an alias', async () => {
    dns.delete('app.shop.test CNAME');
    enter('app.shop.test A', '192.0.2.2');
    enter('app.shop.test AAAA', '2001:db8::1');
    assert.equal(verdictOf(await look()), true);
  });

  it('succeeds with the address of a relay that has no name', async () => {
    enter('app.shop.test A', '192.0.2.7');
    assert.equal(verdictOf(await look('192.0.2.7')), true);
    assert.equal(verdictOf(await look('192.0.2.8')), false);
  });

  it('finds the proof among other texts, but not as part of another text', async () => {
    enter(TXT, 'v=spf1 -all', 'culvert-verify=0123', 'x');
    assert.equal(verdictOf(await look()), true);
    enter(TXT, 'culvert-verify=0123 ', ' culvert-verify=0123', 'culvert-verify=01234', 'CULVERT-VERIFY=0123');
    assert.equal(verdictOf(await look()), false);
  });

  it('reports the missing record', async () => {
    dns.clear();
    const { proof, address } = await look();
    assert.equal(proof.problem, 'There is no TXT record _culvert.app.shop.test.');
    assert.equal(address.problem, 'There is no record that leads app.shop.test to this relay.');
    assert.deepEqual([proof.certain, address.certain], [true, true]);
  });

  it('reports a few of the values found, shortened and without characters that terminals obey', async () => {
    enter(TXT, ...Array.from({ length: 10 }, (_, index) => `${index}\u001b[2J${'x'.repeat(70_000)}`));
    const { proof } = await look();
    assert.equal(proof.found.length, DNS_SHOWN_MAX);
    for (const value of proof.found) assert.equal(value.length, DNS_SHOWN_LENGTH + 1);
    assert.ok(!proof.found.join('').includes('\u001b'));
  });

  it("reports addresses that are not the relay's, also among others that are", async () => {
    dns.delete('app.shop.test CNAME');
    enter('app.shop.test A', '203.0.113.9');
    const elsewhere = await look();
    assert.deepEqual(elsewhere.address.found, ['203.0.113.9']);
    assert.match(elsewhere.address.problem, /leads somewhere else/);
    enter('app.shop.test A', '203.0.113.9', '192.0.2.1');
    const both = await look();
    assert.deepEqual(both.address.found, ['203.0.113.9']);
    assert.match(both.address.problem, /to other addresses, too/);
  });

  it('reports an alias without an address', async () => {
    enter('app.shop.test CNAME', 'gone.test');
    const { address } = await look();
    assert.deepEqual([address.ok, address.found], [false, ['gone.test']]);
  });

  it('is inconclusive if the DNS fails, unless something is certainly wrong', async () => {
    dns.set('app.shop.test CNAME', { kind: 'failed', text: 'SERVFAIL' });
    const found = await look();
    assert.equal(verdictOf(found), undefined);
    assert.match(found.address.problem, /could not be found out: SERVFAIL/);
    dns.delete(TXT);
    assert.equal(verdictOf(await look()), false);
    dns.set(TXT, { kind: 'failed', text: 'no DNS server answered in time' });
    const silent = await look();
    assert.equal(verdictOf(silent), undefined);
    assert.equal(silent.proofs, undefined);
  });
});
