/** Headers that `culvert` sets and removes (docs/reference/culvert.md). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { concurrentTests } from '../support/scope.ts';
import { Culvert } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { readEcho, seenField, startEchoService } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';

const CHANGES = [
  '--request-header',
  'X-Env: dev',
  '--remove-request-header',
  'Cookie',
  '--response-header',
  'X-Frame-Options: DENY',
  '--response-header',
  'Set-Cookie: a=b',
  '--remove-response-header',
  'Seen-Method',
];

describe('headers that culvert changes', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  const together = concurrentTests();

  async function open(port: number, ...args: string[]) {
    const { key } = await pool.take();
    const { tunnel } = await Culvert.start(scope, relay, key, port, [...CHANGES, ...args]);
    return `${tunnel.slug}.localhost:${relay.port}`;
  }

  together('are those of every request and response over HTTP/1.1', async () => {
    const { port } = await startEchoService(scope);
    const host = await open(port);
    for (const method of ['GET', 'POST', 'GET']) {
      const response = await visit(relay.port, {
        host,
        method,
        headers: [
          ['Cookie', 'secret=1'],
          ['X-Env', 'visitor'],
        ],
        ...(method === 'POST' ? { body: Buffer.from('hello') } : {}),
      });
      const seen = readEcho(response);
      assert.deepEqual(
        [seenField(seen, 'x-env'), seenField(seen, 'cookie'), seenField(seen, 'host')],
        ['dev', undefined, host],
      );
      assert.equal(response.head.field('x-frame-options'), 'DENY');
      assert.equal(response.head.field('seen-method'), undefined);
      assert.match(response.head.field('set-cookie') ?? '', /^a=b/);
    }
  });

  together('are those of an upgrade, whose frames stay as they are', async () => {
    const service = await startHttpService(scope, (_request, response) => void response.end());
    const sockets = new WebSocketServer({ server: service.server });
    const seen: (string | undefined)[] = [];
    sockets.on('headers', (headers) => void headers.push('Seen-Method: GET'));
    sockets.on('connection', (socket, { headers }) => {
      seen.push(String(headers['x-env']), headers.cookie);
      socket.on('message', (data) => socket.send(data));
    });
    const host = await open(service.port);
    const visitor = new WebSocket(`ws://127.0.0.1:${relay.port}/`, { headers: { host, cookie: 'secret=1' } });
    scope.defer(() => visitor.terminate());
    const opened = once(visitor, 'open');
    const upgraded = once(visitor, 'upgrade') as Promise<[{ headers: Record<string, string> }]>;
    const [{ headers }] = await upgraded;
    assert.deepEqual([headers['x-frame-options'], headers['seen-method']], ['DENY', undefined]);
    await opened;
    visitor.send('HTTP/1.1 200 OK\r\nSeen-Method: x\r\n\r\n');
    const [echoed] = (await once(visitor, 'message')) as [Buffer];
    assert.equal(echoed.toString(), 'HTTP/1.1 200 OK\r\nSeen-Method: x\r\n\r\n');
    assert.deepEqual(seen, ['dev', undefined]);
  });

  together('are those of a service that speaks HTTP/2', async () => {
    const server = createHttp2Server((request, response) => {
      response.setHeader('seen-method', request.method);
      response.end(`${String(request.headers['x-env'])} ${String(request.headers.cookie)}`);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.defer(() => void server.close());
    const host = await open((server.address() as AddressInfo).port, '--upstream', 'h2c');
    const response = await visit(relay.port, { host, headers: [['Cookie', 'secret=1']] });
    assert.equal(response.text, 'dev undefined');
    assert.equal(response.head.field('x-frame-options'), 'DENY');
    assert.equal(response.head.field('seen-method'), undefined);
  });

  together('are those of its own error responses, too', async () => {
    const response = await visit(relay.port, { host: await open(1) });
    assert.deepEqual([response.status, response.head.field('x-frame-options')], [502, 'DENY']);
  });
});
