import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Authority, type CertificateFiles, replaceFiles } from '../support/certificates.ts';
import { assertAtLimit, eventually, timed, within } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { connectionsOf, workersOf } from '../support/processes.ts';
import { Culvert, newApiKey, Relay, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { formatRequest, RawConnection, type Response } from '../support/raw-http.ts';
import { draining } from '../support/relay-suite.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';
import { readEcho, seenField, startEchoService } from '../support/services/echo.ts';
import { startRawService } from '../support/services/listen.ts';

function nameOn(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject.CN);
}

describe('TLS by the relay itself', () => {
  const scope = suiteScope();
  let authority: Authority;
  /** for tests that neither stop it nor change its certificate */
  let common: Relay;

  before(async () => {
    authority = new Authority(scope);
    ({ relay: common } = await start());
  });

  async function start(): Promise<{ relay: Relay; files: CertificateFiles }> {
    const files = authority.issue();
    return { relay: await Relay.start(scope, settings(files)), files };
  }

  /** Starts a client that knows the authority only from its environment. */
  async function serve(relay: Relay, port: number): Promise<Culvert> {
    const environment = { NODE_EXTRA_CA_CERTS: authority.path };
    return await Culvert.start(scope, relay, relay.bootstrapKey, port, [], environment);
  }

  async function shakeHands(relay: Relay, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({
      port: relay.port,
      host: '127.0.0.1',
      servername: 'localhost',
      ca: authority.pem,
      ...options,
    });
    scope.defer(() => socket.destroy());
    await within(20_000, 'handshake', once(socket, 'secureConnect'));
    return socket;
  }

  async function visitor(relay: Relay, options?: ConnectionOptions): Promise<RawConnection> {
    return RawConnection.over(await shakeHands(relay, options));
  }

  async function get(relay: Relay, host: string, target = '/'): Promise<Response> {
    return await (await visitor(relay)).request({ host, target });
  }

  async function nameOf(relay: Relay): Promise<string> {
    const socket = await shakeHands(relay);
    const name = nameOn(socket);
    socket.destroy();
    return name;
  }

  /** Waits until all processes of a relay have replaced a certificate. @returns the name on the next one */
  async function replaced(relay: Relay, before: string): Promise<string> {
    const workers = workersOf(relay.child.pid);
    const left = new Set(workers.length === 0 ? [relay.child.pid] : workers);
    return await eventually(20_000, async () => {
      // Several at a time, or the same process might accept all.
      const sockets = await Promise.all(Array.from({ length: 10 }, () => shakeHands(relay)));
      const next = sockets.filter((socket) => nameOn(socket) !== before);
      for (const pid of left) {
        const ports = connectionsOf(pid).map(({ peerPort }) => peerPort);
        if (next.some(({ localPort = 0 }) => ports.includes(localPort))) left.delete(pid);
      }
      const [name = before] = next.map(nameOn);
      for (const socket of sockets) socket.destroy();
      assert.equal(left.size, 0);
      return name;
    });
  }

  const together = concurrentTests();

  together('visitors, API, control and data sockets, with culvert', async () => {
    const relay = common;
    assert.equal(relay.url, `https://localhost:${relay.port}`);
    const service = await startEchoService(scope);
    const { tunnel } = await serve(relay, service.port);
    assert.equal(tunnel.public_url, `https://${hostOf(tunnel, relay)}`);
    // More than the client keeps ready, so that both kinds of data sockets are used.
    for (let turn = 0; turn < 12; turn += 1) {
      const seen = readEcho(await get(relay, hostOf(tunnel, relay), `/${turn}`));
      assert.equal(seen.url, `/${turn}`);
      assert.equal(seenField(seen, 'X-Forwarded-Proto'), 'https');
      assert.equal(seenField(seen, 'X-Forwarded-For'), '127.0.0.1');
    }
    const upload = 'x'.repeat(5_000_000);
    const connection = await visitor(relay);
    const answer = await connection.request({ host: hostOf(tunnel, relay), method: 'POST', body: upload });
    assert.equal(readEcho(answer).length, upload.length);
  });

  together('with another WebSocket client', async () => {
    const relay = common;
    const headers = { Authorization: `Bearer ${relay.bootstrapKey}` };
    const api = await visitor(relay);
    const created = await api.request({
      host: `localhost:${relay.port}`,
      method: 'POST',
      target: '/v1/tunnels',
      headers: Object.entries(headers),
      body: '{"local_port":1}',
    });
    const tunnel = JSON.parse(created.text) as Tunnel;
    const base = `wss://localhost:${relay.port}/ws`;
    const control = new WebSocket(`${base}/control?tunnel_id=${tunnel.id}`, { headers, ca: authority.pem });
    scope.defer(() => control.terminate());
    await within(20_000, 'control socket', once(control, 'open'));
    const waiting = await visitor(relay);
    await waiting.write(formatRequest({ host: hostOf(tunnel, relay), target: '/hello' }));
    const [message] = (await within(20_000, 'announcement', once(control, 'message'))) as [Buffer];
    const { id } = JSON.parse(message.toString()) as { id: string };
    const data = new WebSocket(`${base}/data?id=${id}`, { ca: authority.pem });
    scope.defer(() => data.terminate());
    const [bytes] = (await within(20_000, 'request', once(data, 'message'))) as [Buffer];
    assert.match(bytes.toString(), /^GET \/hello HTTP\/1\.1\r\n/);
    data.send(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'));
    assert.equal((await waiting.response()).text, 'hi');
  });

  together('a response that breaks off is a reset, not an end', async () => {
    const relay = common;
    const service = await startRawService(scope, (socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\nhalf of');
        setTimeout(() => socket.resetAndDestroy(), 100);
      });
    });
    const { tunnel } = await serve(relay, service.port);
    await assert.rejects(get(relay, hostOf(tunnel, relay)), /ended by reset/);
  });

  together('TLS 1.2 and 1.3 for HTTP/1.1 and HTTP/2, nothing older and nothing else', async () => {
    const relay = await Relay.start(scope, { ...settings(authority.issue()), CULVERT_HTTP2: 'on' });
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      for (const protocol of ['http/1.1', 'h2']) {
        const socket = await shakeHands(relay, {
          minVersion: version,
          maxVersion: version,
          ALPNProtocols: [protocol],
        });
        assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, protocol]);
      }
    }
    const old: ConnectionOptions = {
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    };
    await assert.rejects(shakeHands(relay, old), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
    await assert.rejects(shakeHands(relay, { ALPNProtocols: ['h3'] }));
  });

  together('plain HTTP on its port is closed immediately, without affecting others', async () => {
    const relay = common;
    const plain = await RawConnection.open(scope, relay.port);
    await plain.write(formatRequest({ host: 'localhost', target: '/healthz' }));
    assert.equal(await within(20_000, 'end', plain.ending), 'end');
    assert.equal((await get(relay, 'localhost', '/healthz')).status, 200);
  });

  together('a handshake that does not complete within 10 s is cut', async () => {
    const relay = common;
    const { ms } = await timed(async () => {
      const silent = await tcp(relay);
      await within(25_000, 'end', once(silent, 'close'));
    });
    assertAtLimit(ms, 10_000);
  });

  together('a visitor that closes its side after its request still gets the response', async () => {
    const relay = common;
    const service = await startEchoService(scope);
    const { tunnel } = await serve(relay, service.port);
    const socket = await shakeHands(relay, { allowHalfOpen: true } as ConnectionOptions);
    socket.end(formatRequest({ host: hostOf(tunnel, relay), target: '/half' }));
    assert.equal(readEcho(await RawConnection.over(socket).response()).url, '/half');
  });

  together(
    'handshakes that ended early do not delay the end of the relay, and others are finished',
    async () => {
      const { relay } = await start();
      const probe = await tcp(relay);
      probe.end();
      await within(20_000, 'end', once(probe.resume(), 'close'));
      await tcp(relay).then((gone) => gone.destroy());
      const socket = await tcp(relay);
      assert.equal((await get(relay, 'localhost', '/healthz')).status, 200);
      relay.child.kill('SIGTERM');
      await draining(() => get(relay, 'localhost', '/readyz'));
      const late = await visitor(relay, { socket });
      const { status, head } = await late.request({ host: 'localhost', target: '/healthz' });
      assert.deepEqual([status, head.field('connection')], [200, 'close']);
      assert.deepEqual(await relay.child.exit(8000), { code: 0, signal: null });
    },
  );

  together(
    'a renewed certificate is used within 5 s, or at SIGHUP if it is whole, and connections continue',
    async () => {
      const { relay, files } = await start();
      const first = await nameOf(relay);
      const kept = await visitor(relay);
      const asksOnce = async (): Promise<void> =>
        assert.equal((await kept.request({ host: 'localhost', target: '/healthz' })).status, 200);
      await asksOnce();
      replaceFiles(files, authority.issue());
      const second = await replaced(relay, first);
      await asksOnce();
      assert.match(relay.child.stderr, /certificate loaded/);

      const next = authority.issue();
      const refused = async (why: RegExp): Promise<void> => {
        relay.child.kill('SIGHUP');
        await eventually(20_000, () => assert.match(relay.child.stderr, why));
        assert.equal(await nameOf(relay), second);
      };
      writeFileSync(files.cert, 'not a certificate');
      await refused(/CULVERT_TLS_CERT must be the path of a PEM file with the certificate/);
      copyFileSync(next.cert, files.cert);
      await refused(/CULVERT_TLS_KEY must be .*it is the key for a different certificate/);
      copyFileSync(next.key, files.key);
      relay.child.kill('SIGHUP');
      await replaced(relay, second);
      await asksOnce();
    },
  );

  async function tcp(relay: Relay): Promise<Socket> {
    const socket = connectTcp(relay.port, '127.0.0.1');
    scope.defer(() => socket.destroy());
    socket.on('error', () => {});
    await within(20_000, 'connection', once(socket, 'connect'));
    return socket;
  }

  together('certificate files that cannot be used end the start with code 2 and one line', async () => {
    const cert = join(temporaryDirectory(scope), 'none.pem');
    const child = spawnRelay(scope, ['serve'], {
      CULVERT_DATA_DIR: temporaryDirectory(scope),
      CULVERT_BOOTSTRAP_KEY: newApiKey(),
      CULVERT_PORT: '0',
      ...settings({ cert, key: authority.issue().key }),
    });
    assert.deepEqual([(await child.exit()).code, child.lines], [2, []]);
    assert.match(child.stderr, /^[^\n]*CULVERT_TLS_CERT must be [^\n]*none\.pem[^\n]*\n$/);
  });
});

function settings({ cert, key }: CertificateFiles): Record<string, string> {
  return { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key };
}
