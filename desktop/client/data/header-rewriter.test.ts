import assert from 'node:assert/strict';
import { array, assert as check, integer, property } from 'fast-check';
import { type HeaderChanges, NO_HEADER_CHANGES } from '../../../shared/header-changes.ts';
import { parseRequestHead } from '../../../shared/http1/head.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { replacementHost, replacementOrigin } from '../local/local-error.ts';
import { localPort } from '../local/local-service.ts';
import {
  HeadChanges,
  HeaderRewriter,
  localAddresses,
  UNANSWERED_REQUESTS_MAX,
  UPGRADE_EARLY_MAX_BYTES,
} from './header-rewriter.ts';

const LOCAL_HOST = 'localhost:3000';
const LOCAL = 'http://localhost:3000';
/** What {@link HeaderRewriter} adds to requests in most tests. */
const ADDED = 'X-Env: dev\r\nX-Env: two\r\nX-First: \r\n';

function setUp(
  changes: Partial<HeaderChanges> = {},
  host: string | null = 'localhost:3000',
  origin?: string,
) {
  const inner = new FakeStream();
  const stream = new HeaderRewriter(
    inner,
    new HeadChanges(host ?? undefined, { ...NO_HEADER_CHANGES, ...changes }, origin),
  );
  const got = { text: '', closed: undefined as number | undefined };
  stream.attach({
    onStreamData: (piece) => void (got.text += piece.toString('latin1')),
    onStreamDrain() {},
    onStreamClose: (code) => void (got.closed = code),
  });
  return { inner, stream, got };
}

/** A piece from the visitor (`>`) or from the service (`<`), what the other side gets, and what the sender gets. */
type Step = readonly [from: '>' | '<', piece: string, passed?: string | undefined, back?: string];

/** Passes pieces through a rewriter. @returns how the connection to the relay ended */
function pass({ inner, stream, got }: ReturnType<typeof setUp>, ...steps: readonly Step[]) {
  for (const [from, piece, passed = piece, back = ''] of steps) {
    got.text = '';
    inner.sent = '';
    if (from === '>') inner.receive(piece);
    else stream.write(Buffer.from(piece));
    assert.deepEqual(from === '>' ? [got.text, inner.sent] : [inner.sent, got.text], [passed, back]);
  }
  return inner.ended;
}

const request = (host: string): string =>
  `GET /a?b HTTP/1.1\r\nX-First:  odd \r\nhoSt: ${host}\r\nAccept: */*\r\nX-Forwarded-Host: my.app\r\n\r\n`;
const post = (host: string): string =>
  `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 28\r\n\r\nGET / HTTP/1.1\r\nHost: no\r\n\r\n`;
const chunked = (host: string): string =>
  `PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: ${host}\r\n\r\n1c\r\nGET / HTTP/1.1\r\nHost: no\r\n\r\n\r\n0\r\n\r\n`;
const upgrade = (host: string): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
const offer = (host: string): string => post(host).replace('Content', 'Upgrade: websocket\r\nContent');
const all = (host: string): string => request(host) + post(host) + chunked(host) + request(host);

const changedRequest = (rest: string): string =>
  `GET /a?b HTTP/1.1\r\nhoSt: localhost:3000\r\nX-Forwarded-Host: my.app\r\n${ADDED}\r\n${rest}`;
const response = (status: string, fields: string, body = ''): string =>
  `HTTP/1.1 ${status}\r\n${fields}\r\n${body}`;

const fromPage = (host: string, origin: string, more = ''): string =>
  `GET /ws HTTP/1.1\r\nHost: ${host}\r\n${more}oRigin: ${origin}\r\nX-Forwarded-Host: my.app\r\n` +
  `X-Forwarded-Proto: https\r\nReferer: ${origin}/a\r\n\r\n`;

