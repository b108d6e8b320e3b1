import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, connect as connectTcp, type AddressInfo, type Socket } from 'node:net';
import { connect, type ConnectionOptions, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, onlyAccount, type TestAccount } from '../support/accounts.ts';
import { assertError } from '../support/api.ts';
import { Authority } from '../support/certificates.ts';
import { assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay, RelayProgram, standIn } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { SpecClient } from '../support/spec-client/client.ts';
import { closedPort, startRawService } from '../support/services/listen.ts';

const PORTS = 60;
const TAKEN =
  'no such port is free: remote_port is in use or outside the range of this relay, or every port of the range is in use';

/** Ports that the system gives to nobody by itself; those that other programs use nevertheless are passed over. */
async function portRange(): Promise<{ readonly first: number; readonly text: string }> {
  const first = 16_000 + ((await closedPort()) % 14_000);
  return { first, text: `${first}-${first + PORTS - 1}` };
}

function portOf({ public_url }: Pick<Tunnel, 'public_url'>): number {
  return Number(/^tcp:\/\/localhost:(\d+)$/.exec(public_url)?.[1]);
}

/** A visitor's TCP connection. */
async function knockAt(scope: Scope, tunnel: Tunnel, localAddress?: string): Promise<RawConnection> {
  return await RawConnection.open(scope, portOf(tunnel), undefined, localAddress);
}

