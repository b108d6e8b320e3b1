/** `culvert http --compress` (docs/concepts/performance.md). */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliDecompressSync, constants, gunzipSync, zstdDecompressSync } from 'node:zlib';
import send from 'send';
import { createAccount } from '../support/accounts.ts';
import type { Api } from '../support/api.ts';
import { concurrentTests } from '../support/scope.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import {
  type Field,
  formatRequest,
  RawConnection,
  type Request,
  type Response,
  visit,
  WEBSOCKET,
} from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { startHttpService } from '../support/services/listen.ts';

const TEXT = 'Text of the local service, which shrinks. '.repeat(2000);
const DECODE = { br: brotliDecompressSync, zstd: zstdDecompressSync, gzip: gunzipSync } as const;
/** ms within which the visitor gets what the service has written. */
const DELAY_MS = 50;

/** Responds with a text that has every field that compression changes. */
const respond: RequestListener = (_request, response) => {
  response.setHeader('content-type', 'text/html').setHeader('content-length', TEXT.length);
  response.setHeader('etag', '"v1"').setHeader('accept-ranges', 'bytes').setHeader('digest', 'sha-256=x');
  response.end(TEXT);
};

function fieldsOf({ head }: Pick<Response, 'head'>, ...names: string[]): (string | undefined)[] {
  return names.map((name) => head.field(name));
}

