/**
 * The rule of the data plane: a request is refused, or it reaches the local service as exactly one request that every
 * parser reads alike. The independent parser is Node's own.
 */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { duplexPair } from 'node:stream';
import * as fc from 'fast-check';
import type { Field } from '../../../shared/http1/fields.ts';
import { onlyTunnel } from '../../testing/edge-fixture.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import { type Peer, tunnelRequestHead } from '../request-head.ts';
import { type EdgeContext, HostResolver, type ParsedRequest, parseRequest } from '../route.ts';

const tunnel = { slug: 'abc', account: { subdomain: 'acme' }, terms: { wildcard: false } } as LiveTunnel;
const context: EdgeContext = {
  hosts: new HostResolver({ own: 'relay.test', tunnel: 'relay.test', service: 'relay.test' }),
  ...onlyTunnel(tunnel),
  pathForm: true,
  trustedProxies: new BlockList(),
};
const PEER: Peer = { address: '203.0.113.9', proto: 'http', trusted: false };

const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH');
// Bytes from 0x80 up in a target are passed on, and Node refuses them: openly, so nothing is interpreted in two ways.
const target = fc.oneof(
  fc.constantFrom(
    '/',
    '/x?y=z',
    '//x',
    '/../x',
    '/%00',
    '/a;b',
    '*',
    'http://abc.relay.test/x',
    '/t/abc/x',
    '/t/abc',
  ),
  fc
    .array(fc.integer({ min: 0x21, max: 0x7e }), { maxLength: 8 })
    .map((codes) => `/${String.fromCharCode(...codes)}`),
);
const host = fc.constantFrom(
  'Host: abc.relay.test',
  'host:ABC.relay.test.:80',
  'HOST: abc.acme.relay.test',
  'Host: relay.test',
  'Host: abc.relay.test, relay.test',
  'Host : abc.relay.test',
  'Host: \tabc.relay.test \t',
);
const otherField = fc.oneof(
  fc.constantFrom(
    'Content-Length: 3',
    'Content-Length: 0',
    'Content-Length: 03',
    'content-length: 3, 3',
    'Content-Length : 3',
    'Transfer-Encoding: chunked',
    'transfer-encoding: Chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding:\tchunked',
    'Transfer-Encoding: \x0bchunked',
    'Transfer-Encoding: chunked\x00',
    'Connection: close',
    'Connection: x-forwarded-for, content-length',
    'Connection: host, transfer-encoding',
    'Connection: upgrade',
    'Upgrade: websocket',
    'Upgrade: h2c',
    'TE: trailers',
    'Expect: 100-continue',
    'X-Forwarded-For: 1.2.3.4',
    'x-forwarded-prefix: /evil',
    'X-A: b',
    'x-a: c',
    'X-Empty:',
    ' folded',
    'broken',
    'X-High: \x85\xa0\xff',
    'Host: abc.relay.test',
    'X-Lf: a\nContent-Length: 7',
    'X-Cr: a\rContent-Length: 7',
  ),
  fc
    .tuple(fc.constantFrom('a', 'B-c', '_', 'x y', ''), fc.string({ maxLength: 6 }))
    .map((parts) => parts.join(': ')),
);
const body = fc.constantFrom('', 'abc', 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n');

const request = fc.record({
  method,
  target,
  version: fc.constantFrom('1.1', '1.1', '1.1', '1.0', '2.0'),
  host,
  fields: fc.array(otherField, { maxLength: 4 }),
  body,
});

interface Seen {
  readonly line: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

describe('a forwarded request, parsed by Node', () => {
  it('is exactly the request that was accepted, and the next one begins after it', async () => {
    let forwarded = 0;
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const lines = [given.host, ...given.fields].map((line) => `${line}\r\n`).join('');
        const text = `${given.method} ${given.target} HTTP/${given.version}\r\n${lines}\r\n`;
        const plan = parseRequest(Buffer.from(text, 'latin1'), context);
        if (typeof plan === 'string' || plan.route.kind !== 'tunnel') return;
        // After an upgrade request the relay sends nothing before the response, and Node does not report what follows.
        if (plan.upgrade) return;
        forwarded += 1;
        const { target: path, prefix } = plan.route;
        const head = tunnelRequestHead(plan.head, PEER, {
          target: path,
          prefix,
          upgrade: plan.upgrade,
          hidesAuthorization: false,
          visitor: undefined,
        });
        const headText = head.toString('latin1');
        const [content, coded] = bodyFor(plan, given.body);
        const next =
          plan.head.minor === 1 ? 'GET /next HTTP/1.1\r\nHost: next\r\nConnection: close\r\n\r\n' : '';
        const seen = await readByNode(`${headText}${coded}${next}`);
        const { method: verb, minor } = plan.head;
        assert.deepEqual(
          seen.map(({ line }) => line),
          [`${verb} ${path} HTTP/1.${minor}`, ...(next === '' ? [] : ['GET /next HTTP/1.1'])],
        );
        assert.equal(seen[0]?.body, content);
        assertFields(seen[0].fields, plan, prefix);
      }),
      { numRuns: 3000 },
    );
    assert.ok(forwarded > 300, `only ${forwarded} were accepted, so little was shown`);
  });
});