/** Everything that a visitor receives, up to the end of its connection. */
async function everything(visitor: RawConnection): Promise<string> {
  const parts: Buffer[] = [];
  for (let part = await visitor.reader.some(); part !== undefined; part = await visitor.reader.some())
    parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('TCP tunnels', () => {
  const range = portRange();
  const scope = suiteScope();
  let relay: Relay;
  let account: TestAccount;

  before(async () => {
    const { text } = await range;
    relay = await Relay.start(scope, { CULVERT_TCP_PORTS: text, CULVERT_ADDRESS_CONNECTIONS: '3' });
  });

  beforeEach(async () => {
    account = await createAccount(relay, { plan: 'team' });
  });

  const serve = (request: object = {}): Promise<ManualClient> =>
    ManualClient.start(scope, relay, onlyAccount(account), { protocol: 'tcp', ...request });

  const send = (json: object, { api } = account) =>
    api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...json } });

  /** A port that no tunnel of the tests before has, nor another program. */
  async function freePort(): Promise<number> {
    const tunnel = (await send({ protocol: 'tcp' })).json as Tunnel;
    await account.api.close(tunnel.id);
    return portOf(tunnel);
  }

  it('carry any protocol for a client that knows only the specification, also if the service speaks first', async () => {
    const service = await startRawService(scope, (socket) => {
      socket.write('220 hello\n');
      socket.pipe(socket);
    });
    const client = await SpecClient.start(scope, relay, account.key, {
      local_port: service.port,
      protocol: 'tcp',
    });
    const { first } = await range;
    const port = portOf(client.tunnel);
    assert.ok(port >= first && port < first + PORTS);
    assert.deepEqual([client.tunnel.protocol, client.tunnel.urls], ['tcp', {}]);
    const visitor = await knockAt(scope, client.tunnel);
    assert.equal(String(await visitor.reader.through('\n')), '220 hello\n');
    await visitor.write('QUIT\n');
    assert.equal(String(await visitor.reader.through('\n')), 'QUIT\n');
    visitor.halfClose();
    await eventually(20_000, async () => {
      const { requests, bytes_in, bytes_out } = await account.api.get(client.tunnel.id);
      assert.deepEqual([requests, bytes_in, bytes_out], [1, 5, 15]);
    });
    await client.stop();
    await visitor.ending;
  });

  it('announce where the visitor comes from and has connected to', async () => {
    const client = await serve();
    const visitor = await knockAt(scope, client.tunnel);
    await client.accept();
    const { localPort } = visitor.socket;
    const [message] = client.control.messages as unknown as readonly Record<string, unknown>[];
    assert.equal(message?.['peers'], `127.0.0.1:${localPort} 127.0.0.1:${portOf(client.tunnel)}`);
  });

  it('give a visitor that has sent everything the rest of what the service sends', async () => {
    const client = await serve();
    const visitor = await knockAt(scope, client.tunnel);
    await visitor.write('request');
    visitor.halfClose();
    const data = await client.accept();
    await data.receivedUpTo('request');
    data.send('late ');
    assert.equal(String(await visitor.reader.exactly(5)), 'late ');
    data.send('answer');
    data.socket.close(1000);
    assert.equal(await everything(visitor), 'answer');
    assert.equal(await visitor.ending, 'end');
  });

  it('pass half-closes on in both directions over the data socket of a client that asks for that', async () => {
    const client = await serve();
    const early = await knockAt(scope, client.tunnel);
    const first = await client.accept('&ends=1');
    await early.write('request');
    early.halfClose();
    await eventually(20_000, () =>
      assert.deepEqual([String(first.received), first.hasEnded], ['request', true]),
    );
    first.send('answer');
    first.socket.close(1000);
    assert.equal(await everything(early), 'answer');
    const socket = connectTcp({ port: portOf(client.tunnel), host: '127.0.0.1', allowHalfOpen: true });
    scope.defer(() => socket.destroy());
    const late = RawConnection.over(socket);
    const second = await client.accept('&ends=1');
    second.send('bye');
    second.send('');
    assert.equal(await everything(late), 'bye');
    await late.write('more');
    await second.receivedUpTo('more');
    assert.equal(second.hasEnded, false);
    late.halfClose();
    assert.equal((await within(20_000, 'close', second.socket.closed)).code, 1000);
    assert.equal(second.hasEnded, true);
  });

  it('break for the visitor if they break for the client, and the reverse', async () => {
    const client = await serve();
    const broken = await knockAt(scope, client.tunnel);
    const first = await client.accept();
    const left = await knockAt(scope, client.tunnel);
    const second = await client.accept();
    first.socket.drop();
    second.send('x');
    await left.reader.exactly(1);
    left.reset();
    assert.equal(await within(20_000, 'reset', broken.ending), 'reset');
    assert.equal((await within(20_000, 'close', second.socket.closed)).code, 1001);
  });

  it('wait for a client that comes back, and close after 10 s without one', async () => {
    const client = await serve();
    client.control.socket.drop();
    await eventually(20_000, async () =>
      assert.equal((await account.api.get(client.tunnel.id)).online, false),
    );
    const waiting = await knockAt(scope, client.tunnel);
    await waiting.write('early');
    await client.reconnect();
    const data = await client.accept();
    await data.receivedUpTo('early');
    client.control.socket.drop();
    await eventually(20_000, async () =>
      assert.equal((await account.api.get(client.tunnel.id)).online, false),
    );
    const late = await knockAt(scope, client.tunnel);
    const { ms } = await timed(() => within(30_000, 'end', late.ending));
    assert.equal(await late.ending, 'end');
    assertWithin(ms, 10_000);
  }).timeout(120_000);

  it('do not keep more of a fast service in memory than of any other', async () => {
    const client = await serve();
    const visitor = await knockAt(scope, client.tunnel);
    visitor.socket.pause();
    const data = await client.accept();
    const piece = Buffer.alloc(64 * 1024, 'x');
    let sent = 0;
    while (sent < 256 * 1024 * 1024 && data.socket.unsent < 8 * piece.length) {
      data.send(piece);
      sent += piece.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(data.socket.unsent > 0, `the relay took ${sent} bytes`);
    visitor.socket.resume();
    data.socket.close(1000);
    assert.equal((await everything(visitor)).length, sent);
  }).timeout(120_000);

  it('admit visitors by their addresses alone, and cut them within 1 s when they may not stay', async () => {
    const client = await serve({ access: { allow: ['127.0.0.0/31'] } });
    const barred = await knockAt(scope, client.tunnel, '127.0.0.9');
    assert.equal(await within(20_000, 'end', barred.ending), 'end');
    const allowed = await knockAt(scope, client.tunnel);
    const data = await client.accept();
    const path = `/v1/tunnels/${client.tunnel.id}/access`;
    assertError(
      await account.api.send('PUT', path, { json: { password: 'secret' } }),
      400,
      'access.password is not available for tunnels with the protocol tcp',
    );
    assert.equal((await account.api.send('PUT', path, { json: { allow: ['192.0.2.1'] } })).status, 200);
    const { ms } = await timed(() => within(20_000, 'cut', allowed.ending));
    assertWithin(ms, 1000);
    await within(20_000, 'close', data.socket.closed);
  });

  it('are cut within 1 s when they are suspended', async () => {
    const client = await serve();
    const visitor = await knockAt(scope, client.tunnel);
    await client.accept();
    await administer(relay, 'tunnel', 'suspend', client.tunnel.slug, '--reason', 'mail');
    const { ms } = await timed(() => within(20_000, 'cut', visitor.ending));
    assertWithin(ms, 1000);
    const next = await knockAt(scope, client.tunnel);
    assert.equal(await within(20_000, 'end', next.ending), 'end');
  });

  it('survive a scanner, and limit what an address has open', async () => {
    const client = await serve();
    for (let count = 0; count < 30; count += 1) (await knockAt(scope, client.tunnel, '127.0.0.8')).reset();
    const visitors = await Promise.all([1, 2, 3].map(() => knockAt(scope, client.tunnel, '127.0.0.7')));
    // The system has connected them, but perhaps not all of them have reached the relay yet.
    await eventually(20_000, () => {
      const messages = client.control.messages as unknown as readonly Record<string, unknown>[];
      const announced = messages.filter(({ peers }) => String(peers).startsWith('127.0.0.7:'));
      assert.equal(announced.length, visitors.length);
    });
    await eventually(20_000, async () => {
      const { requests } = await account.api.get(client.tunnel.id);
      assert.ok(requests >= 0);
      const excess = await knockAt(scope, client.tunnel, '127.0.0.7');
      assert.equal(await within(2000, 'end', excess.ending), 'end');
    });
    for (const { socket } of visitors) assert.equal(socket.destroyed, false);
    const other = await knockAt(scope, client.tunnel);
    await other.write('hello');
    await eventually(20_000, async () => {
      const data = await client.accept();
      assert.equal(await data.receivedUpTo('hello', 200), 'hello');
    });
  });

  it('are no tunnels for HTTP', async () => {
    const { tunnel } = await serve();
    for (const request of [
      { host: `${tunnel.slug}.localhost:${relay.port}` },
      { host: `localhost:${relay.port}`, target: `/t/${tunnel.slug}/` },
    ]) {
      const { status, head } = await visit(relay.port, request);
      assert.deepEqual([status, head.field('culvert-error')], [404, 'tunnel-unknown']);
    }
  });

  it('have only what can be had without reading', async () => {
    for (const [json, field] of [
      [{ access: { links: true } }, 'access.links'],
      [{ access: { basic: [{ user: 'a', password: 'secret' }] } }, 'access.basic'],
      [{ wildcard: true }, 'wildcard'],
      [{ domain: 'a.example.com' }, 'domain'],
    ] as const)
      assertError(
        await send({ protocol: 'tcp', ...json }),
        400,
        `${field} is not available for tunnels with the protocol tcp`,
      );
    assertError(await send({ protocol: 'udp' }), 400, 'invalid request body');
    assertError(
      await send({ protocol: 'tcp', remote_port: '22' }),
      400,
      'remote_port must be a whole number',
    );
    assertError(
      await send({ protocol: 'tls' }),
      409,
      'this relay does not offer tunnels with the protocol tls',
    );
  });

  it('are limited by the plan', async () => {
    const [free, dev] = await Promise.all([
      createAccount(relay, { plan: 'free' }),
      createAccount(relay, { plan: 'dev' }),
    ]);
    assertError(
      await send({ protocol: 'tcp' }, free),
      403,
      'the Free plan allows 0 TCP tunnels at a time; ask the operator for a higher plan',
    );
    for (let count = 0; count < 2; count += 1)
      assert.equal((await send({ protocol: 'tcp' }, dev)).status, 201);
    const { status, json } = await send({ protocol: 'tcp' }, dev);
    assert.equal(status, 403);
    assert.match(
      (json as { error: string }).error,
      /^the Dev plan allows 2 TCP tunnels at a time; close one/,
    );
  });

  describe('the port', () => {
    it('is the requested one, for one tunnel at a time', async () => {
      const wanted = { protocol: 'tcp', remote_port: await freePort() };
      const accounts = await Promise.all(Array.from({ length: 20 }, () => createAccount(relay)));
      const answers = await Promise.all(accounts.map((each) => send(wanted, each)));
      const statuses = answers.map(({ status }) => status);
      assert.deepEqual(
        statuses.toSorted((one, other) => one - other),
        [201, ...Array<number>(19).fill(409)],
      );
      const won = answers.find(({ status }) => status === 201)?.json as Tunnel;
      assert.equal(portOf(won), wanted.remote_port);
      for (const { status, json } of answers)
        if (status === 409) assert.equal((json as { code: string }).code, 'port-taken');
    });

    it('is neither outside the range nor used by another program', async () => {
      const { first } = await range;
      for (const remote_port of [first - 1, first + PORTS, 70_000])
        assertError(await send({ protocol: 'tcp', remote_port }), 409, TAKEN);
      const remote_port = await freePort();
      const server = createServer().listen(remote_port, '127.0.0.1');
      scope.defer(() => void server.close());
      await once(server, 'listening');
      assertError(await send({ protocol: 'tcp', remote_port }), 409, TAKEN);
    });

    it('stays with the tunnel when the relay restarts, and with its name afterwards', async () => {
      const service = await startRawService(scope, (socket) => socket.write('banner\n'));
      const named = { local_port: service.port, protocol: 'tcp', name: `db-${account.id.slice(0, 8)}` };
      const client = await SpecClient.start(scope, relay, account.key, named);
      const port = portOf(client.tunnel);
      await relay.stop('SIGKILL');
      await relay.restart();
      await eventually(30_000, async () => {
        const visitor = await knockAt(scope, client.tunnel);
        assert.equal(String(await visitor.reader.through('\n')), 'banner\n');
      });
      await client.stop();
      await assert.rejects(knockAt(scope, client.tunnel), { code: 'ECONNREFUSED' });
      const other = await createAccount(relay);
      assertError(await send({ protocol: 'tcp', remote_port: port }, other), 409, TAKEN);
      const again = (await send(named)).json as Tunnel;
      assert.equal(portOf(again), port);
    }).timeout(120_000);

    it('and the protocol stay when a tunnel is taken over', async () => {
      const name = `own-${account.id.slice(0, 8)}`;
      const { tunnel } = await serve({ name });
      const over = { name, take_over: true };
      for (const json of [over, { ...over, protocol: 'tls' }, { ...over, protocol: 'tcp', remote_port: 1 }])
        assert.deepEqual([(await send(json)).status], [409]);
      const taken = await send({ ...over, protocol: 'tcp' });
      assert.deepEqual([taken.status, portOf(taken.json as Tunnel)], [200, portOf(tunnel)]);
    });
  });
});

