import assert from 'node:assert/strict';
import type { Server, Socket } from 'node:net';
import { assert as holds, nat, property, uint8Array } from 'fast-check';
import { EdgeFixture, TestVisitor, until } from '../testing/edge-fixture.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { Edge } from './edge.ts';
import { bind, boundPort } from './listener.ts';
import {
  crc32c,
  peersIn,
  PROXY_HEADER_MAX_BYTES,
  PROXY_HEADER_TIMEOUT_MS,
  readProxyHeader,
} from './proxy-header.ts';

const SIGNATURE = '0d0a0d0a000d0a515549540a';
/** Source, destination and their ports, in hex. */
const IPV4 = ['c0000207', 'cb007109', '8235', '01bb'].join('');
const IPV6 = ['20010db8000000000000000000000007', '20010db8000000000000000000000009', '8235', '01bb'].join(
  '',
);

/** @param start version and command, family and transport, in hex */
function v2(start: string, addresses: string, extensions = ''): Buffer {
  const rest = Buffer.from(addresses + extensions, 'hex');
  return Buffer.concat([
    Buffer.from(SIGNATURE + start, 'hex'),
    Buffer.from([rest.length >> 8, rest.length & 0xff]),
    rest,
  ]);
}

/** Version 2 with a checksum extension, which is wrong by `error`. */
function withChecksum(error = 0): Buffer {
  const header = v2('2111', IPV4, '0300040000000004000200ff');
  const at = 16 + 12 + 3;
  header.writeUInt32BE((crc32c(header) ^ error) >>> 0, at);
  return header;
}

function source(bytes: Buffer | string): string | undefined {
  const header = readProxyHeader(Buffer.from(bytes as string, 'latin1'));
  return typeof header === 'string' ? header : String(header.source);
}

