import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { assertAtLimit, assertWithin, eventually, timed } from '../support/deadline.ts';
import { DataConnection } from '../support/manual-client.ts';
import { RawConnection, type Response, visit } from '../support/raw-http.ts';
import { draining } from '../support/relay-suite.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket, openData } from '../support/spec-client/client.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

function assertOk({ status, text, head }: Response): void {
  assert.deepEqual([status, text, head.field('connection')], [200, 'ok', 'close']);
}

/** The shutdown of a relay, as seen by its client and its visitors. */
describe('one of two relays that is told to stop', function () {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;

  before(async () => {
    cluster = await RelayCluster.start(suite, 2);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(1), { plan: 'team' });
  });

  /** A tunnel whose control socket is on a relay. */
  async function start(index: number, query = '') {
    const tunnel = await new Api(cluster.relay(1), account.key).create({ local_port: 9 });
    const control = await ControlSocket.open(scope, cluster.relay(index), account.key, tunnel.id, query);
    const { port } = cluster.relay(0);
    return { tunnel, control, host: `${tunnel.slug}.localhost:${port}`, port };
  }

  /** Responds to an announced connection on a data socket that lands on a relay. */
  async function answer(id: string, index: number): Promise<DataConnection> {
    const data = new DataConnection(id, await openData(scope, cluster.relay(index), id));
    await data.receivedUpTo('\r\n\r\n');
    data.send(ANSWER);
    return data;
  }

  /** Waits until a relay no longer accepts connections. */
  async function refuses(index: number): Promise<void> {
    const { port } = cluster.relay(index);
    const asked = () => visit(port, { host: `localhost:${port}`, target: '/healthz' });
    await eventually(20_000, () => assert.rejects(asked, /ECONNREFUSED/));
  }

  it('asks a client with events=1 to move, and serves visitors here and there without a gap', async () => {
    const { tunnel, control, host, port } = await start(0, '&events=1');
    const [early, waiting] = [await RawConnection.open(scope, port), await RawConnection.open(scope, port)];
    const exit = cluster.relay(0).stop('SIGTERM', 20_000);
    await eventually(20_000, () => assert.deepEqual(control.messages, [{ type: 'drain' } as object]));
    await refuses(0);

    // This connection was open when the relay was told to stop, and its request arrives now. It is announced as usual,
    // and its data socket lands on the other relay.
    const first = early.request({ host });
    await eventually(20_000, () => assert.equal(control.messages.length, 2));
    await answer(control.messages[1]?.id ?? '', 1);
    assertOk(await first);

    const second = waiting.request({ host });
    await eventually(20_000, () => assert.equal(control.messages.length, 3));
    const next = await ControlSocket.open(scope, cluster.relay(1), account.key, tunnel.id, '&events=1');
    assert.equal((await control.closed).code, 4000);
    await eventually(20_000, () => assert.equal(next.messages.length, 1));
    await answer(next.messages[0]?.id ?? '', 1);
    assertOk(await second);
    const { value, ms } = await timed(() => exit);
    assert.deepEqual(value, { code: 0, signal: null });
    assertWithin(ms, 0);
    await cluster.relay(0).restart();
  });

  it('closes clients without events with 1001 immediately, and those that do not move after 5 s', async () => {
    const [plain, silent] = [await start(0), await start(0, '&events=1')];
    const begin = performance.now();
    const exit = cluster.relay(0).stop('SIGTERM', 20_000);
    const silentClosed = silent.control.closed.then(({ code }) => code);
    const plainClosed = plain.control.closed.then(({ code }) => `plain: ${code}`);
    assert.equal(await Promise.race([plainClosed, silentClosed]), 'plain: 1001');
    assert.deepEqual(plain.control.messages, []);
    assert.equal(await silentClosed, 1001);
    const ms = performance.now() - begin;
    assertAtLimit(ms, 5000);
    assert.deepEqual(await exit, { code: 0, signal: null });
    await cluster.relay(0).restart();
  });

  it('keeps no visitor of the other relay: a data socket through it ends with its request', async () => {
    const { tunnel, control } = await start(1);
    const { port } = cluster.relay(1);
    const host = `${tunnel.slug}.localhost:${port}`;
    // By then the other relay knows the one that was started last.
    const opened: DataConnection[] = [];
    control.onMessage = ({ id }) => void answer(id, opened.length).then((data) => opened.push(data));
    const visitor = await RawConnection.open(scope, port);
    assert.equal((await visitor.request({ host })).status, 200);
    const [through = assert.fail()] = opened;
    const exit = cluster.relay(0).stop('SIGTERM', 20_000);
    assert.equal((await through.socket.closed).code, 1000);
    assert.deepEqual(await exit, { code: 0, signal: null });
    assert.equal((await visitor.request({ host })).status, 200);
    assert.equal(opened.length, 2);
    await cluster.relay(0).restart();
  });

  it('lets a data socket through it finish the request that it serves', async () => {
    const { tunnel, control } = await start(1);
    const { port } = cluster.relay(1);
    const host = `${tunnel.slug}.localhost:${port}`;
    const visitor = await RawConnection.open(scope, port);
    const asked = visitor.request({ host });
    await eventually(20_000, () => assert.equal(control.messages.length, 1));
    const id = control.messages[0]?.id ?? '';
    const data = new DataConnection(id, await openData(scope, cluster.relay(0), id));
    await data.receivedUpTo('\r\n\r\n');
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no');
    const exit = cluster.relay(0).stop('SIGTERM', 20_000);
    await refuses(0);
    data.send('k');
    assert.deepEqual([(await asked).text, (await data.socket.closed).code], ['ok', 1000]);
    assert.deepEqual(await exit, { code: 0, signal: null });
    await cluster.relay(0).restart();
  });

  it('still gives announced visitors a data socket if the other is about to end as well', async () => {
    const [first, second] = [await start(0), await start(1)];
    const long = await RawConnection.open(scope, first.port);
    const asked = long.request({ host: first.host });
    await eventually(20_000, () => assert.equal(first.control.messages.length, 1));
    const data = await openData(scope, cluster.relay(0), first.control.messages[0]?.id ?? '');
    const exits = [cluster.relay(0).stop('SIGTERM', 20_000)];
    await refuses(0);

    const { port } = cluster.relay(1);
    const visitor = await RawConnection.open(scope, port);
    const last = visitor.request({ host: `${second.tunnel.slug}.localhost:${port}` });
    await eventually(20_000, () => assert.equal(second.control.messages.length, 1));
    exits.push(cluster.relay(1).stop('SIGTERM', 20_000));
    await draining(() => visit(port, { host: `localhost:${port}`, target: '/readyz' }));
    await answer(second.control.messages[0]?.id ?? '', 1);
    assertOk(await last);
    data.send(Buffer.from(ANSWER));
    assertOk(await asked);
    for (const exit of await Promise.all(exits)) assert.deepEqual(exit, { code: 0, signal: null });
    for (const relay of cluster.relays) await relay.restart();
  });
});
