import assert from 'node:assert/strict';
import { describeEndpoint, parsePeers, proxyHeader } from './proxy-header.ts';

const START = '0d0a0d0a000d0a515549540a';

/** What the relay says, and the header after its signature, in hex. */
const HEADERS: readonly (readonly [what: string, peers: string | undefined, header: string])[] = [
  ['IPv4', '203.0.113.7:51234 192.0.2.1:10022', '2111000c cb007107 c0000201 c822 2726'],
  [
    'IPv6',
    '[2001:db8::7]:51234 [::1]:22',
    `21210024 20010db8${'0'.repeat(20)}0007 ${'0'.repeat(30)}01 c822 0016`,
  ],
  [
    'IPv4 beside IPv6, which is mapped',
    '203.0.113.7:51234 [2001:db8::1:2:3]:22',
    `21210024 ${'0'.repeat(20)}ffffcb007107 20010db8${'0'.repeat(12)}000100020003 c822 0016`,
  ],
  [
    'an IPv6 address that ends in zeros',
    '[fe80::]:1 [1:2:3:4:5:6:7:8]:2',
    `21210024 fe80${'0'.repeat(28)} 00010002000300040005000600070008 0001 0002`,
  ],
  ['no addresses', undefined, '20000000'],
];

describe('proxyHeader', () => {
  for (const [what, text, header] of HEADERS)
    it(`writes ${what}`, () =>
      assert.equal(proxyHeader(parsePeers(text)).toString('hex'), START + header.replaceAll(' ', '')));
});

describe('parsePeers', () => {
  it('reads both ends, which are shown as in a URL', () => {
    const { visitor, target } = parsePeers('[::1]:5 192.0.2.1:0') ?? assert.fail();
    assert.deepEqual([visitor, describeEndpoint(visitor)], [{ address: '::1', port: 5 }, '[::1]:5']);
    assert.equal(describeEndpoint(target), '192.0.2.1:0');
  });

  for (const text of [
    '',
    '192.0.2.1:1',
    '192.0.2.1:1 192.0.2.1:2 192.0.2.1:3',
    '192.0.2.1 192.0.2.1:2',
    '192.0.2.300:1 192.0.2.1:2',
    '192.0.2.1:65536 192.0.2.1:2',
    '::1:1 192.0.2.1:2',
    '[::1%eth0]:1 192.0.2.1:2',
    '[192.0.2.1]:1 192.0.2.1:2',
    'example.com:1 192.0.2.1:2',
    '192.0.2.1:1  192.0.2.1:2',
  ])
    it(`rejects "${text}"`, () => assert.equal(parsePeers(text), undefined));
});