/** A body in the accepted framing: its content, and what is written. */
function bodyFor({ framing }: ParsedRequest, wanted: string): [string, string] {
  switch (framing.kind) {
    case 'length': {
      const content = wanted.padEnd(framing.length, '.').slice(0, framing.length);
      return [content, content];
    }
    case 'chunked': {
      const chunk = wanted === '' ? '' : `${wanted.length.toString(16)}\r\n${wanted}\r\n`;
      return [wanted, `${chunk}0\r\n\r\n`];
    }
    case 'none':
    case 'until-close':
      return ['', ''];
  }
}

/**
 * Every field that is not about the connection arrives unchanged and in order, and only the relay sets its own fields.
 */
function assertFields(fields: Seen['fields'], plan: ParsedRequest, prefix: string): void {
  const named = new Set(
    plan.head.fields.filter(isConnection).flatMap(({ value }) => value.toLowerCase().split(/[, \t]+/)),
  );
  const own = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-prefix'];
  const kept = ['host', 'content-length', 'transfer-encoding'];
  const passes = ({ lower }: Field): boolean =>
    kept.includes(lower) ||
    !(named.has(lower) || own.includes(lower) || lower === 'connection' || lower === 'upgrade');
  assert.deepEqual(
    fields.filter(([name]) => !own.includes(name.toLowerCase()) && !/^(?:connection|upgrade)$/i.test(name)),
    plan.head.fields.filter(passes).map(({ name, value }) => [name, value]),
  );
  const values = (lower: string): string[] =>
    fields.filter(([name]) => name.toLowerCase() === lower).map(([, value]) => value);
  assert.deepEqual(values('x-forwarded-for'), [PEER.address]);
  assert.deepEqual(values('x-forwarded-proto'), ['http']);
  assert.deepEqual(values('x-forwarded-prefix'), prefix === '' ? [] : [prefix]);
}

function isConnection({ lower }: Field): boolean {
  return lower === 'connection';
}

/** What Node's server reads from the bytes; the last request ends the connection. Rejects when it refuses any. */
async function readByNode(bytes: string): Promise<Seen[]> {
  const seen: Promise<Seen>[] = [];
  const [near, far] = duplexPair();
  const refused = new Promise<never>((_, reject) => {
    const server = createServer((message, response) => {
      seen.push(describeRequest(message));
      message.on('end', () => response.end());
    });
    server.on('clientError', (error) =>
      reject(new Error(`Node refused ${JSON.stringify(bytes)}`, { cause: error })),
    );
    server.emit('connection', far);
  });
  const over = new Promise((resolve) => near.on('end', resolve).resume());
  near.write(Buffer.from(bytes, 'latin1'));
  await Promise.race([over, refused]);
  return await Promise.all(seen);
}

async function describeRequest(message: IncomingMessage): Promise<Seen> {
  const parts: Buffer[] = [];
  for await (const part of message) parts.push(part as Buffer);
  const fields: [string, string][] = [];
  for (let index = 0; index < message.rawHeaders.length; index += 2)
    fields.push([message.rawHeaders[index] ?? '', message.rawHeaders[index + 1] ?? '']);
  return {
    line: `${message.method ?? ''} ${message.url ?? ''} HTTP/${message.httpVersion}`,
    fields,
    body: Buffer.concat(parts).toString('latin1'),
  };
}
