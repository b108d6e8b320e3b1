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
import { textOf } from '../messages.ts';

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n';

/** The response to a visitor who sends that in pieces, after which the visitor's `act` follows. */
function respond(
  pieces: Iterable<string>,
  code: LocalErrorCode = 'local-refused',
  act: (response: LocalErrorResponse, stream: FakeStream, clock: FakeClock) => void = () => {},
) {
  const clock = new FakeClock();
  const deadlines = new Deadlines(clock);
  const stream = new FakeStream();
  let ends = 0;
  const response = new LocalErrorResponse(stream, faultOf(code), deadlines, () => (ends += 1));
  response.start();
  for (const piece of pieces) stream.receive(piece);
  act(response, stream, clock);
  assert.deepEqual([ends, deadlines.size], [1, 0]);
  const [head = '', body = ''] = stream.sent.split('\r\n\r\n');
  return { head, body, ended: stream.ended };
}

describe('LocalErrorResponse', () => {
  for (const [request, code, type, explanation] of [
    [`${GET}\r\n`, 'local-refused', 'application/json', /^\{"error":"[^"\d]*","code"/],
    [`${GET}\r\n`, 'local-reset', 'application/json', /^\{"error":.*without sending a response/],
    [
      `${GET}Accept: text/html,*/*;q=0.8\r\n\r\n`,
      'local-refused',
      'text/html',
      /<p>The tunnel is online[^\d]*<\/p>/,
    ],
    ['POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody', 'local-refused', 'application/json', /^\{"error":/],
    ['HEAD / HTTP/1.1\r\nHost: a\r\n\r\n', 'local-refused', 'application/json', /^$/],
  ] as const)
    it(`responds with ${type} for ${code} to ${JSON.stringify(request)} in any pieces, then closes`, () => {
      for (const pieces of [[request], request]) {
        const { head, body, ended } = respond(pieces, code);
        const length = request.startsWith('HEAD') ? '[1-9]\\d+' : body.length;
        assert.match(head, /^HTTP\/1\.1 502 Bad Gateway\r\n[^]*\r\nConnection: close$/);
        assert.match(head, new RegExp(`\r\nCulvert-Error: ${code}\r\n`));
        assert.match(head, new RegExp(`\r\nContent-Type: ${type}; charset=utf-8\r\n`));
        assert.match(head, new RegExp(`\r\nContent-Length: ${length}\r\n`));
        assert.match(body, explanation);
        assert.equal(ended, 1000);
      }
    });

  it('does not respond to an endless head, or anything but HTTP', () => {
    for (const bytes of ['hello\r\n\r\n', `${GET}X: ${'x'.repeat(40_000)}`])
      assert.deepEqual(respond([bytes]), { head: '', body: '', ended: 1011 });
  });

  it('waits 10 s for a head, or until the visitor leaves or the stream is cut', () => {
    const late = respond([GET], 'local-refused', (_response, stream, clock) => {
      clock.advance(9999);
      assert.equal(stream.ended, undefined);
      clock.advance(1);
    });
    assert.equal(late.ended, 1011);
    respond([], 'local-refused', (_response, stream) => stream.closeByRelay(1006));
    assert.equal(respond([], 'local-refused', (response) => response.cut()).ended, 'cut');
  });
});

describe('describeLocalError and localFault', () => {
  const tls = { ...localPort(3000), https: true };
  const TLS = /refused the TLS handshake/;
  const UNREACHED = /client cannot connect/;
  const cases: [error: string, owner: RegExp, visitor: RegExp, target?: LocalTarget][] = [
    ['ECONNREFUSED', /^Nothing is listening on port 3000\. Start/, /is not running/],
    ['ECONNREFUSED', /^Nothing is listening on port 3000\. Start/, /is not running/, tls],
    ['EMFILE', /: Culvert has reached its limit of open files; raise .*ulimit -Hn/, UNREACHED],
    ['ENFILE', /: this system has reached its limit of open files/, UNREACHED],
    ['EADDRNOTAVAIL', /: all local ports of this machine are in use\.$/, UNREACHED],
    ['EACCES', /: this system does not allow the connection; a firewall/, UNREACHED],
    ['EPERM', /: this system does not allow the connection; a firewall/, UNREACHED],
    ['ETIMEDOUT', /: it did not respond in time\.$/, UNREACHED],
    ['ETIMEDOUT', /: it did not respond in time\.$/, UNREACHED, tls],
    ['ENETUNREACH', /: the network cannot be reached\.$/, UNREACHED],
    ['ENOTFOUND', /: the host name does not exist\.$/, UNREACHED],
    ['ECONNRESET', /: the connection was reset\.$/, UNREACHED],
    ['ENOBUFS', /^Cannot connect to port 3000: connect ENOBUFS\.$/, UNREACHED],
    ['CERT_HAS_EXPIRED', /: its certificate has expired\.$/, UNREACHED, tls],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /: it does not speak TLS\.$/, UNREACHED, tls],
    ['ECONNRESET', /: it refused the TLS handshake by closing/, TLS, tls],
    ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', /: it refused the TLS handshake \(unrecognized name\)\.$/, TLS, tls],
    ['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', /the TLS handshake \(handshake failure\)\.$/, TLS, tls],
  ];
  for (const [code, owner, visitor, target = localPort(3000)] of cases)
    it(`tell the truth about ${code}${target.https ? ' over TLS' : ''}`, () => {
      const error = Object.assign(new Error(`connect ${code}`), { code });
      assert.match(textOf(describeLocalError(target, error)), owner);
      const fault = localFault(target, error);
      assert.equal(fault.code, 'local-refused');
      assert.match(fault.text, visitor);
    });

  it('keep the code of a service that cannot be asked', () => {
    const error = new LocalFailure('local-busy');
    assert.equal(localFault(tls, error).code, 'local-busy');
    assert.match(textOf(describeLocalError(tls, error)), /allows no more/);
  });
});

const head = (status: string): string => `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\n\r\n`;
const find = (text: string, isBody = false, request?: string) =>
  findHostRefusal(Buffer.from(text), isBody, request === undefined ? undefined : Buffer.from(request));

const jupyter = (type: string): string =>
  `HTTP/1.1 403 Forbidden\r\nServer: TornadoServer/6.2\r\nContent-Type: ${type}\r\nX: y\r\n` +
  "Content-Security-Policy: frame-ancestors 'self'; report-uri /base/api/security/csp-report\r\n\r\n<!DOCTYPE";

describe('findHostRefusal', () => {
  for (const [name, status, body] of [
    ['Vite', '403 Forbidden', 'Blocked request. This host ("x.example.com") is not allowed.'],
    ['webpack', '403 Forbidden', 'Invalid Host header'],
    ['webpack', '403 Forbidden', 'Invalid Host/Origin header'],
    ['Storybook', '403 Forbidden', 'Invalid host'],
    ['Django', '400 Bad Request', `${' '.repeat(900)}<title>DisallowedHost at /</title>`],
    ['Rails', '403 Forbidden', '<h1>Blocked hosts: x.example.com</h1>'],
    ['ASP.NET', '400 Bad Request', '<h2>Bad Request - Invalid Hostname</h2>'],
  ] as const)
    it(`recognises the refusal of ${name}: ${body.trim()}`, () => {
      const refusal = find(head(status) + body);
      assert.ok(refusal.kind === 'refused');
      assert.match(refusal.setting, new RegExp(name));
      assert.equal(find(head(status)).kind, 'perhaps');
      assert.deepEqual(find(body, true), refusal);
    });

  for (const [text, request, setting] of [
    ['Unauthorized', 'GET /_next/webpack-hmr HTTP/1.1\r\nHost: a\r\n\r\n', 'Next.js: allowedDevOrigins'],
    ['Unauthorized', 'GET /base/_next/hmr?id=x HTTP/1.1\r\n\r\n', 'Next.js: allowedDevOrigins'],
    ['Unauthorized', 'GET /hmr HTTP/1.1\r\nHost: a\r\nX: /_next/hmr\r\n\r\n', undefined],
    ['Unauthorized', undefined, undefined],
    ['Unauthorized', '', undefined],
    ['Unauthorized!', 'GET /_next/hmr HTTP/1.1\r\n\r\n', undefined],
    [jupyter('text/html'), 'GET / HTTP/1.1\r\n\r\n', 'Jupyter: ServerApp.allow_remote_access'],
    [jupyter('text/html'), 'POST /login HTTP/1.1\r\n\r\n', undefined],
    [`${head('403 Forbidden').replace('plain', 'html')}No`, 'GET / HTTP/1.1\r\n\r\n', undefined],
    [jupyter('application/json'), 'GET /api HTTP/1.1\r\n\r\n', undefined],
    [`${head('403 Forbidden')}You may not`, undefined, undefined],
    [`${head('403 Forbidden')}Invalid host given`, undefined, undefined],
    [`${head('404 Not Found')}Invalid Host header`, undefined, undefined],
    [`${head('200 OK')}Invalid Host header`, undefined, undefined],
    ['12345678 4 Blocked request. This host', undefined, undefined],
    [`${head('403 Forbidden')}${' '.repeat(5000)}Invalid Host header`, undefined, undefined],
  ] as const)
    it(`finds ${setting ?? 'none'} in ${JSON.stringify(text.slice(-40))} to ${JSON.stringify(request)}`, () => {
      const found = setting === undefined ? { kind: 'none' } : { kind: 'refused', setting };
      assert.deepEqual(find(text, false, request), found);
    });

  it('looks at only one more piece', () => assert.equal(find('something else\r\n\r\n', true).kind, 'none'));
});
