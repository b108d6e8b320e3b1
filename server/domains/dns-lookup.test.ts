import assert from 'node:assert/strict';
import { DnsServer } from '../testing/dns-server.ts';
import { Dns, type DnsLookup } from './dns-lookup.ts';

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
    assert.deepEqual(await silent, { kind: 'failed', text: 'no DNS server answered in time' });
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
