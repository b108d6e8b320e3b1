import assert from 'node:assert/strict';
import { DnsServer } from '../testing/dns-server.ts';
import {
  Dns,
  DNS_SHOWN_LENGTH,
  DNS_SHOWN_MAX,
  type DnsAnswer,
  type DnsLookup,
  lookAt,
  verdictOf,
} from './domain-check.ts';

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

  const partly = [
    'culvert-verify=0123 ',
    ' culvert-verify=0123',
    'culvert-verify=01234',
    'CULVERT-VERIFY=0123',
  ];
  /** Other records, and the host of the relay. */
  for (const [title, succeeds, records, host] of [
    [
      'with addresses of the relay instead of an alias',
      true,
      { 'app.shop.test CNAME': [], 'app.shop.test A': ['192.0.2.2'], 'app.shop.test AAAA': ['2001:db8::1'] },
    ],
    ['with the address of a relay that has no name', true, { 'app.shop.test A': ['192.0.2.7'] }, '192.0.2.7'],
    ['with the address of another one', false, { 'app.shop.test A': ['192.0.2.7'] }, '192.0.2.8'],
    ['with the proof among other texts', true, { [TXT]: ['v=spf1 -all', 'culvert-verify=0123', 'x'] }],
    ['with the proof as part of another text', false, { [TXT]: partly }],
  ] as readonly [string, boolean, Readonly<Record<string, readonly string[]>>, string?][])
    it(`${succeeds ? 'succeeds' : 'fails'} ${title}`, async () => {
      for (const [question, values] of Object.entries(records))
        if (values.length === 0) dns.delete(question);
        else enter(question, ...values);
      assert.equal(verdictOf(await look(host)), succeeds);
    });

  it('reports the missing record', async () => {
    dns.clear();
    const { proof, address } = await look();
    assert.equal(proof.problem, 'There is no TXT record _culvert.app.shop.test.');
    assert.equal(address.problem, 'No record points app.shop.test to this relay.');
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
    assert.match(elsewhere.address.problem, /does not point to this relay/);
    enter('app.shop.test A', '203.0.113.9', '192.0.2.1');
    const both = await look();
    assert.deepEqual(both.address.found, ['203.0.113.9']);
    assert.match(both.address.problem, /also points to other machines/);
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
    assert.match(found.address.problem, /could not be looked up: SERVFAIL/);
    dns.delete(TXT);
    assert.equal(verdictOf(await look()), false);
    dns.set(TXT, { kind: 'failed', text: 'no DNS server responded in time' });
    const silent = await look();
    assert.equal(verdictOf(silent), undefined);
    assert.equal(silent.proofs, undefined);
  });
});

describe('Dns', () => {
  let dns: DnsServer;
  let lookup: DnsLookup;

  before(async () => {
    dns = await DnsServer.start();
    ({ lookup } = new Dns(dns.address));
  });

  after(() => dns.stop());

  it('finds records of each type, through aliases', async () => {
    dns.set('app.shop.test', 'CNAME', 'Relay.Test');
    dns.set('relay.test', 'A', '192.0.2.1', '192.0.2.2');
    dns.set('relay.test', 'AAAA', '2001:db8::1');
    dns.set('alias.shop.test', 'CNAME', 'relay.test');
    assert.deepEqual(await lookup('app.shop.test', 'CNAME'), { kind: 'found', values: ['relay.test'] });
    const addresses = await lookup('alias.shop.test', 'A');
    assert.ok(addresses.kind === 'found');
    assert.deepEqual(addresses.values.toSorted(), ['192.0.2.1', '192.0.2.2']);
    assert.deepEqual(await lookup('alias.shop.test', 'AAAA'), { kind: 'found', values: ['2001:db8::1'] });
  });

  it('joins the pieces of a long text, and supports answers that are too large for UDP', async () => {
    const values = Array.from({ length: 40 }, (_, index) => `${index} `.padEnd(300, 'x'));
    dns.set('_culvert.long.test', 'TXT', ...values);
    const answer = await lookup('_culvert.long.test', 'TXT');
    assert.ok(answer.kind === 'found');
    assert.deepEqual(new Set(answer.values), new Set(values));
  });

  it('distinguishes a missing name from one without such a record', async () => {
    dns.set('other.test', 'A', '192.0.2.1');
    assert.deepEqual(await lookup('none.test', 'TXT'), { kind: 'none', exists: false });
    assert.deepEqual(await lookup('other.test', 'TXT'), { kind: 'none', exists: true });
  });

  it('reports how a server failed', async () => {
    dns.fail('broken.test', 'SERVFAIL');
    dns.fail('private.test', 'REFUSED');
    dns.set('a.circle.test', 'CNAME', 'b.circle.test');
    dns.set('b.circle.test', 'CNAME', 'a.circle.test');
    for (const [name, text] of [
      ['broken.test', /SERVFAIL/],
      ['private.test', /REFUSED/],
      ['a.circle.test', /SERVFAIL/],
    ] as const) {
      const answer = await lookup(name, 'A');
      assert.ok(answer.kind === 'failed');
      assert.match(answer.text, text);
    }
  });

  it('gives up on an unresponsive server, while others are answered', async () => {
    dns.fail('silent.test', 'silent');
    dns.set('quick.test', 'A', '192.0.2.9');
    const silent = new Dns(dns.address, { tryMs: 5000, answerMs: 100 }).lookup('silent.test', 'A');
    assert.equal((await lookup('quick.test', 'A')).kind, 'found');
    assert.deepEqual(await silent, { kind: 'failed', text: 'no DNS server responded in time' });
  });

  it('aborts all lookups while it is paused, and works again afterwards', async () => {
    dns.fail('silent.test', 'silent');
    dns.set('quick.test', 'A', '192.0.2.9');
    const paused = new Dns(dns.address, { tryMs: 600_000, answerMs: 600_000 });
    const given = { kind: 'failed', text: 'this relay is being replaced; try again' };
    const silent = paused.lookup('silent.test', 'A');
    paused.pause();
    assert.deepEqual(await silent, given);
    assert.deepEqual(await paused.lookup('quick.test', 'A'), given);
    paused.resume();
    assert.equal((await paused.lookup('quick.test', 'A')).kind, 'found');
  });

  it('reports a missing server', async () => {
    const answer = await new Dns('127.0.0.1:1').lookup('app.test', 'A');
    assert.equal(answer.kind, 'failed');
  });
});
