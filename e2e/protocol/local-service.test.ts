import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createSecureServer } from 'node:https';
import { Authority } from '../support/certificates.ts';
import { concurrentTests } from '../support/scope.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { type Field, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { echo, readEcho, seenField, startEchoService } from '../support/services/echo.ts';
import { closedPort, startHttpService, startRawService } from '../support/services/listen.ts';

/** The options of `culvert http` for its local service. */
describe('the local service', () => {
  const { scope, relay, pool } = sharedRelaySuite();

  const together = concurrentTests();

  async function start(port: number, ...args: string[]): Promise<{ culvert: Culvert; host: string }> {
    const { key } = await pool.take();
    const culvert = await Culvert.start(scope, relay, key, port, args);
    return { culvert, host: hostOf(culvert.tunnel, relay) };
  }

  for (const [mode, expected] of [
    ['keep', undefined],
    ['local', 'localhost:PORT'],
    ['my.test', 'my.test'],
  ] as const) {
    together(`gets the Host of --host-header ${mode}, with every request of a connection`, async () => {
      const { port } = await startEchoService(scope);
      const { host } = await start(port, '--host-header', mode);
      const visitor = await RawConnection.open(scope, relay.port);
      const body = 'GET / HTTP/1.1\r\nHost: within.the.body\r\n\r\n';
      for (const request of [{}, { method: 'POST', body }, { target: '/again' }]) {
        const seen = readEcho(await visitor.request({ host, ...request }));
        assert.equal(seenField(seen, 'host'), expected?.replace('PORT', String(port)) ?? host);
        assert.equal(seenField(seen, 'x-forwarded-host'), host);
      }
      const upgrade: Field[] = [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'websocket'],
      ];
      const refused = readEcho(await visitor.request({ host, headers: upgrade }));
      const next = readEcho(await visitor.request({ host }));
      assert.equal(seenField(next, 'host'), seenField(refused, 'host'));
    });
  }

  for (const upstream of ['http1', 'h2c'] as const) {
    together(`gets the tunnel's own Origin and Referer with --host-header local (${upstream})`, async () => {
      const service =
        upstream === 'http1'
          ? createServer(({ headers }, response) => response.end(JSON.stringify(headers)))
          : createHttp2Server(({ headers }, response) => response.end(JSON.stringify(headers)));
      scope.defer(() => service.close());
      service.listen(0, '127.0.0.1');
      await once(service, 'listening');
      const { port } = service.address() as { port: number };
      for (const mode of ['local', 'keep']) {
        const { host } = await start(port, '--host-header', mode, '--upstream', upstream);
        const local = mode === 'local' ? `http://localhost:${port}` : `http://${host}`;
        for (const [sent, got] of [
          [`http://${host}`, local],
          [`https://${host}`, `https://${host}`],
          ['http://evil.test', 'http://evil.test'],
          [`http://${host}.evil.test`, `http://${host}.evil.test`],
        ] as const) {
          const headers: Field[] = [
            ['Origin', sent],
            ['Referer', `${sent}/a`],
            // Visitors cannot choose what counts as the tunnel's address.
            ['X-Forwarded-Host', 'evil.test'],
          ];
          const { text } = await visit(relay.port, { host, headers });
          const seen = JSON.parse(text) as { origin: string; referer: string };
          assert.deepEqual([seen.origin, seen.referer], [got, `${got}/a`]);
        }
      }
    });
  }

  together('is reported with the relevant setting if it refuses the host name', async () => {
    const { port } = await startHttpService(scope, (_request, response) => {
      response.writeHead(403).end('Blocked request. This host ("x") is not allowed.');
    });
    const { culvert, host } = await start(port);
    const problem = culvert.nextEvent('problem');
    assert.equal((await visit(relay.port, { host })).status, 403);
    assert.match(JSON.stringify(await problem), /host-blocked.*--host-header local.*server\.allowedHosts/);
  });

  together('is reported with the line that was refused if it does not send HTTP', async () => {
    const { port } = await startRawService(scope, (socket) => void socket.write('SSH-2.0-\x1b[31m\r\n'));
    const { culvert, host } = await start(port);
    const problem = culvert.nextEvent('problem');
    const { status, head } = await visit(relay.port, { host });
    assert.deepEqual([status, head.field('culvert-error')], [502, 'local-malformed']);
    const { code, message = '' } = await problem;
    assert.equal(code, 'local-malformed');
    assert.ok(message.endsWith(String.raw`The refused line: SSH-2.0-\x1b[31m`), message);
  });

  together('may speak TLS with a self-signed certificate', async () => {
    const { cert, key } = new Authority(scope).issue();
    const tls = { cert: readFileSync(cert), key: readFileSync(key) };
    const service = createSecureServer(tls, (request, response) => void echo(request, response));
    scope.defer(() => service.close());
    service.listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { host } = await start((service.address() as { port: number }).port, '--local-https');
    const body = 'x'.repeat(100_000);
    const answer = await visit(relay.port, { host, method: 'POST', target: '/tls', body });
    assert.equal(readEcho(answer).url, '/tls');
  });

  together('may restart while visitors wait', async () => {
    const port = await closedPort();
    const { host } = await start(port, '--wait', '20');
    const answer = visit(relay.port, { host, target: '/late' });
    const refused = await Promise.race([answer, delay(1000)]);
    assert.equal(refused, undefined);
    const service = createServer((request, response) => void echo(request, response));
    scope.defer(() => service.close());
    service.listen(port, '127.0.0.1');
    assert.equal(readEcho(await answer).url, '/late');
  });
});
