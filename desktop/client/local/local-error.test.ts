import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { Deadlines } from '../clock.ts';
import {
  describeLocalError,
  faultOf,
  findHostRefusal,
  type LocalErrorCode,
  LocalErrorResponse,
  LocalFailure,
  localFault,
} from './local-error.ts';
import { localPort, type LocalTarget } from './local-service.ts';

function setUp(code: LocalErrorCode = 'local-refused') {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const stream = new FakeStream();
  let ends = 0;
  const response = new LocalErrorResponse(stream, faultOf(code), 3000, deadlines, () => (ends += 1));
  response.start();
  return { response, clock, deadlines, stream, ends: () => ends };
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n';

describe('LocalErrorResponse', () => {
  for (const [code, explanation] of [
    ['local-refused', /3000/],
    ['local-reset', /without sending a response/],
  ] as const) {
    it(`responds to ${code} with 502 and an explanation, then closes`, () => {
      const { stream, ends, deadlines } = setUp(code);
      stream.receive(`${GET}\r\n`);
      const [head = '', body = ''] = stream.sent.split('\r\n\r\n');
      assert.match(head, /^HTTP\/1\.1 502 Bad Gateway\r\n/);
      assert.match(head, new RegExp(`\r\nCulvert-Error: ${code}\r\n`));
      assert.match(head, /\r\nContent-Type: application\/json; charset=utf-8\r\n/);
      assert.match(head, /\r\nConnection: close$/);
      assert.match(head, new RegExp(`\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`));
      assert.match((JSON.parse(body) as { error: string }).error, explanation);
      assert.deepEqual([stream.ended, ends(), deadlines.size], [1000, 1, 0]);
    });
  }

  it('responds to browsers with a page', () => {
    const { stream } = setUp();
    stream.receive(`${GET}Accept: text/html,*/*;q=0.8\r\n\r\n`);
    assert.match(stream.sent, /\r\nContent-Type: text\/html; charset=utf-8\r\n/);
    assert.match(stream.sent, /The port is 3000\./);
  });

  it('sends no content for HEAD', () => {
    const { stream } = setUp();
    stream.receive('HEAD / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.ok(stream.sent.endsWith('\r\n\r\n'));
    assert.match(stream.sent, /Content-Length: [1-9]/);
  });

  it('accepts a head in pieces, and drops the body after it', () => {
    const { stream, ends } = setUp();
    for (const character of 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n')
      stream.receive(character);
    const sent = stream.sent;
    stream.receive('body');
    assert.equal(stream.sent, sent);
    assert.equal(ends(), 1);
  });

  it('waits 10 s for a head', () => {
    const { stream, clock, ends } = setUp();
    stream.receive(GET);
    clock.advance(9999);
    assert.equal(stream.ended, undefined);
    clock.advance(1);
    assert.equal(stream.ended, 1011);
    assert.equal(ends(), 1);
  });

  for (const [name, bytes] of [
    ['what is no HTTP', 'hello\r\n\r\n'],
    ['an endless head', `${GET}X: ${'x'.repeat(40_000)}`],
  ] as const) {
    it(`does not respond to ${name}`, () => {
      const { stream } = setUp();
      stream.receive(bytes);
      assert.equal(stream.sent, '');
      assert.equal(stream.ended, 1011);
    });
  }

  it('ends with a visitor that leaves', () => {
    const { stream, deadlines, ends } = setUp();
    stream.closeByRelay(1006);
    assert.equal(ends(), 1);
    assert.equal(deadlines.size, 0);
  });

  it('cuts the stream when asked to', () => {
    const { response, stream, deadlines, ends } = setUp();
    response.cut();
    assert.deepEqual([stream.ended, ends(), deadlines.size], ['cut', 1, 0]);
  });
});

describe('describeLocalError and localFault', () => {
  const tls = { ...localPort(3000), https: true };
  const cases: [error: string, owner: RegExp, visitor: RegExp, target?: LocalTarget][] = [
    ['ECONNREFUSED', /^Nothing is listening on port 3000\. Start/, /is not running/],
    ['ECONNREFUSED', /^Nothing is listening on port 3000\. Start/, /is not running/, tls],
    ['EMFILE', /: Culvert has reached its limit of open files; raise .*ulimit -Hn/, /client cannot connect/],
    ['ENFILE', /: this system has reached its limit of open files/, /client cannot connect/],
    ['EADDRNOTAVAIL', /: all local ports of this machine are in use\.$/, /client cannot connect/],
    ['EACCES', /: this system does not allow the connection; a firewall/, /client cannot connect/],
    ['EPERM', /: this system does not allow the connection; a firewall/, /client cannot connect/],
    ['ETIMEDOUT', /: it did not respond in time\.$/, /client cannot connect/],
    ['ETIMEDOUT', /: it did not respond in time\.$/, /client cannot connect/, tls],
    ['ENETUNREACH', /: the network cannot be reached\.$/, /client cannot connect/],
    ['ENOTFOUND', /: the host name does not exist\.$/, /client cannot connect/],
    ['ECONNRESET', /: the connection was reset\.$/, /client cannot connect/],
    ['ENOBUFS', /^Cannot connect to port 3000: connect ENOBUFS\.$/, /client cannot connect/],
    ['CERT_HAS_EXPIRED', /: its certificate has expired\.$/, /client cannot connect/, tls],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /: it does not speak TLS\.$/, /client cannot connect/, tls],
    ['ECONNRESET', /: it refused the TLS handshake by closing/, /refused the TLS handshake/, tls],
    [
      'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
      /: it refused the TLS handshake \(unrecognized name\)\.$/,
      /refused the TLS handshake/,
      tls,
    ],
    [
      'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
      /: it refused the TLS handshake \(handshake failure\)\.$/,
      /refused the TLS handshake/,
      tls,
    ],
  ];
  for (const [code, owner, visitor, target = localPort(3000)] of cases)
    it(`tell the truth about ${code}${target.https ? ' over TLS' : ''}`, () => {
      const error = Object.assign(new Error(`connect ${code}`), { code });
      assert.match(describeLocalError(target, error).text, owner);
      const fault = localFault(target, error);
      assert.equal(fault.code, 'local-refused');
      assert.match(fault.text, visitor);
    });

  it('keep the code of a service that cannot be asked', () => {
    const error = new LocalFailure('local-busy');
    assert.equal(localFault(tls, error).code, 'local-busy');
    assert.match(describeLocalError(tls, error).text, /allows no more/);
  });
});

const hostRefusalHead = (status: string): string => `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\n\r\n`;
const find = (text: string, isBody = false) => findHostRefusal(Buffer.from(text), isBody);

const findIn = (text: string, request?: string) =>
  findHostRefusal(Buffer.from(text), false, request === undefined ? undefined : Buffer.from(request));

const jupyterRefusal = (type: string): string =>
  `HTTP/1.1 403 Forbidden\r\nServer: TornadoServer/6.2\r\nContent-Type: ${type}\r\nX: y\r\n` +
  "Content-Security-Policy: frame-ancestors 'self'; report-uri /base/api/security/csp-report\r\n\r\n<!DOCTYPE";

describe('findHostRefusal', () => {
  const refusals: [string, string, string][] = [
    ['Vite', '403 Forbidden', 'Blocked request. This host ("x.example.com") is not allowed.'],
    ['webpack', '403 Forbidden', 'Invalid Host header'],
    ['webpack', '403 Forbidden', 'Invalid Host/Origin header'],
    ['Storybook', '403 Forbidden', 'Invalid host'],
    ['Django', '400 Bad Request', `${' '.repeat(900)}<title>DisallowedHost at /</title>`],
    ['Rails', '403 Forbidden', '<h1>Blocked hosts: x.example.com</h1>'],
    ['ASP.NET', '400 Bad Request', '<h2>Bad Request - Invalid Hostname</h2>'],
  ];
  for (const [name, status, body] of refusals) {
    it(`recognises the refusal of ${name}: ${body.trim()}`, () => {
      const refusal = find(hostRefusalHead(status) + body);
      assert.ok(refusal.kind === 'refused');
      assert.match(refusal.setting, new RegExp(name));
      assert.equal(find(hostRefusalHead(status)).kind, 'perhaps');
      assert.deepEqual(find(body, true), refusal);
    });
  }

  const others: [string, string][] = [
    ['another refusal', `${hostRefusalHead('403 Forbidden')}You may not`],
    ['a longer text', `${hostRefusalHead('403 Forbidden')}Invalid host given`],
    ['another status', `${hostRefusalHead('404 Not Found')}Invalid Host header`],
    ['a response about it', `${hostRefusalHead('200 OK')}Invalid Host header`],
    ['a piece of a body', '12345678 4 Blocked request. This host'],
    ['what comes far behind', `${hostRefusalHead('403 Forbidden')}${' '.repeat(5000)}Invalid Host header`],
  ];
  for (const [name, text] of others)
    it(`does not mistake ${name} for a refusal`, () => assert.equal(find(text).kind, 'none'));

  it('recognises how Next.js refuses a WebSocket, without a head', () => {
    for (const target of ['/_next/webpack-hmr', '/_next/hmr?id=x', '/base/_next/webpack-hmr'])
      assert.deepEqual(findIn('Unauthorized', `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`), {
        kind: 'refused',
        setting: 'Next.js: allowedDevOrigins',
      });
    for (const [text, request] of [
      ['Unauthorized', 'GET /hmr HTTP/1.1\r\nHost: a\r\nX: /_next/hmr\r\n\r\n'],
      ['Unauthorized', undefined],
      ['Unauthorized!', 'GET /_next/hmr HTTP/1.1\r\n\r\n'],
      ['Unauthorized', ''],
    ] as const)
      assert.equal(findIn(text, request).kind, 'none');
  });

  it('recognises how Jupyter refuses a page', () => {
    const refused = { kind: 'refused', setting: 'Jupyter: ServerApp.allow_remote_access' };
    assert.deepEqual(findIn(jupyterRefusal('text/html'), 'GET / HTTP/1.1\r\n\r\n'), refused);
    assert.equal(findIn(jupyterRefusal('text/html'), 'POST /login HTTP/1.1\r\n\r\n').kind, 'none');
    assert.equal(findIn(jupyterRefusal('application/json'), 'GET /api HTTP/1.1\r\n\r\n').kind, 'none');
  });

  it('looks at only one more piece', () => assert.equal(find('something else\r\n\r\n', true).kind, 'none'));
});
