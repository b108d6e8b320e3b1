import assert from 'node:assert/strict';
import { parseNetwork } from './networks.ts';

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
