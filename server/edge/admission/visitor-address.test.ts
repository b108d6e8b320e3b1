import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import { visitorAddress } from './visitor-address.ts';

const proxies = new BlockList();
proxies.addSubnet('10.0.0.0', 8, 'ipv4');

function from(peer: string, ...lists: string[]): string {
  const lines = lists.map((list) => `X-Forwarded-For: ${list}\r\n`).join('');
  const head = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\n${lines}\r\n`), { target: 9, fields: 9 });
  assert.ok(typeof head === 'object');
  const trusted = proxies.check(peer, 'ipv4');
  return visitorAddress(head.fields, { address: peer, proto: 'http', trusted }, proxies);
}

describe('visitorAddress', () => {
  it('is the peer, unless that is a trusted proxy', () => {
    assert.equal(from('192.0.2.1', '198.51.100.9'), '192.0.2.1');
    assert.equal(from('10.0.0.1'), '10.0.0.1');
  });

  it('is the last one that is not a trusted proxy: the visitor may have made up those before it', () => {
    assert.equal(from('10.0.0.1', '1.1.1.1, 198.51.100.9'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '1.1.1.1', '198.51.100.9,10.0.0.2'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '::ffff:198.51.100.9'), '198.51.100.9');
    assert.equal(from('10.0.0.1', '2001:db8::1, 10.0.0.2'), '2001:db8::1');
  });

  it('is that of a proxy whose list goes on with something else', () => {
    assert.equal(from('10.0.0.1', '198.51.100.9, evil, 10.0.0.2'), '10.0.0.2');
    assert.equal(from('10.0.0.1', ''), '10.0.0.1');
  });
});
