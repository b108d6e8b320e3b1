import assert from 'node:assert/strict';
import { isPublicAddress } from './public-addresses.ts';

describe('isPublicAddress', () => {
  it('accepts addresses of the internet', () => {
    for (const address of [
      '8.8.8.8',
      '1.1.1.1',
      '172.15.0.1',
      '172.32.0.1',
      '203.0.113.7',
      '2606:4700::1111',
      '2a00::1',
    ])
      assert.ok(isPublicAddress(address), address);
  });

  it('rejects those of this machine and its networks, however they are written', () => {
    for (const address of [
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.254',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
      '192.0.0.8',
      '192.88.99.1',
      '192.168.0.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:8.8.8.8',
      '::127.0.0.1',
      '64:ff9b::a00:1',
      '100::1',
      '2001::1',
      '2002:7f00:1::',
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'fe80::1%eth0',
      'ff02::1',
      'localhost',
      '127.1',
      '',
    ])
      assert.ok(!isPublicAddress(address), address);
  });
});
