import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import {
  HTTP_PORT_CONNECTIONS_MAX,
  HTTP_PORT_HEAD_MAX_BYTES,
  HTTP_PORT_IDLE_MS,
  HTTP_PORT_REQUEST_MS,
  HTTP_PORT_REQUESTS_MAX,
} from '../limits.ts';
import type { ChallengeRecord } from '../store/records.ts';
import { httpPort } from './certificates.ts';

const TOKEN = 'a-token-of-some-length';

function locationIn(response: string): string | undefined {
  assert.match(response, /^HTTP\/1.1 308 /);
  return /\r\nLocation: (.*)\r\n/.exec(response)?.[1];
}

function field(length: number): string {
  return `X: ${'x'.repeat(length)}\r\n`;
}

describe('the port for plain HTTP', () => {
  let server: Server;
  let port: number | undefined;
  let presented: ChallengeRecord[];

  beforeEach(async () => {
    port = undefined;
    presented = [];
    await open();
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  async function open(): Promise<void> {
    server = httpPort({
      challenges: {
        find: (type, host) =>
          Promise.resolve(presented.filter((one) => one.type === type && one.host === host)),
      },
      leadsHere: (host) => ['relay.test', 'a.tunnels.test'].includes(host),
      port,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  function socket(): Socket {
    return connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  }

  async function ask(target: string, host = 'relay.test', more = ''): Promise<string> {
    const connection = socket();
    connection.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`, 'latin1');
    let text = '';
    for await (const part of connection) text += String(part);
    return text;
  }

  it('redirects to https with path and query', async () => {
    assert.equal(locationIn(await ask('/a/b?c=d&e=%0d%0a')), 'https://relay.test/a/b?c=d&e=%0d%0a');
    assert.equal(locationIn(await ask('/', 'A.tunnels.test:80')), 'https://a.tunnels.test/');
    assert.equal(locationIn(await ask('//evil.test/x')), 'https://relay.test//evil.test/x');
  });

  it('continues when a connection cannot be accepted', async () => {
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    assert.equal(locationIn(await ask('/')), 'https://relay.test/');
  });

  it('redirects to the port of the public address', async () => {
    server.close();
    port = 8443;
    await open();
    assert.equal(locationIn(await ask('/x', 'relay.test:8080')), 'https://relay.test:8443/x');
  });

  it('redirects nowhere else, and repeats no text of the request', async () => {
    for (const host of ['evil.test', '127.0.0.1', 'b.tunnels.test', 'localhost'])
      assert.match(await ask('/', host), /^HTTP\/1.1 404 /, host);
    for (const host of ['', 'relay.test/x', 'a@relay.test', 'relay.test:80:80', 'relay.test%0d', '[::1]'])
      assert.match(await ask('/', host), /^HTTP\/1.1 400 /, host);
    for (const target of ['http://relay.test/', '*'])
      assert.match(await ask(target), /^HTTP\/1.1 400 /, target);
    // Node's parser rejects such bytes.
    for (const target of ['/\u00e4', 'x']) assert.equal(await ask(target), '');
    assert.match(await ask('/', 'relay.test', 'Host: evil.test\r\n'), /^HTTP\/1.1 (?:400|308) /);
  });

  it('answers http-01 challenges for their own host only', async () => {
    const challenge = { token: TOKEN, keyAuthorization: `${TOKEN}.x`, expiresAt: 0 };
    presented = [{ ...challenge, type: 'http-01', host: 'a.tunnels.test' }];
    const path = `/.well-known/acme-challenge/${TOKEN}`;
    assert.match(await ask(path, 'a.tunnels.test'), /^HTTP\/1.1 200 [^]*\r\n\r\na-token-of-some-length\.x$/);
    for (const [target, host] of [
      [path, 'relay.test'],
      [`${path}x`, 'a.tunnels.test'],
    ] as const)
      assert.match(await ask(target, host), /^HTTP\/1.1 308 /);
  });

  it('accepts 1,024 connections', () => assert.equal(server.maxConnections, HTTP_PORT_CONNECTIONS_MAX));

  it('accepts a head of 8 KiB', async () => {
    assert.match(await ask('/', 'relay.test', field(HTTP_PORT_HEAD_MAX_BYTES - 300)), /^HTTP\/1.1 308 /);
    assert.equal(await ask('/', 'relay.test', field(HTTP_PORT_HEAD_MAX_BYTES)), '');
  });

  it('waits 10 s for a request, and 5 s for the next one', () => {
    assert.equal(server.headersTimeout, HTTP_PORT_REQUEST_MS);
    assert.equal(server.requestTimeout, HTTP_PORT_REQUEST_MS);
    assert.equal(server.timeout, HTTP_PORT_REQUEST_MS);
    assert.equal(server.keepAliveTimeout, HTTP_PORT_IDLE_MS);
  });

  it('serves 100 requests per connection', async () => {
    const connection = socket();
    const request = 'GET / HTTP/1.1\r\nHost: relay.test\r\n\r\n';
    // An explicit end, because the port would wait for more requests.
    connection.end(request.repeat(HTTP_PORT_REQUESTS_MAX + 5));
    let text = '';
    for await (const part of connection) text += String(part);
    assert.equal(text.match(/HTTP\/1.1 308 /g)?.length, HTTP_PORT_REQUESTS_MAX);
  });

  it('rejects bodies', async () => {
    const text = await ask('/', 'relay.test', 'Content-Length: 5\r\n');
    assert.match(text, /^HTTP\/1.1 308 [^]*\r\nConnection: close\r\n/);
  });
});
