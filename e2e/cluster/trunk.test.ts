import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket, openData } from '../support/spec-client/client.ts';
import { TrunkClient, type TrunkClientStream } from '../support/spec-client/trunk.ts';
import type { WebSocketClient } from '../support/spec-client/websocket.ts';
import { sendUntilMove, WITH_TRUNKS } from '../support/trunk-world.ts';

/** 'half' of 'halfdone' */
const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf';
const A = 0;
const B = 2;
const C = 1;

async function closeCode(trunk: TrunkClient): Promise<number> {
  return (await within(20_000, 'end of the trunk', trunk.closed)).code;
}

/** A balancer spreads a client's trunks over all relays: each brings the visitors of every relay. */
describe('a trunk that lands on a relay without the control socket', function () {
  this.timeout(600_000);
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;

  before(async () => {
    cluster = await RelayCluster.shared(WITH_TRUNKS);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    tunnel = await new Api(cluster.relay(A), account.key).create({ local_port: 9 });
  });

  async function open(): Promise<TrunkClient> {
    return await TrunkClient.open(scope, cluster.relay(C), account.key, tunnel.id);
  }

  async function control(): Promise<ControlSocket> {
    return await ControlSocket.open(scope, cluster.relay(A), account.key, tunnel.id);
  }

  /** A visitor of a relay who has sent a request. */
  async function visitor(relay: number): Promise<RawConnection> {
    const { port } = cluster.relay(relay);
    const connection = await RawConnection.open(scope, port);
    await connection.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}`, target: '/some' }));
    return connection;
  }

  /** A visitor whose request came through the trunk and who has received half of a response. */
  async function halfway(
    trunk: TrunkClient,
    relay = C,
  ): Promise<{ stream: TrunkClientStream; rest: Promise<string> }> {
    const connection = await visitor(relay);
    const stream = await trunk.accept();
    assert.match(await stream.receivedUpTo('\r\n\r\n'), /^GET \/some HTTP\/1\.1\r\n/);
    stream.send(HALF);
    const head = await connection.finalHead();
    const rest = connection.rest(head).then(
      ({ text }) => text,
      () => 'broken',
    );
    return { stream, rest };
  }

  it('brings the visitors of every relay, without a message', async () => {
    const { messages } = await control();
    const trunk = await open();
    for (const relay of [A, B, C]) {
      const { stream, rest } = await halfway(trunk, relay);
      stream.send('done');
      assert.equal(await rest, 'halfdone');
    }
    assert.deepEqual(messages, []);
  });

  it('is refused with 429 if the client has enough of them, on whichever relays', async () => {
    await control();
    const [first] = [await open(), await TrunkClient.open(scope, cluster.relay(A), account.key, tunnel.id)];
    for (const relay of [A, C])
      await assert.rejects(TrunkClient.open(scope, cluster.relay(relay), account.key, tunnel.id), /429/);
    first.socket.drop();
    await eventually(20_000, open);
  });

  it('is refused with 404 while there is no control socket at all', async () => {
    await assert.rejects(open(), /404/);
  });

  for (const [what, end] of [
    ['is replaced', () => control()],
    ['has ended', (held: ControlSocket) => held.socket.drop()],
  ] as const) {
    it(`brings no new visitor when the control socket ${what}, and closes after the last one it has`, async () => {
      const held = await control();
      const trunk = await open();
      const { stream, rest } = await halfway(trunk);
      const unused = await open();
      await end(held);
      assert.equal(await closeCode(unused), 1000);
      stream.send('done');
      assert.equal(await rest, 'halfdone');
      stream.end();
      assert.equal(await closeCode(trunk), 1000);
    });
  }

  it('ends with 4001 when the tunnel is closed, and its visitors are cut off', async () => {
    await control();
    const trunk = await open();
    const { rest } = await halfway(trunk);
    await new Api(cluster.relay(A), account.key).close(tunnel.id);
    assert.equal(await closeCode(trunk), 4001);
    assert.equal(await rest, 'broken');
  });

  it('ends with 4003 when the key is revoked, and its visitors are cut off', async () => {
    await control();
    const trunk = await open();
    const { rest } = await halfway(trunk);
    await administer(cluster.relay(A), 'key', 'revoke', account.keyId);
    assert.equal(await closeCode(trunk), 4003);
    assert.equal(await rest, 'broken');
  });
});

/** A balancer also spreads data sockets. Each is forwarded to the relay that asked for it. */
describe('a large stream whose data socket lands on another relay than its trunk', function () {
  this.timeout(600_000);
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let host: string;
  let trunk: TrunkClient;

  before(async () => {
    cluster = await RelayCluster.start(suite, 2, WITH_TRUNKS);
  });

  beforeEach(async () => {
    const relay = cluster.relay(A);
    account = await createAccount(relay, { plan: 'team' });
    const tunnel = await new Api(relay, account.key).create({ local_port: 9 });
    await ControlSocket.open(scope, relay, account.key, tunnel.id);
    trunk = await TrunkClient.open(scope, relay, account.key, tunnel.id, { isFar: true });
    host = `${tunnel.slug}.localhost:${relay.port}`;
  });

  /** bytes of a download */
  const SIZE = 2_000_000;

  interface Moved {
    readonly connection: RawConnection;
    readonly stream: TrunkClientStream;
    readonly data: WebSocketClient;
    /** the part of the body that was sent */
    readonly first: Buffer;
    /** the whole body */
    readonly rest: Promise<Buffer | undefined>;
  }

  /** A visitor in the middle of a download that has moved to a data socket. */
  async function moved(): Promise<Moved> {
    const connection = await RawConnection.open(scope, cluster.relay(A).port);
    await connection.write(formatRequest({ host }));
    const stream = await trunk.accept();
    await stream.receivedUpTo('\r\n\r\n');
    stream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
    const first = await sendUntilMove(stream);
    const rest = connection.response().then(
      ({ body }) => body,
      () => undefined,
    );
    const data = await openData(scope, cluster.relay(C), await stream.mayMove());
    stream.join(data);
    stream.move();
    await stream.relayMoved();
    return { connection, stream, data, first, rest };
  }

  async function complete({ stream, first, rest }: Moved): Promise<void> {
    const last = randomBytes(SIZE - first.length);
    stream.send(last);
    assert.ok((await rest)?.equals(Buffer.concat([first, last])));
  }

  it('arrives whole, and is followed by the next request', async () => {
    const visit = await moved();
    await complete(visit);
    await visit.connection.write(formatRequest({ host, target: '/next' }));
    await visit.stream.receivedUpTo('GET /next ');
    visit.stream.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext');
    assert.equal((await visit.connection.response()).text, 'next');
    await assert.rejects(openData(scope, cluster.relay(C), await visit.stream.mayMove()), /404/);
  });

  it('breaks with the data socket', async () => {
    const { data, rest } = await moved();
    data.drop();
    assert.equal(await rest, undefined);
  });

  it('completes when that relay is told to stop, and the next request arrives through the trunk', async () => {
    const visit = await moved();
    const exit = cluster.relay(C).stop('SIGTERM', 30_000);
    const { port } = cluster.relay(C);
    await eventually(20_000, () => assert.rejects(RawConnection.open(scope, port), /ECONNREFUSED/));
    await complete(visit);
    assert.equal((await within(20_000, 'end of the data socket', visit.data.closed)).code, 1000);
    assert.deepEqual(await exit, { code: 0, signal: null });
    await visit.connection.write(formatRequest({ host, target: '/next' }));
    const next = await trunk.accept();
    await next.receivedUpTo('GET /next ');
    next.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext');
    assert.equal((await visit.connection.response()).text, 'next');
    await cluster.relay(C).restart();
  });

  it('breaks when that relay dies', async () => {
    const { rest } = await moved();
    await cluster.relay(C).stop('SIGKILL');
    assert.equal(await rest, undefined);
    await cluster.relay(C).restart();
  });
});
