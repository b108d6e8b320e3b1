import assert from 'node:assert/strict';
import { once } from 'node:events';
import { statSync, unlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { HANDOFF_SETTLE_MS } from '../../server/edge/edge.ts';
import { BODY_TIMEOUT_MS } from '../../server/edge/timeouts.ts';
import {
  Conversation,
  HANDOFF_STEP_MS,
  type PredecessorMessage,
  readPredecessorMessage,
  readSuccessorMessage,
  SUCCESSION_VERSION,
  type SuccessorMessage,
} from '../../server/handoff/conversation.ts';
import {
  HandoffSocket,
  handoffSocketPath,
  meet,
  sendListeners,
  takeListeners,
} from '../../server/handoff/handoff-socket.ts';
import { LISTEN_BACKLOG } from '../../server/listeners.ts';
import { DnsServer } from '../../server/testing/dns-server.ts';
import type { CheckedDomain } from '../../shared/domains.ts';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { assertAtLimit, eventually, within } from '../support/deadline.ts';
import { claimDomain, verifyDomain } from '../support/dns-servers.ts';
import { hostOf, ManualClient } from '../support/manual-client.ts';
import { Culvert, RelayProgram, spawnRelay } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

type Talk = Conversation<SuccessorMessage, PredecessorMessage>;

/** The name under which a relay's listener for visitors is handed off. */
function visitorsOf({ port }: RelayProgram): string {
  return `visitors 127.0.0.1:${port}`;
}

const ANSWER_MS = 20_000;

describe('serve --replace when something goes wrong', () => {
  const scope = suiteScope();

  /** Tries to replace a relay, with other settings if they are given. */
  function replacing(relay: RelayProgram, settings: Readonly<Record<string, string>> = {}) {
    return spawnRelay(scope, ['serve', '--replace'], {
      CULVERT_PORT: String(relay.port),
      ...relay.databaseSettings,
      ...settings,
    });
  }

  /** Connects to a relay in the role of its replacement. */
  async function successorOf(relay: RelayProgram): Promise<Talk> {
    const hello = {
      kind: 'replace',
      version: SUCCESSION_VERSION,
      address: `127.0.0.1:${relay.port}`,
    } as const;
    const socket = await meet(handoffSocketPath(relay.dataDirectory, relay.port), hello);
    assert.ok(socket);
    scope.defer(() => socket.destroy());
    const talk: Talk = new Conversation(socket, readPredecessorMessage);
    assert.deepEqual(await talk.next(ANSWER_MS), { kind: 'welcome', listeners: [visitorsOf(relay)] });
    return talk;
  }

  /** Asserts that a relay works as before: it serves, uses its own database, and can be replaced. */
  async function assertGoesOn(relay: RelayProgram): Promise<void> {
    await new Api(relay, relay.bootstrapKey).create({ local_port: 9 });
    const other = spawnRelay(scope, ['serve'], { CULVERT_PORT: '0', ...relay.databaseSettings });
    assert.deepEqual(await other.exit(ANSWER_MS), { code: 1, signal: null });
    assert.match(other.stderr, /another relay is using the database/);
    const before = await relay.replace();
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
    await new Api(relay, relay.bootstrapKey).create({ local_port: 9 });
  }

  const concurrently = concurrentTests();

  it('starts as usual if there is nothing to replace, and after a relay that was killed', async () => {
    const relay = await RelayProgram.start(scope);
    await relay.stop('SIGKILL');
    assert.ok(
      statSync(handoffSocketPath(relay.dataDirectory, relay.port)).isSocket(),
      'nothing is left behind',
    );
    assert.deepEqual(await (await relay.replace()).exit(), { code: null, signal: 'SIGKILL' });
    assert.doesNotMatch(relay.child.stderr, /taking over/);
    await assertGoesOn(relay);
  });

  it('ends with code 1 if it cannot find the relay that serves', async () => {
    const relay = await RelayProgram.start(scope);
    unlinkSync(handoffSocketPath(relay.dataDirectory, relay.port));
    const next = replacing(relay);
    assert.deepEqual(await next.exit(ANSWER_MS), { code: 1, signal: null });
    assert.match(next.stderr, /another relay is using the database/);
    await new Api(relay, relay.bootstrapKey).list();
  });

  it('ends with code 1 if it cannot serve, and the other continues', async () => {
    const relay = await RelayProgram.start(scope);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    scope.defer(() => taken.close());
    const { port } = taken.address() as { port: number };
    const next = replacing(relay, { CULVERT_METRICS_PORT: String(port) });
    assert.deepEqual(await next.exit(ANSWER_MS), { code: 1, signal: null });
    assert.match(next.stderr, /another program is using it/);
    await assertGoesOn(relay);
    assert.match(relay.child.stderr, /listening/);
  });

  it('ends with code 1 if it is configured to listen elsewhere', async () => {
    const relay = await RelayProgram.start(scope);
    const next = replacing(relay, { CULVERT_HOST: '0.0.0.0' });
    assert.deepEqual(await next.exit(ANSWER_MS), { code: 1, signal: null });
    assert.match(
      next.stderr,
      /it is listening on 127\.0\.0\.1:\d+, but this relay is configured for 0\.0\.0\.0/,
    );
    await assertGoesOn(relay);
  });

  concurrently('ends with code 1 when the other does not answer, which continues when it can', async () => {
    const relay = await RelayProgram.start(scope);
    relay.child.kill('SIGSTOP');
    const begin = performance.now();
    const next = replacing(relay);
    const exit = await next.exit(60_000);
    relay.child.kill('SIGCONT');
    assert.deepEqual(exit, { code: 1, signal: null });
    assertAtLimit(performance.now() - begin, HANDOFF_STEP_MS);
    assert.match(next.stderr, /it did not respond within 10 s/);
    await assertGoesOn(relay);
  });

  for (const step of ['welcome', 'listeners', 'move', 'ready'] as const) {
    it(`continues when the other dies after "${step}"`, async () => {
      const relay = await RelayProgram.start(scope);
      const talk = await successorOf(relay);
      if (step !== 'welcome') {
        const channel = await meet(handoffSocketPath(relay.dataDirectory, relay.port), { kind: 'listeners' });
        assert.ok(channel);
        const taken = await takeListeners(channel, [visitorsOf(relay)]);
        for (const handle of taken.values()) (handle as { close(): void }).close();
      }
      if (step === 'move' || step === 'ready') {
        talk.send({ kind: 'move' });
        assert.deepEqual(await talk.next(ANSWER_MS), { kind: 'moved', clients: [] });
      }
      if (step === 'ready') {
        talk.send({ kind: 'ready' });
        assert.deepEqual(await talk.next(ANSWER_MS), { kind: 'go' });
      }
      talk.destroy();
      await eventually(ANSWER_MS, () => assert.match(relay.child.stderr, /replacement failed/));
      await assertGoesOn(relay);
    });
  }

  concurrently(
    'lets visitors wait while the other is silent, and serves them after the time limit',
    async () => {
      const relay = await RelayProgram.start(scope);
      const service = await startHttpService(scope, (_request, response) => response.end('served'));
      const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
      const talk = await successorOf(relay);
      talk.send({ kind: 'move' });
      assert.deepEqual(await talk.next(ANSWER_MS), {
        kind: 'moved',
        clients: [{ tunnelId: tunnel.id, awayMs: 0 }],
      });
      const begin = performance.now();
      const { text } = await visit(relay.port, { host: hostOf(tunnel, relay) });
      assert.equal(text, 'served');
      assertAtLimit(performance.now() - begin, HANDOFF_STEP_MS);
      await assertGoesOn(relay);
    },
  );

  it('refuses an API request whose body does not arrive during the handoff', async () => {
    const relay = await RelayProgram.start(scope);
    const connection = await RawConnection.open(scope, relay.port);
    const key = `Authorization: Bearer ${relay.bootstrapKey}`;
    await connection.write(
      `POST /v1/tunnels HTTP/1.1\r\nHost: localhost\r\n${key}\r\nContent-Length: 99\r\n\r\n{`,
    );
    await new Api(relay, relay.bootstrapKey).list();
    const begin = performance.now();
    const before = await relay.replace();
    assert.equal((await connection.response('POST')).status, 503);
    const ms = performance.now() - begin;
    // Without a handoff, the limit for a body is far longer than the other relay takes to start.
    assert.ok(ms > HANDOFF_SETTLE_MS * 0.95 - 100 && ms < BODY_TIMEOUT_MS / 2, `after ${ms} ms`);
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
  });

  it('does not wait for DNS: a domain verification in progress gets an error', async () => {
    const dns = await DnsServer.start();
    scope.defer(() => dns.stop());
    const relay = await RelayProgram.start(scope, { CULVERT_RESOLVER: dns.address });
    const account = await createAccount(relay);
    const claim = await claimDomain(account, 'app.shop.test');
    dns.fail('_culvert.app.shop.test', 'silent');
    // Again while it times out: a busy machine may start the other relay later than that.
    let error: string | undefined;
    const looking = (async () => {
      for (;;) {
        const { json } = await account.api.send('POST', `/v1/domains/${claim.id}/verify`);
        const problem = (json as CheckedDomain).checks[1]?.problem ?? '';
        if (!problem.includes('no DNS server responded in time')) return (error = problem);
      }
    })();
    await eventually(ANSWER_MS, () => assert.ok(dns.asked.includes('_culvert.app.shop.test TXT')));
    const replaced = [await relay.replace()];
    // None was in progress if the next one waited for the other relay, which now asks instead: that one is replaced too.
    while (replaced.length < 3) {
      const asked = dns.asked.length;
      await Promise.race([
        looking,
        eventually(ANSWER_MS, () => assert.ok(error !== undefined || dns.asked.length > asked)),
      ]);
      if (error !== undefined) break;
      replaced.push(await relay.replace());
    }
    assert.match(await within(ANSWER_MS, 'the error', looking), /this relay is being replaced; try again/);
    dns.fail('_culvert.app.shop.test', undefined);
    dns.enter(claim.records);
    assert.equal((await verifyDomain(account, claim)).status, 'verified');
    for (const before of replaced) assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
  });

  it('hands off more connections than the backlog of the socket holds', async () => {
    const relay = await RelayProgram.start(scope, { CULVERT_ADDRESS_CONNECTIONS: '0' });
    const open = Array.from({ length: LISTEN_BACKLOG + 500 }, () =>
      RawConnection.open(scope, relay.port, 60_000),
    );
    const connections = await Promise.all(open);
    const asked = { host: 'localhost', target: '/healthz' };
    await Promise.all(connections.map((connection) => connection.request(asked)));
    const before = await relay.replace();
    const responses = await Promise.all(connections.map((connection) => connection.request(asked)));
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
  });

  it('ends with code 1 if the other is told to stop during the handoff, and the other stops', async () => {
    const relay = await RelayProgram.start(scope);
    const talk = await successorOf(relay);
    const stopped = relay.stop();
    assert.deepEqual(await talk.next(ANSWER_MS), { kind: 'refused', reason: 'it is being stopped' });
    assert.deepEqual(await stopped, { code: 0, signal: null });
  });

  it('serves on the listener of a relay that died after handing it off', async () => {
    const relay = await RelayProgram.start(scope);
    await relay.stop();
    const port = await closedPort();
    const listener = createServer().listen(port, '127.0.0.1');
    await once(listener, 'listening');
    const point = await HandoffSocket.open(handoffSocketPath(relay.dataDirectory, port), (hello, socket) => {
      if (hello.kind === 'listeners') {
        const { _handle: handle } = listener as unknown as { readonly _handle: { readonly fd: number } };
        sendListeners(socket, new Map([['visitors', handle.fd]]));
        return;
      }
      const talk = new Conversation<PredecessorMessage, SuccessorMessage>(socket, readSuccessorMessage);
      talk.send({ kind: 'welcome', listeners: ['visitors'] });
      // To the other relay this looks like a crash.
      talk.listen(() => {
        listener.close();
        talk.destroy();
      });
    });
    scope.defer(() => point.close(true));
    const next = spawnRelay(scope, ['serve', '--replace'], {
      CULVERT_PORT: String(port),
      ...relay.databaseSettings,
    });
    await next.line((line) => (line.startsWith('listening') ? line : undefined), 60_000);
    await new Api({ port }, relay.bootstrapKey).list();
  });

  it('closes a tunnel during the handoff at both relays, and cuts its visitors there', async () => {
    const relay = await RelayProgram.start(scope);
    const service = await startHttpService(scope, (_request, response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('data: 1\n\n');
    });
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    const connection = await RawConnection.open(scope, relay.port, 60_000);
    await connection.write(`GET / HTTP/1.1\r\nHost: ${hostOf(tunnel, relay)}\r\n\r\n`);
    await connection.reader.through('data: 1\n\n');
    const before = await relay.replace();
    await new Api(relay, relay.bootstrapKey).close(tunnel.id);
    await connection.ending;
    assert.deepEqual(await before.exit(20_000), { code: 0, signal: null });
  });

  it('forwards requests that arrive on connections of the previous relay, with the visitor’s address', async () => {
    const relay = await RelayProgram.start(scope);
    const account = await createAccount(relay);
    const tunnel = await account.api.create({ local_port: 9 });
    const connection = await RawConnection.open(scope, relay.port, 60_000);
    const host = hostOf(tunnel, relay);
    assert.equal((await connection.request({ host })).status, 503);
    await relay.replace();
    const client = await ManualClient.adopt(scope, relay, account, tunnel);
    await connection.write(`GET /late HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const head = await (await client.accept()).receivedUpTo('\r\n\r\n');
    assert.match(head, /^GET \/late [\s\S]*X-Forwarded-For: 127\.0\.0\.1\r\n/);
  });
});
