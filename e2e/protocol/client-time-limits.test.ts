import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { AccountPool } from '../support/accounts.ts';
import { connectionEnds } from '../support/cluster.ts';
import { assertAtLimit, assertWithin, eventually, timed, within } from '../support/deadline.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { trunksOf, WITH_METRICS } from '../support/memory.ts';
import { Culvert, newApiKey, Relay, spawnCulvert } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { concurrentTests, type Scope, suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';

/** The port on which a server of the test listens. */
async function listen(scope: Scope, server: ReturnType<typeof createTcpServer>): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  scope.defer(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

/** @returns the ms since the first event: the time to start a program is not tested */
function msSince(server: ReturnType<typeof createTcpServer>, event: string): () => number {
  let first = NaN;
  server.once(event, () => (first = performance.now()));
  return () => performance.now() - first;
}

/** A relay that can create a tunnel, and leaves upgrades to the test. */
async function startScriptedRelay(
  scope: Scope,
  onUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void,
): Promise<{ relay: string; ms: () => number }> {
  const server = createServer((_request, response) => {
    const url = 'http://sloth.localhost';
    response.writeHead(201, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        id: '0b5c2f6e-6a55-4f6b-9f0e-2d1f8c0f3f11',
        slug: 'sloth',
        client_id: '0b5c2f6e-6a55-4f6b-9f0e-2d1f8c0f3f12',
        local_port: 1,
        name: '',
        ttl: '1h0m0s',
        mode: 'relay',
        created_at: '2026-01-01T00:00:00.000Z',
        expires_at: '2026-01-01T01:00:00.000Z',
        idle_ttl: false,
        bytes_in: 0,
        bytes_out: 0,
        requests: 0,
        public_url: url,
        urls: { subdomain: url, path: url },
      }),
    );
  });
  const ms = msSince(server, 'upgrade');
  server.on('upgrade', onUpgrade);
  return { relay: `http://127.0.0.1:${await listen(scope, server)}`, ms };
}

/** How `culvert` behaves while a relay or a network delays it, with a real clock. */
describe('time limits of culvert', function () {
  const scope = suiteScope();
  const together = concurrentTests();

  /** Starts `culvert http` and waits for an event. */
  async function eventOf(
    relay: string,
    name: string,
  ): Promise<{ event: string; why?: string; code?: string }> {
    const child = spawnCulvert(scope, ['http', '1', '--json'], {
      CULVERT_RELAY: relay,
      CULVERT_API_KEY: newApiKey(),
    });
    return await child.line((line) => {
      const event = JSON.parse(line) as { event: string };
      return event.event === name ? event : undefined;
    }, 30_000);
  }

  together('give up an API call that gets no response after 10 s', async () => {
    const server = createTcpServer();
    const ms = msSince(server, 'connection');
    const port = await listen(scope, server);
    const environment = { CULVERT_RELAY: `http://127.0.0.1:${port}`, CULVERT_API_KEY: newApiKey() };
    const child = spawnCulvert(scope, ['list'], environment);
    assert.equal((await child.exit()).code, 1);
    assertAtLimit(ms(), 10_000);
    assert.match(child.stderr, /cannot be reached/);
  });

  together('give up a control handshake that gets no response after 10 s, and retry', async () => {
    const { relay, ms } = await startScriptedRelay(scope, () => {});
    await eventOf(relay, 'reconnecting');
    assertAtLimit(ms(), 10_000);
  });

  together('give up a data handshake that gets no response after 10 s', async () => {
    const sockets = new WebSocketServer({ noServer: true });
    const { relay, ms } = await startScriptedRelay(scope, (request, socket, head) => {
      if (request.url?.startsWith('/ws/control') !== true) return;
      sockets.handleUpgrade(request, socket, head, (control: WebSocket) =>
        control.send('{"type":"connection","id":"0b5c2f6e-6a55-4f6b-9f0e-2d1f8c0f3f13"}'),
      );
    });
    const { code } = await eventOf(relay, 'problem');
    assertAtLimit(ms(), 10_000);
    assert.equal(code, 'data-failed');
  });

  together('give up a local port that accepts no connection after 5 s, and tell the visitor', async () => {
    const relay = await sharedRelay();
    const { key } = await new AccountPool(relay).take();
    const { tunnel } = await Culvert.start(scope, relay, key, await startFullPort());
    const { value, ms } = await timed(() => visit(relay.port, { host: hostOf(tunnel, relay) }));
    assert.deepEqual([value.status, value.head.field('culvert-error')], [502, 'local-refused']);
    assertAtLimit(ms, 5000);
  });

  /** A port whose program hangs and whose accept queue is full: new connections stay half open. */
  async function startFullPort(): Promise<number> {
    const hang = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
    const code = `const server = require('net').createServer();
      server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
        process.stdout.write(String(server.address().port), () => ${hang});
      });`;
    const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    scope.defer(() => void child.kill('SIGKILL'));
    const [port] = ((await once(child.stdout, 'data')) as [Buffer]).map(Number);
    for (let count = 0; count < 2; count += 1) {
      const socket = connect(port ?? 0, '127.0.0.1').on('error', () => {});
      scope.defer(() => socket.destroy());
      await within(20_000, 'connection', once(socket, 'connect'));
    }
    return port ?? 0;
  }
});