describe('TCP tunnels of a relay that is replaced', () => {
  const scope = suiteScope();

  it('refuse no visitor', async () => {
    const relay = await RelayProgram.start(scope, { CULVERT_TCP_PORTS: (await portRange()).text });
    const service = await startRawService(scope, (socket) => socket.end('banner\n'));
    const { tunnel } = await SpecClient.start(scope, relay, relay.bootstrapKey, {
      local_port: service.port,
      protocol: 'tcp',
    });
    const replaced = new AbortController();
    const outcomes = new Map<string, number>();
    const visiting = (async () => {
      while (!replaced.signal.aborted) {
        const outcome = await knockAt(scope, tunnel).then(everything).catch(String);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    })();
    const before = await relay.replace();
    assert.deepEqual(await before.exit(60_000), { code: 0, signal: null });
    replaced.abort();
    await visiting;
    assert.deepEqual([...outcomes.keys()], ['banner\n'], JSON.stringify([...outcomes]));
  }).timeout(200_000);
});

describe('TCP tunnels behind a load balancer', () => {
  const scope = suiteScope();

  it('have the visitors that its PROXY header names, and no header of anybody else', async () => {
    const balancer = '127.0.0.5';
    const relay = await RelayProgram.start(scope, {
      CULVERT_TCP_PORTS: (await portRange()).text,
      CULVERT_PROXY_PROTOCOL: 'on',
      CULVERT_TRUST_PROXY: balancer,
      CULVERT_ACCESS_LOG: 'stderr',
    });
    const account = onlyAccount(await createAccount(relay, { plan: 'team' }));
    const request = { protocol: 'tcp', access: { allow: ['203.0.113.7'] } };
    const client = await ManualClient.start(scope, relay, account, request);
    const header = 'PROXY TCP4 203.0.113.7 192.0.2.1 51234 10022\r\n';
    const forger = await knockAt(scope, client.tunnel);
    await forger.write(header);
    assert.equal(await within(20_000, 'end', forger.ending), 'end');
    const visitor = await knockAt(scope, client.tunnel, balancer);
    await visitor.write(`${header}hello`);
    const data = await client.accept();
    await data.receivedUpTo('hello');
    assert.equal(String(data.received), 'hello');
    const [message] = client.control.messages as unknown as readonly Record<string, unknown>[];
    assert.equal(message?.['peers'], '203.0.113.7:51234 192.0.2.1:10022');
    data.socket.close(1000);
    visitor.halfClose();
    assert.equal(await within(20_000, 'end', visitor.ending), 'end');
    const [, line = ''] = await relay.child.printed(/^(.*"address":"203\.0\.113\.7".*)$/m);
    const { protocol, outcome, bytes_in } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual([protocol, outcome, bytes_in], ['tcp', 'answered', 5]);
  });
});

describe('a relay without TCP ports', () => {
  const { relay } = relaySuite();

  it('offers no TCP tunnels', async () => {
    const { api } = await createAccount(relay);
    const json = { local_port: 9, protocol: 'tcp' };
    const answer = await api.send('POST', '/v1/tunnels', { json });
    assertError(answer, 409, 'this relay does not offer tunnels with the protocol tcp');
    assert.equal((answer.json as { code: string }).code, 'protocol-unavailable');
  });
});

describe('TLS tunnels', () => {
  const scope = suiteScope();
  let authority: Authority;
  let relay: Relay;
  /** the relay for clients that know no TLS */
  let plain: Relay;
  let service: { readonly port: number; readonly seen: TLSSocket[] };
  let host: string;
  let tunnel: Tunnel;

  before(async () => {
    authority = new Authority(scope);
    const { cert, key } = authority.issue();
    relay = await Relay.start(scope, { CULVERT_TLS_CERT: cert, CULVERT_TLS_KEY: key });
    plain = await withoutTls(relay);
    host = 'own.localhost';
    service = await tlsService();
    ({ tunnel } = await SpecClient.start(scope, plain, relay.bootstrapKey, {
      local_port: service.port,
      protocol: 'tls',
      name: 'own',
    }));
  });

  /** A program that speaks TLS to the relay for others. */
  async function withoutTls(to: Relay): Promise<Relay> {
    const open = new Set<Socket>();
    const server = createServer((socket) => {
      const secure = connect({
        port: to.port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.pem,
      });
      for (const end of [socket, secure]) {
        open.add(end);
        end.on('error', () => end.destroy());
        end.on('close', () => [socket, secure].forEach((each) => each.destroy()));
      }
      socket.pipe(secure).pipe(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.defer(() => {
      server.close();
      for (const end of open) end.destroy();
    });
    const { port } = server.address() as AddressInfo;
    return standIn(() => to, { port });
  }

  /** Has a certificate that the relay does not know, and wants one of its visitors. */
  async function tlsService(): Promise<typeof service> {
    const { cert, key } = authority.issue('own.localhost');
    const seen: TLSSocket[] = [];
    const server = createTlsServer({
      cert: readFileSync(cert),
      key: readFileSync(key),
      ca: authority.pem,
      requestCert: true,
      rejectUnauthorized: false,
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    server.on('secureConnection', (socket) => {
      seen.push(socket);
      socket.on('error', () => socket.destroy());
      socket.pipe(socket);
    });
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.defer(() => {
      server.close();
      for (const socket of seen) socket.destroy();
    });
    return { port: (server.address() as AddressInfo).port, seen };
  }

  async function shake(options: ConnectionOptions): Promise<TLSSocket> {
    const socket = connect({ port: relay.port, host: '127.0.0.1', ca: authority.pem, ...options });
    scope.defer(() => socket.destroy());
    await within(20_000, 'handshake', once(socket, 'secureConnect'));
    return socket;
  }

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
    it(`carry ${version} from visitor to service, with ALPN, client certificates and resumption`, async () => {
      assert.equal(tunnel.public_url, `tls://own.localhost:${relay.port}`);
      const { cert, key } = authority.issue();
      const options = {
        servername: host,
        ALPNProtocols: ['h2'],
        minVersion: version,
        maxVersion: version,
        cert: readFileSync(cert),
        key: readFileSync(key),
      } as const;
      const visitor = connect({ port: relay.port, host: '127.0.0.1', ca: authority.pem, ...options });
      scope.defer(() => visitor.destroy());
      const session = once(visitor, 'session');
      await within(20_000, 'handshake', once(visitor, 'secureConnect'));
      assert.deepEqual([visitor.authorized, visitor.alpnProtocol], [true, 'h2']);
      assert.ok(visitor.getPeerCertificate().subjectaltname?.includes('own.localhost'));
      visitor.write('echo');
      const [echo] = (await within(20_000, 'echo', once(visitor, 'data'))) as [Buffer];
      assert.equal(String(echo), 'echo');
      await eventually(20_000, () => assert.equal(service.seen.at(-1)?.authorized, true));
      const [ticket] = (await within(20_000, 'session', session)) as [Buffer];
      const again = await shake({ ...options, session: ticket });
      assert.equal(again.isSessionReused(), true);
    });

  it("leave other hosts to the relay, and other programs' hosts to its own certificate", async () => {
    for (const servername of ['localhost', 'other.localhost', 'x.own.localhost', 'xn--own.localhost']) {
      const socket = await shake({ servername, rejectUnauthorized: false });
      assert.notEqual(subjectOf(socket), 'number 2', servername);
      socket.write(`GET / HTTP/1.1\r\nHost: ${host}:${relay.port}\r\n\r\n`);
      const [answer] = (await within(20_000, 'answer', once(socket, 'data'))) as [Buffer];
      assert.match(String(answer), /^HTTP\/1\.1 404 [\s\S]*Culvert-Error: tunnel-unknown/);
    }
  });

  it('take a first message of 64 KiB that arrives byte by byte, unread', async () => {
    const account = await createAccount(plain);
    const request = { protocol: 'tls', name: 'long' };
    const client = await ManualClient.start(scope, plain, onlyAccount(account), request);
    const hello = await longHello('long.localhost', 64 * 1024);
    const socket = connectTcp({ port: relay.port, host: '127.0.0.1', noDelay: true });
    scope.defer(() => socket.destroy());
    await once(socket, 'connect');
    for (const byte of hello) if (!socket.write(Buffer.of(byte))) await once(socket, 'drain');
    const data = await client.accept();
    await eventually(20_000, () => assert.equal(data.received.length, hello.length));
    assert.ok(data.received.equals(hello));
  }).timeout(120_000);

  it('refuse with an alert', async () => {
    const { api } = await createAccount(plain);
    await api.create({ local_port: 9, protocol: 'tls', name: 'shut', access: { allow: ['192.0.2.1'] } });
    await assert.rejects(shake({ servername: 'shut.localhost' }), /alert access denied/);
  });
});

function subjectOf(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject.CN);
}

/** A first message of TLS 1.3 with so many bytes, in records of one size. */
async function longHello(servername: string, length: number): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const visitor = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername });
  visitor.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [sent] = (await once(socket, 'data')) as [Buffer];
  visitor.destroy();
  server.close();
  const message = sent.subarray(5);
  const padding = Buffer.alloc(length - message.length);
  padding.writeUInt16BE(21);
  padding.writeUInt16BE(padding.length - 4, 2);
  const whole = Buffer.concat([message, padding]);
  whole.writeUIntBE(whole.length - 4, 1, 3);
  // Version and random bytes, session, ciphers and compression precede the extensions.
  let at = 4 + 2 + 32;
  at += 1 + whole.readUInt8(at);
  at += 2 + whole.readUInt16BE(at);
  at += 1 + whole.readUInt8(at);
  whole.writeUInt16BE(whole.readUInt16BE(at) + padding.length, at);
  const records: Buffer[] = [];
  for (let from = 0; from < whole.length; from += 16_384) {
    const part = whole.subarray(from, from + 16_384);
    records.push(Buffer.of(22, 3, 1, part.length >> 8, part.length & 0xff), part);
  }
  return Buffer.concat(records);
}