describe('compression by the client', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  /** what the service does at each path */
  const listeners = new Map<string, RequestListener>();
  /** the host of a tunnel to it, with compression */
  let host: string;

  before(async () => {
    const { port, server } = await startHttpService(scope, (request, response) => {
      const respondHere = listeners.get(request.url ?? '') ?? assert.fail(request.url);
      respondHere(request, response);
    });
    server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    ({ host } = await start(port));
  });

  const together = concurrentTests();

  /** @returns the target of requests to which the service responds so */
  function serve(listener: RequestListener): string {
    const target = `/${listeners.size}`;
    listeners.set(target, listener);
    return target;
  }

  async function start(port: number, args = ['--compress', 'on'], environment = {}) {
    const { key, api } = await pool.take();
    const culvert = await Culvert.start(scope, relay, key, port, args, environment);
    return { culvert, api, host: hostOf(culvert.tunnel, relay) };
  }

  /** Makes one request on a new connection. */
  function ask(coding: string, request: Partial<Request> = {}): Promise<Response> {
    const headers: Field[] = [['Accept-Encoding', coding], ...(request.headers ?? [])];
    return visit(relay.port, { host, ...request, headers });
  }

  /** A visitor who has the head of a compressed response. */
  async function enter(target: string, coding: string) {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host, target, headers: [['Accept-Encoding', coding]] }));
    const head = await visitor.finalHead();
    assert.equal(head.field('content-encoding'), coding);
    return { visitor, head };
  }

  together('gives each visitor the coding it prefers', async () => {
    const target = serve(respond);
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['*', 'br'],
      ['gzip, zstd', 'zstd'],
      ['br;q=0.1, gzip', 'gzip'],
    ] as const) {
      const response = await ask(accepted, { target });
      assert.equal(response.head.field('content-encoding'), coding);
      assert.equal(DECODE[coding](response.body).toString(), TEXT);
      assert.deepEqual(fieldsOf(response, 'content-length', 'accept-ranges', 'digest', 'etag', 'vary'), [
        undefined,
        undefined,
        undefined,
        'W/"v1"',
        'Accept-Encoding',
      ]);
    }
    const { origin } = new URL(relay.url);
    const fetched = await fetch(`${origin}/t/${host.split('.')[0]}${target}`);
    assert.match(fetched.headers.get('content-encoding') ?? '', /^(?:br|zstd|gzip)$/);
    assert.equal(await fetched.text(), TEXT);
  });

  together('sends other visitors the text, which varies', async () => {
    const target = serve(respond);
    const uncompressed = [undefined, String(TEXT.length), '"v1"', 'bytes', 'sha-256=x', 'Accept-Encoding'];
    const requests: readonly (readonly [string, Partial<Request>])[] = [
      ['identity', {}],
      ['gzip;q=0', {}],
      ['gzip', { version: 'HTTP/1.0' }],
      ['gzip', { method: 'HEAD' }],
    ];
    for (const [accepted, request] of requests) {
      const response = await ask(accepted, { target, ...request });
      assert.equal(response.text, request.method === 'HEAD' ? '' : TEXT);
      assert.deepEqual(
        fieldsOf(response, 'content-encoding', 'content-length', 'etag', 'accept-ranges', 'digest', 'vary'),
        uncompressed,
      );
    }
  });

  together('is off by default with a relay on this machine', async () => {
    const { port } = await startHttpService(scope, respond);
    const response = await ask('gzip', { host: (await start(port, [])).host });
    assert.deepEqual(fieldsOf(response, 'content-encoding', 'vary'), [undefined, undefined]);
  });

  together('follows culvert.yml', async () => {
    const { port } = await startHttpService(scope, respond);
    const { key, api } = await createAccount(relay);
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'culvert.yml'), `tunnels: {web: {port: ${port}, compress: on}}`);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    spawnCulvert(scope, ['start', '--config', join(folder, 'culvert.yml')], environment);
    const response = await eventually(20_000, async () => {
      const [tunnel] = await api.list();
      assert.ok(tunnel);
      const answer = await ask('gzip', { host: hostOf(tunnel, relay) });
      assert.equal(answer.status, 200);
      return answer;
    });
    assert.equal(response.head.field('content-encoding'), 'gzip');
  });

  together('compresses the files of culvert share, but no parts of them', async () => {
    const { key } = await pool.take();
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'a.txt'), TEXT);
    const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const args = ['share', folder, '--json', '--compress', 'on'];
    const child = spawnCulvert(scope, args, environment);
    const { tunnel } = await child.line((line) => JSON.parse(line) as { tunnel: { slug: string } });
    const file = { host: hostOf(tunnel, relay), target: '/a.txt' };
    const whole = await ask('gzip', file);
    assert.equal(gunzipSync(whole.body).toString(), TEXT);
    const tag = whole.head.field('etag') ?? '';
    assert.match(tag, /^W\//);
    const again = await ask('gzip', { ...file, headers: [['If-None-Match', tag]] });
    assert.deepEqual([again.status, again.head.field('etag')], [304, tag]);
    const part = await ask('gzip', { ...file, headers: [['Range', 'bytes=5-9']] });
    assert.deepEqual([part.status, part.text], [206, TEXT.slice(5, 10)]);
    assert.deepEqual(fieldsOf(part, 'content-encoding', 'content-length'), [undefined, '5']);
  });

  together('lets conditional requests match at the service, whatever it compares', async () => {
    const seen: (string | undefined)[][] = [];
    const target = serve((request, response) => {
      const { 'if-none-match': none, 'if-match': match, 'if-range': range } = request.headers;
      seen.push([none, match, range].map((value) => value?.toString()));
      response.setHeader('etag', '"v1"');
      if (none === '"v1"') return void response.writeHead(304).end();
      if (match !== undefined && match !== '"v1"') return void response.writeHead(412).end();
      response.setHeader('content-type', 'text/plain').end(TEXT);
    });
    const tag = (await ask('br', { target })).head.field('etag') ?? '';
    assert.equal(tag, 'W/"v1"');
    const unchanged = await ask('br', { target, headers: [['If-None-Match', tag]] });
    assert.equal(unchanged.status, 304);
    assert.deepEqual(fieldsOf(unchanged, 'etag', 'vary'), [tag, 'Accept-Encoding']);
    const strong = await ask('identity', { target, headers: [['If-None-Match', '"v1"']] });
    assert.deepEqual([strong.status, strong.head.field('etag')], [304, '"v1"']);
    assert.equal(
      (await ask('br', { target, method: 'PUT', body: 'x', headers: [['If-Match', tag]] })).status,
      200,
    );
    assert.equal((await ask('br', { target, headers: [['If-Match', 'W/"v2"']] })).status, 412);
    await ask('br', {
      target,
      headers: [
        ['If-Range', tag],
        ['Range', 'bytes=5-'],
      ],
    });
    assert.deepEqual(seen.at(-1), [undefined, undefined, tag]);
  });

  together('passes what must not be compressed', async () => {
    const png = 'x'.repeat(5000);
    const responses: Readonly<Record<string, readonly [number, string, string?, string?]>> = {
      small: [200, 'text/html', 'content-length', '9'],
      png: [200, 'image/png'],
      encoded: [200, 'text/html', 'content-encoding', 'x-own'],
      kept: [200, 'text/html', 'cache-control', 'no-transform'],
      events: [200, 'text/event-stream'],
      grpc: [200, 'application/grpc+json'],
      missing: [404, 'text/html'],
      part: [206, 'text/html', 'content-range', 'bytes 0-4999/9000'],
    };
    for (const [what, [status, type, name, value = '']] of Object.entries(responses)) {
      const text = png.slice(0, name === 'content-length' ? Number(value) : undefined);
      const target = serve((_request, response) => {
        response.statusCode = status;
        response.setHeader('content-type', type);
        if (name !== undefined) response.setHeader(name, value);
        response.end(text);
      });
      const response = await ask('gzip, br', { target });
      assert.deepEqual([response.status, response.text], [status, text], what);
      const encoding = name === 'content-encoding' ? value : undefined;
      assert.deepEqual(fieldsOf(response, 'content-encoding', 'vary'), [encoding, undefined], what);
    }
  });

  together('keeps informational responses and trailers', async () => {
    const target = serve((_request, response) => {
      response.writeEarlyHints({ link: '</a.css>; rel=preload' });
      response.writeHead(200, { 'content-type': 'text/html', trailer: 'X-Sum' });
      response.write(TEXT);
      response.addTrailers({ 'X-Sum': '42' });
      response.end();
    });
    const visitor = await RawConnection.open(scope, relay.port);
    const headers: Field[] = [
      ['Accept-Encoding', 'br'],
      ['TE', 'trailers'],
    ];
    for (let round = 0; round < 2; round++) {
      await visitor.write(formatRequest({ host, target, headers }));
      const hints = await visitor.head();
      assert.deepEqual([hints.status, hints.field('link')], [103, '</a.css>; rel=preload']);
      const { body, trailers } = await visitor.response();
      assert.equal(brotliDecompressSync(body).toString(), TEXT);
      assert.deepEqual(trailers, [['X-Sum', '42']]);
    }
  });

  together('keeps upgraded connections', async () => {
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host, headers: [['Accept-Encoding', 'gzip'], ...WEBSOCKET] }));
    assert.equal((await visitor.finalHead()).status, 101);
    await visitor.write(TEXT);
    assert.equal((await visitor.reader.exactly(TEXT.length)).toString(), TEXT);
  });

  together('compresses what a service of HTTP/1.0 sends until it closes', async () => {
    const target = serve(({ socket }) =>
      socket.end(`HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nServer: old\r\n\r\n${TEXT}`),
    );
    const visitor = await RawConnection.open(scope, relay.port);
    for (let round = 0; round < 3; round++) {
      const response = await visitor.request({ host, target, headers: [['Accept-Encoding', 'gzip']] });
      assert.equal(gunzipSync(response.body).toString(), TEXT);
    }
  });

  together('delivers what the service has written within 50 ms', async () => {
    const parts = ['one ', 'two ', 'three '];
    const writers: ((part: string) => void)[] = [];
    const target = serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders();
      writers.push((part) => void response.write(part));
    });
    for (const coding of ['br', 'gzip', 'zstd'] as const) {
      const { visitor, head } = await enter(target, coding);
      const body = visitor.body(head);
      let got = Buffer.alloc(0);
      let written = '';
      for (const part of parts) {
        written += part;
        const { ms } = await timed(async () => {
          writers.at(-1)?.(part);
          while (decodedSoFar(coding, got) !== written) {
            const { value } = (await body.next()) as IteratorResult<Buffer, undefined>;
            assert.ok(value, 'the response has ended');
            got = Buffer.concat([got, value]);
          }
        });
        assertWithin(ms, DELAY_MS);
      }
      visitor.socket.destroy();
    }
  });

  for (const [name, breakOff] of [
    ['ends', 'end'],
    ['is reset', 'resetAndDestroy'],
  ] as const) {
    for (const [what, framing] of [
      ['of known length', `Content-Length: ${TEXT.length + 1}\r\n\r\n`],
      ['in chunks', `Transfer-Encoding: chunked\r\n\r\n${TEXT.length.toString(16)}\r\n`],
    ] as const) {
      together(`breaks the visitor's connection within 1 s if a body ${what} ${name} too early`, async () => {
        const target = serve(({ socket }) => {
          socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n${framing}${TEXT}`);
          setTimeout(() => socket[breakOff](), 300);
        });
        const { visitor, head } = await enter(target, 'gzip');
        const { ms } = await timed(() => assert.rejects(visitor.rest(head), /ended/));
        assertWithin(ms, 1300);
      });
    }
  }

  together('ends the local connection within 1 s when the visitor leaves', async () => {
    const closed = Promise.withResolvers<void>();
    const target = serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write(TEXT), 20);
      response.on('close', () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    const { visitor } = await enter(target, 'gzip');
    visitor.reset();
    const { ms } = await timed(() => within(10_000, 'end of the local connection', closed.promise));
    assertWithin(ms, 1000);
  });

  together('delivers a large response that the visitor reads slowly', async () => {
    const lines = Array.from({ length: 200_000 }, (_, line) => `${line} ${(line * 7919) % 99_991}\n`).join(
      '',
    );
    const target = serve((_request, response) => {
      response.setHeader('content-type', 'text/csv').end(lines);
    });
    const visitor = await RawConnection.open(scope, relay.port);
    await visitor.write(formatRequest({ host, target, headers: [['Accept-Encoding', 'br']] }));
    visitor.socket.pause();
    await delay(500);
    visitor.socket.resume();
    assert.equal(brotliDecompressSync((await visitor.response()).body).toString(), lines);
  });

  together(
    'keeps the response in the request log as the service sent it, and counts what travels',
    async () => {
      const runtime = temporaryDirectory(scope);
      const environment = { XDG_RUNTIME_DIR: runtime, TMPDIR: runtime };
      const { port } = await startHttpService(scope, (_request, response) => {
        response.setHeader('content-type', 'text/plain').end(TEXT);
      });
      const own = await start(port, ['--compress', 'on'], environment);
      const { body } = await ask('br', { host: own.host });
      const child = spawnCulvert(scope, ['inspect', 'show', '1', '--json'], environment);
      assert.equal((await child.exit()).code, 0, child.stderr);
      const { response } = JSON.parse(child.lines.join('\n')) as { response: Record<string, unknown> };
      assert.equal(Buffer.from(String(response['body']), 'base64').toString(), TEXT);
      assert.doesNotMatch(JSON.stringify(response['fields']), /encoding: br|Content-Encoding|Vary/i);
      await countsBetween(own.api, own.culvert.tunnel.id, body.length, TEXT.length / 4);
    },
  );

  together('works with what express uses for files', async () => {
    const folder = temporaryDirectory(scope);
    writeFileSync(join(folder, 'a.js'), TEXT);
    const target = serve((request, response) => {
      send(request, '/a.js', { root: folder }).pipe(response);
    });
    const tag = (await ask('br', { target })).head.field('etag') ?? '';
    assert.match(tag, /^W\//);
    assert.equal((await ask('br', { target, headers: [['If-None-Match', tag]] })).status, 304);
  });
});

/** The content of a compressed body that has not ended. */
function decodedSoFar(coding: keyof typeof DECODE, bytes: Buffer): string {
  if (bytes.length === 0) return '';
  if (coding === 'br')
    return brotliDecompressSync(bytes, { finishFlush: constants.BROTLI_OPERATION_FLUSH }).toString();
  if (coding === 'gzip') return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  return zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_continue }).toString();
}

async function countsBetween(api: Api, id: string, least: number, most: number): Promise<void> {
  await eventually(10_000, async () => {
    const tunnel = (await api.list()).find((each) => each.id === id);
    assert.ok(tunnel !== undefined && tunnel.bytes_out >= least && tunnel.bytes_out < most);
  });
}