const VALID: readonly [string, Buffer, string][] = [
  ['IPv4', Buffer.from('PROXY TCP4 192.0.2.7 203.0.113.9 33333 443\r\n'), '192.0.2.7'],
  ['IPv6', Buffer.from('PROXY TCP6 2001:DB8:0::7 2001:db8::9 33333 443\r\n'), '2001:db8::7'],
  ['mapped IPv4', Buffer.from('PROXY TCP6 ::ffff:192.0.2.7 ::1 0 65535\r\n'), '192.0.2.7'],
  ['UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), 'undefined'],
  ['UNKNOWN with addresses', Buffer.from('PROXY UNKNOWN ffff:f 1 2 3\r\n'), 'undefined'],
  ['binary IPv4', v2('2111', IPV4), '192.0.2.7'],
  ['binary IPv6', v2('2121', IPV6), '2001:db8::7'],
  ['binary mapped IPv4', v2('2121', `${'00'.repeat(10)}ffffc0000207${IPV6.slice(32)}`), '192.0.2.7'],
  ['LOCAL', v2('2000', ''), 'undefined'],
  ['LOCAL with anything', v2('20ff', 'ff'.repeat(9)), 'undefined'],
  ['an unspecified family', v2('2100', ''), 'undefined'],
  ['a Unix socket', v2('2131', '00'.repeat(216)), 'undefined'],
  ['extensions', v2('2111', IPV4, '0100026832040003000000e00000'), '192.0.2.7'],
  ['a checksum', withChecksum(), '192.0.2.7'],
  [
    'as many bytes as allowed',
    v2(
      '2111',
      IPV4,
      `04${(PROXY_HEADER_MAX_BYTES - 31).toString(16).padStart(4, '0')}${'00'.repeat(PROXY_HEADER_MAX_BYTES - 31)}`,
    ),
    '192.0.2.7',
  ],
];

const MALFORMED: readonly [string, Buffer | string][] = [
  ['a request', 'GET / HTTP/1.1\r\n\r\n'],
  ['a TLS handshake', '\x16\x03\x01\x02\x00'],
  ['another case', 'proxy TCP4 192.0.2.7 203.0.113.9 1 2\r\n'],
  ['no family', 'PROXY \r\n'],
  ['an unknown family', 'PROXY UDP4 192.0.2.7 203.0.113.9 1 2\r\n'],
  ['two blanks', 'PROXY TCP4  192.0.2.7 203.0.113.9 1 2\r\n'],
  ['no ports', 'PROXY TCP4 192.0.2.7 203.0.113.9\r\n'],
  ['a port too large', 'PROXY TCP4 192.0.2.7 203.0.113.9 1 65536\r\n'],
  ['a leading zero', 'PROXY TCP4 192.0.2.7 203.0.113.9 01 2\r\n'],
  ['an address too large', 'PROXY TCP4 192.0.2.256 203.0.113.9 1 2\r\n'],
  ['IPv6 as IPv4', 'PROXY TCP4 2001:db8::7 203.0.113.9 1 2\r\n'],
  ['IPv4 as IPv6', 'PROXY TCP6 192.0.2.7 ::1 1 2\r\n'],
  ['a zone', 'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n'],
  ['a bare line feed', `PROXY TCP4 192.0.2.7 203.0.113.9 1 2\n${'x'.repeat(80)}`],
  ['a line without end', `PROXY UNKNOWN ${'x'.repeat(93)}`],
  ['a control character', 'PROXY UNKNOWN \0\r\n'],
  ['version 3', v2('3111', IPV4)],
  ['version 1 in binary', v2('1111', IPV4)],
  ['an unknown command', v2('2211', IPV4)],
  ['an unknown binary family', v2('2141', IPV4)],
  ['an unknown transport', v2('2113', IPV4)],
  ['addresses too short', v2('2111', IPV4.slice(2))],
  ['IPv6 addresses too short', v2('2121', IPV4)],
  ['an extension beyond the end', v2('2111', IPV4, '0400ff00')],
  ['half an extension', v2('2111', IPV4, '0400')],
  ['a wrong checksum', withChecksum(1)],
  ['a short checksum', v2('2111', IPV4, '03000200ff')],
  [
    'too many bytes',
    Buffer.from(`${SIGNATURE}2111${(PROXY_HEADER_MAX_BYTES - 15).toString(16).padStart(4, '0')}`, 'hex'),
  ],
  ['a wrong signature', Buffer.from('\r\n\r\n\0\r\nQUIT\r', 'latin1')],
];

describe('peersIn', () => {
  it('reads both ends of the connection that a balancer has accepted', () => {
    for (const [header, expected] of [
      ['PROXY TCP4 192.0.2.7 203.0.113.9 33333 443\r\n', '192.0.2.7:33333 203.0.113.9:443'],
      ['PROXY TCP6 2001:DB8:0::7 2001:db8::9 33333 443\r\n', '[2001:db8::7]:33333 [2001:db8::9]:443'],
      [v2('2111', IPV4), '192.0.2.7:33333 203.0.113.9:443'],
      [v2('2121', IPV6), '[2001:db8::7]:33333 [2001:db8::9]:443'],
      ['PROXY UNKNOWN\r\n', undefined],
      [v2('2011', IPV4), undefined],
      [v2('2100', ''), undefined],
    ] as const)
      assert.equal(peersIn(Buffer.from(header as Buffer)), expected);
  });
});

describe('readProxyHeader', () => {
  for (const [what, bytes, address] of VALID)
    it(`reads ${what}, and needs all of it`, () => {
      const behind = Buffer.from('GET / HTTP/1.1\r\n');
      const header = readProxyHeader(Buffer.concat([bytes, behind]));
      if (typeof header === 'string') assert.fail(header);
      assert.deepEqual([String(header.source), header.length], [address, bytes.length]);
      for (let length = 0; length < bytes.length; length += 1)
        assert.equal(readProxyHeader(bytes.subarray(0, length)), 'incomplete', `${length} bytes`);
    });

  for (const [what, bytes] of MALFORMED)
    it(`rejects ${what}`, () => assert.equal(source(bytes), 'malformed'));

  it('accepts or rejects anything without an exception', () => {
    holds(
      property(uint8Array({ maxLength: 300 }), nat({ max: 2 }), (bytes, start) => {
        const begin = ['', Buffer.from(SIGNATURE, 'hex').toString('latin1'), 'PROXY '][start] ?? '';
        source(begin + Buffer.from(bytes).toString('latin1'));
      }),
    );
  });

  it('computes the checksum of RFC 3720 appendix B.4', () => {
    assert.equal(crc32c(Buffer.alloc(32)), 0x8a_91_36_aa);
  });
});

const REQUEST = 'GET / HTTP/1.1\r\nHost: abc.localhost\r\n\r\n';
const HEADER = 'PROXY TCP4 192.0.2.7 203.0.113.9 33333 80\r\n';

describe('headers of load balancers', () => {
  let fixture: EdgeFixture;
  let clock: FakeClock;
  let server: Server;
  let edge: Edge;
  let sockets: Socket[];
  let isBalancer: boolean;

  beforeEach(async () => {
    fixture = new EdgeFixture();
    clock = new FakeClock();
    isBalancer = true;
    sockets = [];
    server = await bind('127.0.0.1', 0);
    edge = new Edge(server, fixture.upstreams, { visitors: 9, newcomers: 3 }, fixture.addresses, {
      proxies: { isExpected: () => isBalancer, clock },
    });
  });

  afterEach(() => {
    edge.destroy();
    for (const socket of sockets) socket.destroy();
  });

  async function open(): Promise<TestVisitor> {
    const visitor = await TestVisitor.connect(boundPort(server));
    sockets.push(visitor.socket);
    return visitor;
  }

  /** The head that the tunnel's client receives. */
  async function received(): Promise<string> {
    await until(() => fixture.dials.length > 0);
    const stream = fixture.openStream();
    await until(() => stream.received.endsWith('\r\n\r\n'));
    return stream.received;
  }

  it('give requests the address in the header, in one segment and byte by byte', async () => {
    (await open()).socket.write(HEADER + REQUEST);
    assert.match(await received(), /X-Forwarded-For: 192\.0\.2\.7\r\n/);
    const slow = await open();
    for (const byte of HEADER + REQUEST) {
      slow.socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.match(await received(), /X-Forwarded-For: 192\.0\.2\.7\r\n/);
  });

  it('leave connections from other addresses alone, where a header is a malformed request', async () => {
    isBalancer = false;
    (await open()).socket.write(REQUEST);
    assert.match(await received(), /X-Forwarded-For: 127\.0\.0\.1\r\n/);
    const forger = await open();
    forger.socket.write(HEADER + REQUEST);
    await forger.receives('Culvert-Error: bad-request');
    assert.equal(fixture.dials.length, 0);
  });

  it('close a connection with anything else without a response', async () => {
    for (const text of [REQUEST, 'PROXY TCP4 1.2.3.4\r\n', '']) {
      const visitor = await open();
      visitor.socket.end(text);
      await visitor.ended;
      assert.equal(visitor.text, '');
    }
    await until(() => clock.pending === 0);
  });

  it('end a connection whose header is not complete after 5 s', async () => {
    const silent = await open();
    const started = await open();
    started.socket.write(HEADER.slice(0, -1));
    await until(() => clock.pending === 2);
    clock.advance(PROXY_HEADER_TIMEOUT_MS - 1);
    assert.equal(clock.pending, 2);
    clock.advance(1);
    await Promise.all([silent.ended, started.ended]);
    assert.equal(silent.text + started.text, '');
  });

  it('cut the connection that has waited longest when too many wait', async () => {
    const first = await open();
    await until(() => clock.pending === 1);
    const others = [await open(), await open(), await open()];
    await first.ended;
    await until(() => clock.pending === 3);
    others[2]?.socket.write(HEADER + REQUEST);
    assert.match(await received(), /192\.0\.2\.7/);
  });

  it('serve a visitor that half-closes after its request', async () => {
    const visitor = await open();
    visitor.socket.end(HEADER + REQUEST);
    await until(() => fixture.dials.length > 0);
    fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await visitor.receives('ok');
  });

  it('let connections that wait for their header finish a shutdown', async () => {
    const visitor = await open();
    await until(() => clock.pending === 1);
    fixture.step = 0.1;
    await edge.turnAway();
    const settled = edge.settle();
    visitor.socket.write(HEADER + REQUEST);
    await until(() => fixture.dials.length > 0);
    fixture.openStream().answer('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    assert.match(await visitor.receives('ok'), /^HTTP\/1\.1 200 /);
    await settled;
  });
});
