import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Tunnel } from '../../shared/tunnel.ts';
import { launchTrustingBrowser } from '../support/browser.ts';
import { Authority } from '../support/certificates.ts';
import { eventually, within } from '../support/deadline.ts';
import {
  block,
  END_HEADERS,
  END_STREAM,
  frame,
  FrameConnection,
  FRAMES,
  type Http2Response,
  openHttp2,
  request,
  type StreamResult,
} from '../support/http2.ts';
import { Culvert, Relay, RelayProgram } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { type Echo, payloadChecksum, seenField, type Site, startSite } from '../support/services/echo.ts';
import { type Service, startRawService } from '../support/services/listen.ts';

function settings(cert: string, key: string): Record<string, string> {
  return {
    CULVERT_HTTP2: 'on',
    CULVERT_TLS_CERT: cert,
    CULVERT_TLS_KEY: key,
    CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
  };
}

const PROTOCOL_ERROR = 1;
const ENHANCE_YOUR_CALM = 11;

function echoOf({ status, text }: Http2Response): Echo {
  assert.equal(status, 200, text);
  return JSON.parse(text) as Echo;
}

/** Asks for a WebSocket. */
async function connect(
  session: ClientHttp2Session,
  more: Record<string, string>,
): Promise<{ stream: ClientHttp2Stream; status: number }> {
  // Whether it may is known only once the relay's settings have arrived.
  if (session.remoteSettings.enableConnectProtocol !== true)
    await within(20_000, 'settings', once(session, 'remoteSettings'));
  const stream = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/socket',
    'sec-websocket-version': '13',
    ...more,
  });
  stream.on('error', () => {});
  const [head] = (await within(20_000, 'response', once(stream, 'response'))) as [IncomingHttpHeaders];
  return { stream, status: Number(head[':status']) };
}