/** A stopped program, or one whose machine hangs: its connections stay open, and nothing arrives on them. */
describe('a client that freezes', function () {
  const scope = suiteScope();
  const together = concurrentTests();

  /** Freezes a client while visitors have requests in progress on data sockets, or on this many trunks. */
  async function freeze(trunks: number) {
    const relay = await Relay.start(scope, { ...WITH_METRICS, CULVERT_TRUNKS: String(trunks) });
    const account = await new AccountPool(relay).take();
    const service = await startRawService(scope, (socket) => {
      socket.on('data', (bytes: Buffer) => {
        const isLong = bytes.includes('GET /long');
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${isLong ? 100 : 2}\r\n\r\nok`);
      });
    });
    const culvert = await Culvert.start(scope, relay, account.key, service.port);
    await trunksOf(relay, trunks);
    const host = hostOf(culvert.tunnel, relay);
    const [kept, long, warm, posts] = await Promise.all(
      Array.from({ length: 4 }, () => RawConnection.open(scope, relay.port, 120_000)),
    );
    assert.ok(kept !== undefined && long !== undefined && warm !== undefined && posts !== undefined);
    for (let count = 0; count < 3; count += 1) assert.equal((await kept.request({ host })).text, 'ok');
    await long.write(formatRequest({ host, target: '/long' }));
    await long.finalHead();
    const { pid } = culvert.child;
    process.kill(pid, 'SIGSTOP');
    scope.defer(() => void process.kill(pid, 'SIGCONT'));
    await kept.write(formatRequest({ host }));
    await warm.write(formatRequest({ host }));
    await posts.write(formatRequest({ host, method: 'POST', body: 'x' }));
    return { relay, account, tunnel: culvert.tunnel, kept, long, warm, posts };
  }

  for (const [by, trunks, lost] of [
    ['data sockets', 0, 'tunnel-offline'],
    // A trunk ends long before the control socket, so its repeatable requests are announced to a client that still
    // seems connected.
    ['trunks', 1, 'client-timeout'],
  ] as const) {
    together(`keeps no visitor waiting longer than 10 s after it counts as gone, with ${by}`, async () => {
      const { relay, kept, long, warm, posts } = await freeze(trunks);
      await eventually(100_000, () => assert.match(relay.child.stderr, /client offline/));
      const { value, ms } = await timed(() =>
        Promise.all([kept.response(), warm.response(), posts.response('POST'), long.ending]),
      );
      const [ofKept, ofWarm, ofPost, ofLong] = value;
      assert.equal(ofKept.head.field('culvert-error'), lost);
      // The wait for a data socket may end before the relay notices that the client is gone.
      assert.match(ofWarm.head.field('culvert-error') ?? '', /^(?:client-timeout|tunnel-offline)$/);
      // The client may have swallowed it, or it may still be waiting.
      assert.match(
        ofPost.head.field('culvert-error') ?? '',
        /^(?:client-closed|client-timeout|tunnel-offline)$/,
      );
      assert.notEqual(ofLong, undefined);
      assertWithin(ms, 10_000);
    });

    together(
      `delays no visitor with its successor: repeatable requests are repeated, with ${by}`,
      async () => {
        const { relay, account, tunnel, kept, warm, posts } = await freeze(trunks);
        const client = await ManualClient.adopt(scope, relay, account, tunnel);
        const answered = Promise.all([kept.response(), warm.response(), posts.response('POST')]);
        const isOver = answered.then(() => true);
        const serveAll = async (): Promise<void> => {
          for (;;) {
            const next = client.announced(30_000).catch(() => '');
            const id = await Promise.race([next, isOver]);
            if (typeof id !== 'string' || id === '') return;
            (await client.open(id)).send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain');
          }
        };
        const { value, ms } = await timed(async () => (await Promise.all([answered, serveAll()]))[0]);
        const [ofKept, ofWarm, ofPost] = value;
        assert.deepEqual([ofKept.text, ofWarm.text], ['again', 'again']);
        // A request that the frozen client swallowed is not sent twice. A waiting one is sent to the next client.
        assert.ok(ofPost.head.field('culvert-error') === 'client-closed' || ofPost.text === 'again');
        // 5 s in which it could have answered the Close frame, and then 10 s.
        assertWithin(ms, 15_000);
      },
    );
  }
});

/** A peer that lost its network sends nothing. Only a probe detects it (TCP keep-alive). */
describe('silent connections', () => {
  const scope = suiteScope();

  for (const [title, trunks] of [
    [
      'are probed: those of visitors and clients by the relay after 60 s, data sockets by culvert after 30 s',
      '0',
    ],
    ['are probed by culvert after 30 s where they are trunks, too', '1'],
  ] as const) {
    it(title, async () => {
      const relay = await Relay.start(scope, { CULVERT_TRUNKS: trunks });
      const { key } = await new AccountPool(relay).take();
      const silent = await startRawService(scope, () => {});
      const { tunnel } = await Culvert.start(scope, relay, key, silent.port);
      const visitor = await RawConnection.open(scope, relay.port);
      // A trunk exists before the first request.
      if (trunks === '0') await visitor.write(formatRequest({ host: hostOf(tunnel, relay) }));
      await eventually(20_000, () => {
        const ends = connectionEnds();
        const ofRelay = ends.filter(({ port }) => port === relay.port);
        // The visitor's connection, the control socket, and the data socket or the trunk.
        assert.equal(ofRelay.length, 3);
        for (const { probeIn = 0 } of ofRelay)
          assert.ok(probeIn > 50_000 && probeIn <= 60_000, `${probeIn} ms`);
        const ofCulvert = ends.filter(({ peerPort }) => peerPort === relay.port);
        assert.equal(ofCulvert.filter(({ probeIn = Infinity }) => probeIn <= 30_000).length, 1);
      });
    });
  }
});