describe('HeaderRewriter', () => {
  it('changes the Host of every request, and nothing else', () => {
    pass(
      setUp(),
      ...[request, post, chunked, request].map((one): Step => ['>', one('my.app'), one(LOCAL_HOST)]),
    );
  });

  it('finds the requests no matter how they are split', () => {
    check(
      property(array(integer({ min: 1, max: 200 }), { minLength: 1 }), (sizes) => {
        const { inner, got } = setUp();
        const bytes = all('my.app');
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          inner.receive(bytes.slice(at, at + size));
          at += size;
        }
        assert.equal(got.text, all('localhost:3000'));
      }),
    );
  });

  it('leaves the bytes after an upgrade alone', () => {
    const early = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    pass(
      setUp(),
      ['>', upgrade('my.app'), upgrade(LOCAL_HOST)],
      ['<', `${early}HTTP/1.1 101 Swit`, early],
      [
        '<',
        'ching Protocols\r\nUpgrade: x\r\n\r\n',
        'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
      ],
      ['>', request('frame')],
    );
  });

  it('continues after an upgrade that was not accepted', () => {
    const refused = response('426 Upgrade Required', 'Content-Length: 3\r\n', 'no!');
    pass(
      setUp(),
      ['>', upgrade('my.app') + request('my.app') + upgrade('my.app'), upgrade(LOCAL_HOST)],
      ['<', refused.slice(0, -1), refused.slice(0, -1), request(LOCAL_HOST) + upgrade(LOCAL_HOST)],
      ['<', '!'],
      ['<', response('200 OK', 'Content-Length: 2\r\n', 'ok')],
    );
  });

  it('stops reading 64 KiB after an unanswered upgrade, and passes all of it on later', () => {
    const { inner, stream, got } = setUp();
    inner.receive(upgrade('my.app'));
    const piece = 'x'.repeat(16 * 1024);
    let sent = 0;
    while (!inner.paused) {
      inner.receive(piece);
      sent += piece.length;
    }
    assert.equal(sent, UPGRADE_EARLY_MAX_BYTES + piece.length);
    // Its handler may resume reading, which changes nothing.
    stream.pause();
    stream.resume();
    assert.ok(inner.paused);
    stream.write(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    assert.equal(got.text.length, upgrade('localhost:3000').length + sent);
    assert.ok(!inner.paused);
  });

  it('stays paused after an upgrade if its handler is paused', () => {
    const { inner, stream } = setUp();
    inner.receive(upgrade('my.app') + 'x'.repeat(UPGRADE_EARLY_MAX_BYTES + 1));
    stream.pause();
    stream.write(Buffer.from('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
    assert.ok(inner.paused);
    stream.resume();
    assert.ok(!inner.paused);
  });

  it('passes on the body of a request that offers an upgrade before the response', () => {
    pass(
      setUp(),
      ['>', offer('my.app') + request('my.app'), offer(LOCAL_HOST)],
      ['<', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', undefined, request(LOCAL_HOST)],
    );
  });

  for (const [name, bytes] of Object.entries({
    'has more than one Host': 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n',
    'is no HTTP': 'hello\r\n\r\n',
    'has an endless head': `GET / HTTP/1.1\r\nX: ${'x'.repeat(70_000)}`,
    'has an ambiguous body': 'POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    'has a broken body': 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n',
  })) {
    it(`breaks the connection when a request ${name}`, () => {
      const { inner, got } = setUp();
      inner.receive(bytes);
      assert.deepEqual([inner.ended, got.closed], ['cut', 1006]);
    });
  }

  it('leaves it to the relay to refuse a malformed response to an upgrade', () => {
    const ended = pass(setUp(), ['>', upgrade('my.app'), upgrade(LOCAL_HOST)], ['<', 'hello\r\n\r\n']);
    assert.equal(ended, undefined);
  });

  const changes: HeaderChanges = {
    requestHeader: ['X-Env: dev', 'X-Env: two', 'X-First: '],
    removeRequestHeader: ['accept', 'Missing'],
    responseHeader: ['Cache-Control: no-store'],
    removeResponseHeader: ['Server', 'set-cookie'],
  };
  const was = 'server: x\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\ncache-control: public\r\n';
  const is = 'Cache-Control: no-store\r\n';

  it('sets and removes headers of requests', () => {
    pass(setUp(changes), ['>', request('my.app'), changedRequest('')]);
  });

  it('leaves the Host alone unless it is replaced', () => {
    const [before, after] = ['GET / HTTP/1.1\r\nHost: my.app\r\n', 'A: b\r\n\r\n'];
    pass(setUp({ requestHeader: ['A: b'] }, null), ['>', `${before}\r\n`, before + after]);
  });

  it("replaces the tunnel's own Origin and Referer, also of an upgrade, and keeps those of other sites", () => {
    const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
    const [own, other] = ['https://my.app', 'https://my.app.evil.test'];
    pass(
      setUp({}, LOCAL_HOST, LOCAL),
      ['>', fromPage('my.app', own), fromPage(LOCAL_HOST, LOCAL)],
      ['>', fromPage('my.app', other), fromPage(LOCAL_HOST, other)],
      ['>', fromPage('my.app', own, websocket), fromPage(LOCAL_HOST, LOCAL, websocket)],
      ['<', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
      // What follows the upgrade stays as it is.
      ['>', fromPage('my.app', own)],
    );
  });

  it('removes or sets an Origin that would be replaced', () => {
    const { inner, got } = setUp(
      { requestHeader: ['Origin: https://set.test'], removeRequestHeader: ['Referer'] },
      'localhost:3000',
      'http://localhost:3000',
    );
    inner.receive(fromPage('my.app', 'https://my.app'));
    assert.doesNotMatch(got.text, /my\.app\/|Referer|Origin: http:/);
    assert.match(got.text, /\r\nOrigin: https:\/\/set\.test\r\n\r\n$/);
  });

  const bodies: readonly [name: string, was: string, is: string][] = [
    [
      'with a length',
      response('200 OK', `${was}Content-Length: 5\r\n`, 'HTTP/'),
      response('200 OK', `Content-Length: 5\r\n${is}`, 'HTTP/'),
    ],
    [
      'in chunks',
      response(
        '404 Not Found',
        `Transfer-Encoding: chunked\r\n${was}`,
        '5\r\nHTTP/\r\n0\r\nServer: t\r\n\r\n',
      ),
      response(
        '404 Not Found',
        `Transfer-Encoding: chunked\r\n${is}`,
        '5\r\nHTTP/\r\n0\r\nServer: t\r\n\r\n',
      ),
    ],
    ['without a body', response('204 No Content', was), response('204 No Content', is)],
    [
      'after informational ones',
      response('103 Early Hints', 'Server: x\r\n') + response('304 Not Modified', was),
      response('103 Early Hints', 'Server: x\r\n') + response('304 Not Modified', is),
    ],
  ];
  it('sets and removes headers of responses, no matter how they are split', () => {
    check(
      property(array(integer({ min: 1, max: 90 }), { minLength: 1 }), (sizes) => {
        const { inner, stream } = setUp(changes);
        for (const [, before] of bodies) {
          inner.receive(request('my.app'));
          for (let at = 0, turn = 0; at < before.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            stream.write(Buffer.from(before.slice(at, at + size)));
            at += size;
          }
        }
        assert.equal(inner.sent, bodies.map(([, , after]) => after).join(''));
      }),
    );
  });

  const asked: Step = ['>', request('my.app'), changedRequest('')];
  const HEAD = 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n';
  const CHANGED_HEAD = `HEAD / HTTP/1.1\r\nHost: ${LOCAL_HOST}\r\n${ADDED}\r\n`;
  const large = `X: ${'x'.repeat(65_000)}\r\n`;
  const refused = (fields: string): string =>
    response('502 Bad Gateway', `Content-Length: 2\r\n${fields}`, 'no');
  const switched = (fields: string): string =>
    response('101 Switching Protocols', `Upgrade: websocket\r\n${fields}`, response('200 OK', was));
  const chunks = '2 \nok\n0\n\n';
  const inChunks = (fields: string): string => response('200 OK', `Transfer-Encoding: chunked\r\n${fields}`);
  const withLf: Step = ['<', inChunks(was).replaceAll('\r\n', '\n') + chunks, inChunks(is) + chunks];
  const exchanges: Record<string, readonly Step[]> = {
    'the largest head that the relay accepts': [
      asked,
      ['<', response('204 No Content', `${large}${was}`), response('204 No Content', `${large}${is}`)],
    ],
    'a response to HEAD, although its length announces a body': [
      ['>', HEAD, CHANGED_HEAD],
      [
        '<',
        response('200 OK', `${was}Content-Length: 5\r\n`),
        response('200 OK', `Content-Length: 5\r\n${is}`),
      ],
      asked,
      ['<', response('204 No Content', was), response('204 No Content', is)],
    ],
    'one that lasts until the connection closes': [
      asked,
      [
        '<',
        response('200 OK', was, response('200 OK', was)),
        response('200 OK', is, response('200 OK', was)),
      ],
    ],
    'an upgrade in both directions, and nothing that follows': [
      ['>', upgrade('my.app'), upgrade(LOCAL_HOST).replace(/\r\n$/, `${ADDED}\r\n`)],
      ['<', switched(was), switched(is)],
      ['>', request('frame')],
    ],
    'a response that precedes its request': [
      ['<', refused(was), refused(is)],
      ['>', HEAD, CHANGED_HEAD],
      asked,
      ['<', refused(was), refused(is)],
    ],
    'a response whose lines end in LF alone, with the end of such chunks': [asked, withLf, asked, withLf],
  };
  for (const [what, steps] of Object.entries(exchanges))
    it(`changes ${what}`, () => {
      const world = setUp(changes);
      assert.equal(pass(world, ...steps), undefined);
      const { length } = world.inner.sent;
      world.stream.close(1000);
      assert.deepEqual([world.inner.ended, world.inner.sent.length], [1000, length]);
    });

  for (const malformed of [
    'hello\r\n\r\n',
    response('200 OK', 'Server : x\r\nContent-Length: 0\r\n'),
    response('200 OK', 'Transfer-Encoding: gzip, chunked\r\nContent-Length: 1\r\nServer: x\r\n'),
  ])
    it(`leaves it to the relay to refuse ${JSON.stringify(malformed)}`, () => {
      assert.equal(pass(setUp(changes), asked, ['<', malformed]), undefined);
    });

  it('breaks the connection when the head of a response is too large, without passing on any of it', () => {
    const { inner, stream, got } = setUp(changes);
    inner.receive(request('my.app'));
    stream.write(Buffer.from(`HTTP/1.1 200 OK\r\nServer: ${'x'.repeat(70_000)}`));
    assert.deepEqual([inner.sent, inner.ended, got.closed], ['', 'cut', 1006]);
  });

  it('breaks the connection of a relay that does not wait for responses', () => {
    const { inner } = setUp(changes);
    for (let count = 0; count < UNANSWERED_REQUESTS_MAX; count += 1) inner.receive(request('a'));
    assert.equal(inner.ended, undefined);
    inner.receive(request('a'));
    assert.equal(inner.ended, 'cut');
  });
});

describe('replacementHost', () => {
  it('follows the mode', () => {
    assert.equal(replacementHost({ ...localPort(3000), hostHeader: 'keep' }), undefined);
    assert.equal(replacementHost({ ...localPort(3000), hostHeader: 'local' }), 'localhost:3000');
    assert.equal(replacementHost({ ...localPort(3000), host: '::1', hostHeader: 'local' }), '[::1]:3000');
    assert.equal(replacementHost({ ...localPort(3000), hostHeader: 'my.test' }), 'my.test');
    assert.equal(replacementHost({ ...localPort(80), hostHeader: 'local' }), 'localhost');
    assert.equal(replacementHost({ ...localPort(443), https: true, hostHeader: 'local' }), 'localhost');
  });
});

describe('replacementOrigin', () => {
  it("is the local service's, without a default port, only if the Host is local as well", () => {
    const local = { ...localPort(3000), host: '::1' };
    assert.equal(replacementOrigin({ ...local, hostHeader: 'keep' }), undefined);
    assert.equal(replacementOrigin({ ...local, hostHeader: 'my.test' }), undefined);
    assert.equal(replacementOrigin({ ...local, hostHeader: 'local' }), 'http://[::1]:3000');
    assert.equal(
      replacementOrigin({ ...local, host: 'NAS', https: true, hostHeader: 'local' }),
      'https://nas:3000',
    );
    assert.equal(replacementOrigin({ ...local, upstream: 'h2', hostHeader: 'local' }), 'https://[::1]:3000');
    assert.equal(replacementOrigin({ ...localPort(80), hostHeader: 'local' }), 'http://localhost');
    assert.equal(
      replacementOrigin({ ...localPort(443), https: true, hostHeader: 'local' }),
      'https://localhost',
    );
    assert.equal(replacementOrigin({ ...localPort(443), hostHeader: 'local' }), 'http://localhost:443');
  });
});

const FORWARDED = ['X-Forwarded-Host: shop.tunnels.test', 'X-Forwarded-Proto: https'];

/** The new values, by the fields in lower case. */
function replaced(lines: readonly string[], forwarded: readonly string[] = FORWARDED) {
  const text = ['GET / HTTP/1.1', ...lines, ...forwarded, '', ''].join('\r\n');
  const head = parseRequestHead(Buffer.from(text, 'latin1'), { target: Infinity, fields: Infinity });
  assert.ok(typeof head === 'object');
  const found = localAddresses(head.fields, LOCAL);
  return found && Object.fromEntries([...found].map(([field, value]) => [field.lower, value]));
}

describe('localAddresses', () => {
  it('replaces the origin of the tunnel in Origin and Referer', () => {
    assert.deepEqual(
      replaced(['Origin: https://shop.tunnels.test', 'Referer: https://shop.tunnels.test/cart?x=https://a']),
      { origin: LOCAL, referer: `${LOCAL}/cart?x=https://a` },
    );
    assert.deepEqual(replaced(['REFERER:https://shop.tunnels.test ']), { referer: LOCAL });
  });

  it('replaces it where WebDAV names resources, also in the path form', () => {
    const fields = [
      'Destination: https://shop.tunnels.test/b',
      'If: <https://shop.tunnels.test/a> (<urn:x> ["(<https://shop.tunnels.test/>"]) </b> (<https://shop.tunnels.test/>)',
    ];
    const moved = {
      destination: `${LOCAL}/b`,
      if: `<${LOCAL}/a> (<urn:x> ["(<https://shop.tunnels.test/>"]) </b> (<https://shop.tunnels.test/>)`,
    };
    assert.deepEqual(replaced(fields), moved);
    const shared = [...FORWARDED, 'X-Forwarded-Prefix: /t/shop'];
    assert.deepEqual(replaced([...fields, 'Origin: https://shop.tunnels.test'], shared), moved);
    for (const other of ['/b', 'https://evil.test/b', 'https://shop.tunnels.test.evil.test/b'])
      assert.equal(replaced([`Destination: ${other}`, `If: <${other}> (<urn:x>)`]), undefined, other);
    assert.equal(replaced(['Destination: https://shop.tunnels.test/b', 'destination: /c']), undefined);
  });

  it('decides about each of them alone', () => {
    const lines = ['Origin: https://evil.test', 'Referer: https://shop.tunnels.test/'];
    assert.deepEqual(replaced(lines), { referer: `${LOCAL}/` });
  });

  it('compares with the host and the scheme that the visitor used', () => {
    for (const [host, scheme, value] of [
      ['a--shop.tunnels.test', 'https', 'https://a--shop.tunnels.test'],
      ['shop.tunnels.test:8443', 'https', 'https://shop.tunnels.test:8443'],
      ['shop.localhost:8080', 'http', 'http://shop.localhost:8080'],
      ['SHOP.tunnels.test', 'https', 'https://shop.tunnels.test'],
      ['shop.tunnels.test:443', 'https', 'https://shop.tunnels.test'],
      ['shop.tunnels.test:80', 'http', 'http://shop.tunnels.test'],
      ['[::1]:80', 'http', 'http://[::1]'],
    ] as const) {
      const forwarded = [`X-Forwarded-Host: ${host}`, `X-Forwarded-Proto: ${scheme}`];
      assert.deepEqual(replaced([`Origin: ${value}`], forwarded), { origin: LOCAL }, value);
    }
    const forwarded = ['X-Forwarded-Host: a--shop.tunnels.test', 'X-Forwarded-Proto: https'];
    assert.equal(replaced(['Origin: https://b--shop.tunnels.test'], forwarded), undefined);
  });

  for (const foreign of [
    'null',
    '',
    'https://',
    'https://evil.test',
    'https://tunnels.test',
    'http://shop.tunnels.test',
    'https://shop.tunnels.test.evil.com',
    'https://shop.tunnels.testevil.com',
    'https://shop.tunnels.test:8443',
    'https://shop.tunnels.test:443',
    'https://shop.tunnels.test@evil.com',
    'https://shop.tunnels.test:x@evil.com',
    'https://shop.tunnels.test%2eevil.com',
    'https://shop.tunnels.test\\evil.com',
    'https://shop.tunnels.test evil.com',
    'https://shop.tunnels.test, https://evil.com',
    'https://ann@shop.tunnels.test',
    'https://evil.com/https://shop.tunnels.test',
    'https:/shop.tunnels.test',
    '//shop.tunnels.test',
    'shop.tunnels.test',
  ]) {
    it(`keeps the foreign "${foreign}"`, () => {
      assert.equal(replaced([`Origin: ${foreign}`, `Referer: ${foreign}`]), undefined);
      assert.equal(replaced([`Origin: ${foreign}/`, `Referer: ${foreign}/`]), undefined);
    });
  }

  it('keeps an Origin with more than an origin', () => {
    for (const more of ['/', '/x', '?', '#'])
      assert.equal(replaced([`Origin: https://shop.tunnels.test${more}`]), undefined, more);
  });

  it('keeps repeated fields', () => {
    const own = 'https://shop.tunnels.test';
    for (const other of [own, 'https://evil.test'])
      assert.equal(
        replaced([`Origin: ${own}`, `origin: ${other}`, `Referer: ${own}/`, `referer: ${other}/`]),
        undefined,
      );
  });

  it('keeps everything if it is not clear what the address of the tunnel is', () => {
    const [host = '', scheme = ''] = FORWARDED;
    for (const forwarded of [
      [],
      [host],
      [scheme],
      [host, scheme, host],
      [host, scheme, scheme],
      [host, 'X-Forwarded-Proto: ftp'],
      [host, 'X-Forwarded-Proto: constructor'],
      ['X-Forwarded-Host:', scheme],
      [host, scheme, 'X-Forwarded-Prefix: /t/shop'],
    ])
      assert.equal(replaced(['Origin: https://shop.tunnels.test'], forwarded), undefined, forwarded.join());
  });
});
