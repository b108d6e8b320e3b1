import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { Compression, isCompressionOn, nearnessOf } from './mode.ts';

describe('nearnessOf', () => {
  const hosts: Readonly<Record<string, readonly string[]>> = {
    loopback: ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', 'localhost', 'a.localhost'],
    private: [
      '10.0.0.1',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '169.254.0.1',
      '::ffff:10.0.0.1',
      'fd00::1',
      'fe80::1',
      'fe80::1%eth0',
    ],
    public: [
      '203.0.113.7',
      '172.32.0.1',
      '11.0.0.1',
      '100.64.0.1',
      '2001:db8::1',
      '::ffff:203.0.113.7',
      'relay.example.com',
      '10.example.com',
    ],
  };
  for (const [nearness, list] of Object.entries(hosts)) {
    for (const host of list) it(`is ${nearness} for ${host}`, () => assert.equal(nearnessOf(host), nearness));
  }
});

describe('isCompressionOn', () => {
  it('depends on the mode, and with auto on the location of the relay', () => {
    const relays = ['loopback', 'private', 'public'] as const;
    const results = (mode: 'auto' | 'on' | 'off') => relays.map((relay) => isCompressionOn(mode, relay));
    assert.deepEqual(results('auto'), [false, false, true]);
    assert.deepEqual(results('on'), [true, true, true]);
    assert.deepEqual(results('off'), [false, false, false]);
  });
});

describe('Compression', () => {
  it('with auto, depends on the address at which the relay was reached', () => {
    const compression = new Compression('auto', 'relay.example.com', new FakeClock());
    const isOn = (): boolean => compression.around(new FakeStream()) !== undefined;
    const seen = [isOn()];
    for (const address of ['10.0.0.1', '203.0.113.7', '::1']) {
      compression.reached(address);
      seen.push(isOn());
    }
    assert.deepEqual(seen, [true, false, true, false]);
  });
});
