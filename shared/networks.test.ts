import assert from 'node:assert/strict';
import { isIPv6 as isNodesIPv6 } from 'node:net';
import { array, assert as check, constantFrom, ipV4, ipV6, oneof, property, string } from 'fast-check';
import { isHostName, isIPv6, parseNetwork, uriHost } from './networks.ts';

describe('parseNetwork', () => {
  it('accepts addresses and networks of both families', () => {
    const cases: [string, string, string, number][] = [
      ['192.0.2.7', '192.0.2.7', 'ipv4', 32],
      ['10.0.0.0/8', '10.0.0.0', 'ipv4', 8],
      ['0.0.0.0/0', '0.0.0.0', 'ipv4', 0],
      ['::1', '::1', 'ipv6', 128],
      ['2001:db8::/32', '2001:db8::', 'ipv6', 32],
    ];
    for (const [text, address, family, bits] of cases)
      assert.deepEqual(parseNetwork(text), { address, family, bits }, text);
  });

  it('rejects everything else', () => {
    for (const text of [
      '',
      'localhost',
      '10.0.0',
      '10.0.0.0/33',
      '::/129',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '10.0.0.0/-1',
      'fe80::1%eth0',
      ' ::1',
      '010.0.0.1',
    ])
      assert.equal(parseNetwork(text), undefined, text);
  });
});

describe('hosts', () => {
  it('have names of at most 253 characters', () => {
    assert.equal(isHostName('a'.repeat(253)), true);
    assert.equal(isHostName('a'.repeat(254)), false);
  });

  it('include IPv6 addresses that Node accepts, except zones', () => {
    const piece = constantFrom('0', '1', 'ffff', '10000', '', 'g', '1.2.3.4', '1.2.3.256');
    const near = array(piece, { maxLength: 10 }).map((pieces) => pieces.join(':'));
    const text = oneof(ipV6(), ipV4(), near, string());
    check(property(text, (address) => isIPv6(address) === (isNodesIPv6(address) && !address.includes('%'))));
  });

  it('are written in brackets in a URL if they contain colons', () => {
    assert.equal(uriHost('::1'), '[::1]');
    assert.equal(uriHost('a.test'), 'a.test');
  });
});