describe('HTTP/2 for visitors', () => {
  const scope = suiteScope();
  let authority: Authority;
  let relay: Relay;
  let site: Site;
  let raw: Service;
  let tunnel: Tunnel;
  let other: Tunnel;
  /** responds to the next request of the raw service */
  let answer: string;
  /** called when the raw service has sent its response */
  let afterwards: (socket: Socket) => void;
  /** called when a connection to the raw service has ended */
  let onServiceEnd: () => void;
  /** what the raw service received on each of its connections */
  let received: string[];
  let host: string;
  let otherHost: string;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue('*.tunnels.test');
    relay = await Relay.start(scope, settings(cert, key));
    site = await startSite(scope);
    received = [];
    raw = await startRawService(scope, (socket) => {
      const index = received.push('') - 1;
      socket.once('end', () => onServiceEnd());
      socket.on('data', (bytes: Buffer) => {
        const head = (received[index] ?? '') + bytes.toString('latin1');
        received[index] = head;
        if (head.includes('\r\n\r\n') && answer !== '') socket.write(answer, () => afterwards(socket));
      });
      socket.on('error', () => {});
    });
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    tunnel = (await Culvert.start(scope, relay, relay.bootstrapKey, site.port, [], environment)).tunnel;
    other = (await Culvert.start(scope, relay, relay.bootstrapKey, raw.port, [], environment)).tunnel;
    host = `${tunnel.slug}.tunnels.test:${relay.port}`;
    otherHost = `${other.slug}.tunnels.test:${relay.port}`;
  });

  beforeEach(() => {
    answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    received.length = 0;
    afterwards = () => {};
    onServiceEnd = () => {};
  });

  function target(servername = `${tunnel.slug}.tunnels.test`): {
    port: number;
    ca: Buffer;
    servername: string;
  } {
    return { port: relay.port, ca: authority.pem, servername };
  }

  async function open(): Promise<ClientHttp2Session> {
    return await openHttp2(scope, target());
  }

  describe('requests', () => {
    it('pass with a token, each by itself', async () => {
      const environment = { NODE_EXTRA_CA_CERTS: authority.path };
      const args = ['--token', 'ci'];
      const culvert = await Culvert.start(scope, relay, relay.bootstrapKey, site.port, args, environment);
      const { slug, access } = culvert.tunnel;
      const token = access.tokens?.[0]?.token ?? '';
      const session = await open();
      const head = { ':path': '/a', ':authority': `${slug}.tunnels.test:${relay.port}` };
      const [inside, wrong, without] = await Promise.all([
        request(session, { ...head, authorization: `Bearer ${token}` }),
        request(session, { ...head, authorization: `Bearer ${token}x` }),
        request(session, head),
      ]);
      const seen = echoOf(inside);
      assert.deepEqual(
        [seenField(seen, 'culvert-visitor'), seenField(seen, 'authorization')],
        ['token:ci', undefined],
      );
      for (const { status, headers } of [wrong, without])
        assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer realm="culvert"']);
    });

    it('reach the local service as HTTP/1.1 requests', async () => {
      const session = await open();
      const seen = echoOf(
        await request(session, {
          ':path': '/a?b=%20c',
          ':authority': host,
          'x-mixed': 'Value',
          cookie: ['a=1', 'b=2'],
          te: 'trailers',
        }),
      );
      assert.deepEqual([seen.method, seen.url, seen.version], ['GET', '/a?b=%20c', '1.1']);
      assert.equal(seenField(seen, 'Host'), host);
      assert.equal(seenField(seen, 'Cookie'), 'a=1; b=2');
      assert.equal(seenField(seen, 'TE'), 'trailers');
      assert.equal(seenField(seen, 'X-Forwarded-Proto'), 'https');
      assert.equal(seenField(seen, 'X-Forwarded-Host'), host);
      assert.equal(seenField(seen, 'X-Forwarded-For'), '127.0.0.1');
      assert.ok(seen.rawHeaders.includes('x-mixed'));
      assert.ok(!seen.rawHeaders.some((name) => name.startsWith(':')));
    });

    it('are routed one by one, to several tunnels and the API on one connection', async () => {
      const session = await open();
      const [first, second, api] = await Promise.all([
        request(session, { ':path': '/x', ':authority': host }),
        request(session, { ':path': '/y', ':authority': otherHost }),
        request(session, { ':path': '/healthz', ':authority': `localhost:${relay.port}` }),
      ]);
      assert.equal(echoOf(first).url, '/x');
      assert.deepEqual([second.status, second.text], [200, 'ok']);
      assert.equal(api.status, 200);
    });

    it('reach several hosts of a wildcard tunnel on one connection, each with its own', async () => {
      const args = ['--name', 'many', '--wildcard'];
      const environment = { NODE_EXTRA_CA_CERTS: authority.path };
      await Culvert.start(scope, relay, relay.bootstrapKey, site.port, args, environment);
      const session = await open();
      const hosts = ['many', 'a--many', 'B--many'].map((label) => `${label}.tunnels.test`);
      const seen = await Promise.all(
        hosts.map((name) => request(session, { ':path': '/', ':authority': name })),
      );
      assert.deepEqual(
        seen.map((response) => seenField(echoOf(response), 'Host')),
        hosts,
      );
    });

    it('carry bodies of known and of unknown length, and trailers', async () => {
      const session = await open();
      const known = await request(
        session,
        { ':method': 'POST', ':path': '/', ':authority': host, 'content-length': '5' },
        'hello',
      );
      assert.equal(seenField(echoOf(known), 'Content-Length'), '5');
      const stream = session.request(
        { ':method': 'POST', ':path': '/', ':authority': host },
        { waitForTrailers: true },
      );
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-check': 'sum' }));
      stream.write('hel');
      stream.end('lo');
      const chunks: Buffer[] = [];
      for await (const chunk of stream) chunks.push(chunk as Buffer);
      const seen = JSON.parse(Buffer.concat(chunks).toString()) as Echo;
      assert.equal(seenField(seen, 'Transfer-Encoding'), 'chunked');
      assert.equal(seen.length, 5);
      assert.deepEqual(seen.trailers, ['x-check', 'sum']);
    });

    it('are refused with 421 for a host that the certificate does not cover', async () => {
      const session = await open();
      const refused = await request(session, { ':path': '/', ':authority': 'elsewhere.example' });
      assert.deepEqual([refused.status, refused.headers['culvert-error']], [421, 'misdirected']);
    });

    it('of 3 MB arrive unchanged, with many others beside them', async () => {
      const session = await open();
      const length = 3_000_000;
      const upload = request(
        session,
        { ':method': 'POST', ':path': '/sink', ':authority': host },
        Buffer.alloc(length, 'u'),
      );
      const download = request(session, { ':path': `/bytes/${length}`, ':authority': host });
      const small = Array.from({ length: 90 }, (_, index) =>
        request(session, { ':path': `/${index}`, ':authority': host }),
      );
      for (const [index, response] of (await Promise.all(small)).entries())
        assert.equal(echoOf(response).url, `/${index}`);
      assert.equal((JSON.parse((await upload).text) as { length: number }).length, length);
      assert.equal((await download).status, 200);
    });
  });

  describe('responses', () => {
    it('of a download arrive unchanged', async () => {
      const session = await open();
      for (const path of ['bytes', 'chunked']) {
        const stream = session.request({ ':path': `/${path}/3000000`, ':authority': host });
        const hash = createHash('sha256');
        for await (const chunk of stream) hash.update(chunk as Buffer);
        assert.equal(hash.digest('hex'), payloadChecksum(3_000_000));
      }
    });

    it('have no fields of HTTP/1.1 connections, and pass informational ones and trailers', async () => {
      answer =
        'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n' +
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\nConnection: keep-alive\r\nX-A: 1\r\nx-a: 2\r\n\r\n' +
        '2\r\nok\r\n0\r\nX-Sum: 3\r\n\r\n';
      const session = await open();
      const stream = session.request({ ':path': '/', ':authority': otherHost });
      const hints = once(stream, 'headers');
      const head = once(stream, 'response');
      const trailers = once(stream, 'trailers');
      stream.resume();
      assert.equal(((await within(20_000, 'hints', hints)) as [{ link: string }])[0].link, '</a.css>');
      const [seen] = (await within(20_000, 'head', head)) as [Record<string, string>];
      assert.deepEqual(
        [seen['x-a'], seen['connection'], seen['keep-alive'], seen['transfer-encoding']],
        ['1, 2', undefined, undefined, undefined],
      );
      assert.equal(((await within(20_000, 'trailers', trailers)) as [{ 'x-sum': string }])[0]['x-sum'], '3');
    });

    it('to HEAD, and with status 204 and 304, end with their head', async () => {
      const session = await open();
      const head = await request(session, { ':method': 'HEAD', ':path': '/', ':authority': host });
      assert.deepEqual([head.status, head.text, head.headers['seen-method']], [200, '', 'HEAD']);
      for (const status of [204, 304]) {
        answer = `HTTP/1.1 ${status} Nothing\r\n\r\n`;
        assert.equal((await request(session, { ':path': '/', ':authority': otherHost })).status, status);
      }
    });

    it('with a status that HTTP/2 does not have are replaced', async () => {
      answer = 'HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok';
      const { status, headers } = await request(await open(), { ':path': '/', ':authority': otherHost });
      assert.deepEqual([status, headers['culvert-error']], [502, 'local-malformed']);
    });

    it('without a length end with the connection of the service', async () => {
      answer = 'HTTP/1.1 200 OK\r\n\r\nall of it';
      afterwards = (socket) => socket.end();
      const response = await request(await open(), { ':path': '/', ':authority': otherHost });
      assert.equal(response.text, 'all of it');
    });

    it('that break off end their stream with an error, within a second', async () => {
      answer = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it';
      afterwards = (socket) => socket.destroy();
      const connection = await FrameConnection.open(scope, target());
      connection.write(get(1, otherHost));
      const result = (await connection.outcome(1)) as StreamResult;
      assert.deepEqual([result.ended, result.reset], [false, 2]);
      connection.write(get(3));
      assert.equal(((await connection.outcome(3)) as StreamResult).status, 200);
    });

    it('that are complete before the request ask for the rest to stop', async () => {
      const connection = await FrameConnection.open(scope, target());
      connection.write(
        frame(FRAMES.headers, END_HEADERS, 1, block(fields({ ':method': 'POST', ':authority': otherHost }))),
      );
      const result = (await connection.outcome(1)) as StreamResult;
      assert.deepEqual([result.status, result.body], [200, 'ok']);
      while (result.reset === undefined) await connection.change();
      assert.equal(result.reset, 0);
    });

    const leave: Record<string, (connection: FrameConnection) => void> = {
      'resets the stream': (connection) =>
        connection.write(frame(FRAMES.reset, 0, 1, Buffer.from([0, 0, 0, 8]))),
      'ends its connection': ({ socket }) => socket.end(),
      'announces the end of its connection first': (connection) => {
        connection.write(frame(FRAMES.goaway, 0, 0, Buffer.alloc(8)));
        connection.socket.end();
      },
      'breaks its connection': ({ socket }) => socket.destroy(),
    };
    for (const [what, leaves] of Object.entries(leave)) {
      it(`of a visitor that ${what} end the connection to the service`, async () => {
        answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n';
        const ended = new Promise<void>((resolve) => (onServiceEnd = resolve));
        const connection = await FrameConnection.open(scope, target());
        connection.socket.allowHalfOpen = true;
        connection.write(get(1, otherHost));
        while (connection.streams.get(1)?.body !== 'begin') await connection.change();
        leaves(connection);
        await within(20_000, 'end', ended);
      });
    }

    it('of a visitor that closes the stream without an error while content waits end the connection to the service', async () => {
      answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n${'x'.repeat(100_000)}\r\n`;
      const ended = new Promise<void>((resolve) => (onServiceEnd = resolve));
      const connection = await FrameConnection.open(scope, target());
      connection.write(get(1, otherHost));
      while (connection.streams.get(1)?.body.length !== 65_535) await connection.change();
      connection.write(frame(FRAMES.reset, 0, 1, Buffer.from([0, 0, 0, 0])));
      await within(20_000, 'end', ended);
    });
  });

  function fields(given: Record<string, string> = {}): [string, string][] {
    const all = { ':method': 'GET', ':scheme': 'https', ':authority': host, ':path': '/', ...given };
    return Object.entries(all);
  }

  function get(stream: number, authorityOf = host): Buffer {
    const head = block(fields({ ':authority': authorityOf }));
    return frame(FRAMES.headers, END_HEADERS | END_STREAM, stream, head);
  }

  describe('WebSockets (RFC 8441)', () => {
    it('carry messages, and end with either side', async () => {
      const { stream, status } = await connect(await open(), { ':authority': host });
      assert.equal(status, 200);
      // A masked text frame, whose mask changes nothing.
      stream.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
      const [echoed] = (await within(20_000, 'echo', once(stream, 'data'))) as [Buffer];
      assert.deepEqual(echoed, Buffer.from([0x81, 2, 0x68, 0x69]));
      const ended = once(stream, 'end');
      stream.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
      const [closing] = (await within(20_000, 'close', once(stream, 'data'))) as [Buffer];
      assert.equal(closing[0], 0x88);
      await within(20_000, 'end', ended);
      stream.end();
    });

    it('reach the service as upgrades of HTTP/1.1, and only what it accepts is one', async () => {
      for (const [said, expected] of [
        [
          'HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n',
          502,
        ],
        ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 501],
        ['HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno', 403],
      ] as const) {
        answer = said;
        const { status } = await connect(await open(), {
          ':authority': otherHost,
          origin: `https://${otherHost}`,
        });
        assert.equal(status, expected);
        const head = received.at(-1) ?? '';
        assert.match(head, /^GET \/socket HTTP\/1\.1\r\n/);
        for (const line of ['Connection: Upgrade', 'Upgrade: websocket', `origin: https://${otherHost}`])
          assert.ok(head.includes(`\r\n${line}\r\n`), head);
        assert.match(head, /\r\nSec-WebSocket-Key: [\w+/]{22}==\r\n/);
      }
    });

    it("are not the relay's own, which need a connection of HTTP/1.1", async () => {
      const { status } = await connect(await open(), {
        ':authority': `localhost:${relay.port}`,
        ':path': '/ws/control',
      });
      assert.ok(status >= 400, `${status}`);
    });

    it('of Chromium are opened on the connection of the page', async () => {
      const browser = await launchTrustingBrowser(scope, authority.pem.toString(), '127.0.0.1');
      const page = await browser.newPage();
      await page.goto(`https://${otherHost}/`);
      // The relay may use the connection of the page to the service again.
      received.length = 0;
      answer = '';
      await page.evaluate((url) => void new WebSocket(url), `wss://${otherHost}/live`);
      await eventually(20_000, () => assert.match(received.join(''), /^GET \/live[^]*\r\n\r\n/m));
      // Over HTTP/1.1, Chromium writes Sec-WebSocket-Version.
      assert.match(received.join(''), /^sec-websocket-version: 13\r\n/m);
      const echoed = await page.evaluate(
        (url) =>
          new Promise((resolve) => {
            const socket = new WebSocket(url);
            socket.addEventListener('open', () => socket.send('hello'));
            socket.addEventListener('message', ({ data }) => resolve(data));
            socket.addEventListener('close', ({ code }) => resolve(code));
          }),
        `wss://${host}/socket`,
      );
      assert.equal(echoed, 'hello');
    });
  });

  describe('malformed requests', () => {
    it('reach no tunnel, and the connection continues', async () => {
      const connection = await FrameConnection.open(scope, target());
      let stream = -1;
      const malformed: [string, string][][] = [
        fields({ ':authority': otherHost, 'transfer-encoding': 'chunked' }),
        fields({ ':authority': otherHost, ':path': '/ HTTP/1.1\r\nx: y' }),
        fields({ ':authority': otherHost, 'X-Upper': 'a' }),
        fields({ ':authority': otherHost, host: 'other.tunnels.test' }),
        fields({ ':authority': otherHost, 'content-length': '1a' }),
        [...fields({ ':authority': otherHost, 'content-length': '0' }), ['content-length', '1']],
        [
          [':method', 'CONNECT'],
          [':authority', otherHost],
        ],
      ];
      for (const list of malformed) {
        stream += 2;
        connection.write(frame(FRAMES.headers, END_HEADERS | END_STREAM, stream, block(list)));
        assert.equal(((await connection.outcome(stream)) as StreamResult).status, 400, list.join());
      }
      assert.deepEqual(received, []);
      connection.write(get(stream + 2));
      assert.equal(((await connection.outcome(stream + 2)) as StreamResult).status, 200);
    });

    it('with a body that differs from its length are never completed for the service', async () => {
      answer = '';
      const ended = new Promise<void>((resolve) => (onServiceEnd = resolve));
      const connection = await FrameConnection.open(scope, target());
      const head = block(fields({ ':method': 'POST', ':authority': otherHost, 'content-length': '5' }));
      connection.write(frame(FRAMES.headers, END_HEADERS, 1, head));
      await eventually(20_000, () => assert.equal(received.length, 1));
      connection.write(frame(FRAMES.data, END_STREAM, 1, Buffer.from('too long')));
      const result = await connection.outcome(1);
      // Node ends the whole connection.
      assert.ok(result === 'goaway' || (typeof result === 'object' && result.reset === PROTOCOL_ERROR));
      await within(20_000, 'end at the service', ended);
      assert.doesNotMatch(received[0] ?? '', /too l/);
    });
  });

  describe('other clients', () => {
    const run = promisify(execFile);

    it('curl: 100 requests on one connection', async () => {
      const urls = `https://${host}/[1-100]`;
      const resolve = `${tunnel.slug}.tunnels.test:${relay.port}:127.0.0.1`;
      const options = ['--http2', '-sS', '--cacert', authority.path, '--resolve', resolve, '--parallel'];
      const format = '%{http_version} %{http_code} %{num_connects}\\n';
      const { stdout } = await run('curl', [...options, '-o', '/dev/null', '-w', format, urls]);
      const lines = stdout.trim().split('\n');
      assert.equal(lines.filter((line) => line.startsWith('2 200 ')).length, 100);
      assert.equal(lines.filter((line) => line.endsWith(' 1')).length, 1);
    });

    it('nghttp: an upload with trailers, and a download', async () => {
      const header = `-H:authority: ${host}`;
      const url = `https://127.0.0.1:${relay.port}`;
      const { stdout } = await run('nghttp', [
        '--no-dep',
        '--no-content-length',
        header,
        '--trailer=x-check: sum',
        `--data=${authority.path}`,
        `${url}/`,
      ]);
      assert.deepEqual((JSON.parse(stdout) as Echo).trailers, ['x-check', 'sum']);
      const download = await run('nghttp', ['--no-dep', '-nsv', header, `${url}/bytes/1000000`]);
      assert.match(download.stdout, /END_STREAM/);
      assert.doesNotMatch(download.stdout, /RST_STREAM|error_code=(?!NO_ERROR)/);
    });

    it("Python's h2: a request whose body ends after its response", async () => {
      const script = join(import.meta.dirname, '../support/http2-client.py');
      const { stdout } = await run('/usr/bin/python3', [
        script,
        authority.path,
        String(relay.port),
        `${tunnel.slug}.tunnels.test`,
      ]);
      assert.equal(stdout, '200 POST 11\n');
    });
  });

  describe('limits', () => {
    it('of HTTP/1.1 for the target and the fields apply', async () => {
      const session = await open();
      const long = await request(session, { ':path': `/${'a'.repeat(9000)}`, ':authority': host });
      assert.equal(long.status, 414);
      const large = await request(session, {
        ':path': '/',
        ':authority': host,
        'x-large': 'a'.repeat(17_000),
      });
      assert.equal(large.status, 431);
      const crumbs = await request(session, {
        ':path': '/',
        ':authority': host,
        cookie: Array.from({ length: 210 }, (_, index) => `a${index}=b`),
      });
      assert.equal(crumbs.status, 431);
    });

    const floods: Record<string, () => Buffer> = {
      pings: () => frame(FRAMES.ping, 0, 0, Buffer.alloc(8)),
      settings: () => frame(FRAMES.settings, 0, 0),
    };
    for (const [what, next] of Object.entries(floods)) {
      it(`end a connection that floods the relay with ${what}`, async () => {
        const connection = await FrameConnection.open(scope, target());
        // It reads nothing, so that the responses pile up.
        connection.socket.pause();
        for (let count = 0; count < 400 && !connection.socket.destroyed; count += 1) {
          connection.write(Buffer.concat(Array.from({ length: 100 }, next)));
          await new Promise((resolve) => setImmediate(resolve));
        }
        connection.socket.resume();
        while (connection.goaway === undefined && !connection.closed) await connection.change();
        assert.ok([undefined, ENHANCE_YOUR_CALM, 2].includes(connection.goaway), String(connection.goaway));
        const session = await open();
        assert.equal((await request(session, { ':path': '/', ':authority': host })).status, 200);
      });
    }
  });

  it('can be turned off', async () => {
    const { cert, key } = authority.issue();
    const old = await Relay.start(scope, {
      CULVERT_TLS_CERT: cert,
      CULVERT_TLS_KEY: key,
      CULVERT_HTTP2: 'off',
    });
    await assert.rejects(
      FrameConnection.open(scope, { port: old.port, ca: authority.pem, servername: 'localhost' }),
    );
  });

  it('drains: streams finish, the connection ends, and nothing is left of those that broke', async () => {
    const { cert, key } = authority.issue('*.tunnels.test');
    const draining = await Relay.start(scope, settings(cert, key));
    const service = await startSite(scope);
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    const served = await Culvert.start(scope, draining, draining.bootstrapKey, service.port, [], environment);
    const servedHost = `${served.tunnel.slug}.tunnels.test`;
    const visit = async (): Promise<void> => {
      const connection = await FrameConnection.open(scope, { ...target(servedHost), port: draining.port });
      connection.write(...Array.from({ length: 32 }, (_, index) => get(2 * index + 1, servedHost)));
      while (connection.streams.size === 0) await connection.change();
      connection.socket.destroy();
    };
    for (let round = 0; round < 3; round += 1) await Promise.all(Array.from({ length: 5 }, visit));
    const session = await openHttp2(scope, { ...target(servedHost), port: draining.port });
    const stream = session.request({ ':path': '/held', ':authority': `${servedHost}:${draining.port}` });
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    await within(20_000, 'data', once(stream, 'data'));
    const goaway = once(session, 'goaway');
    // It ends only when each of its connections has ended, and cuts them after 30 s.
    const begin = performance.now();
    draining.child.kill('SIGTERM');
    await within(20_000, 'goaway', goaway);
    const end = once(stream, 'end');
    for (const response of service.held) response.end('rest');
    await within(20_000, 'end', end);
    assert.match(Buffer.concat(chunks).toString(), /rest$/);
    assert.deepEqual(await draining.child.exit(60_000), { code: 0, signal: null });
    assert.ok(performance.now() - begin < 25_000, 'it had to cut connections');
  });

  it('loses no request when another relay takes over: streams in progress finish, and new ones move', async () => {
    const { cert, key } = authority.issue('*.tunnels.test');
    const replaced = await RelayProgram.start(scope, settings(cert, key));
    const service = await startSite(scope);
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    const served = await Culvert.start(scope, replaced, replaced.bootstrapKey, service.port, [], environment);
    const servername = `${served.tunnel.slug}.tunnels.test`;
    const there = { port: replaced.port, ca: authority.pem, servername };
    const first = await openHttp2(scope, there);
    const held = request(first, { ':path': '/held', ':authority': servername });
    await eventually(20_000, () => assert.equal(service.held.length, 1));
    const seen = { isReplaced: false, moves: 0 };
    const asking = (async () => {
      let session = await openHttp2(scope, there);
      for (let count = 0; !seen.isReplaced || seen.moves === 0 || count < 20; count += 1) {
        if (session.closed || session.destroyed) {
          session = await openHttp2(scope, there);
          seen.moves += 1;
        }
        const { status } = await request(session, { ':path': `/${count}`, ':authority': servername });
        assert.equal(status, 200);
      }
    })();
    const before = await replaced.replace();
    seen.isReplaced = true;
    await within(60_000, 'requests', asking);
    for (const response of service.held) response.end('rest');
    assert.match((await held).text, /rest$/);
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
  });
});
