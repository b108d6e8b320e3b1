import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { HopDialer } from '../../server/cluster/hop/hop-dialer.ts';
import { HopListener } from '../../server/cluster/hop/hop-listener.ts';
import { RedisError, RedisLink } from '../../server/cluster/redis-client.ts';
import { RELAYS } from '../../server/cluster/scripts.ts';
import { Api } from '../support/api.ts';
import { connectionEnds } from '../support/cluster.ts';
import { assertAtLimit, eventually, timed, within } from '../support/deadline.ts';
import { newDatabase } from '../support/postgres.ts';
import { newApiKey, POSTGRES_URL, Relay } from '../support/programs.ts';
import { RedisServer } from '../support/redis.ts';
import { concurrentTests, type Scope, suiteScope } from '../support/scope.ts';

const SECRET = 's'.repeat(32);

const DATA_SOCKET = {
  kind: 'data',
  id: 'any',
  key: 'key',
  authorization: undefined,
  carriesEnd: false,
} as const;

/** How long relays wait for each other and for Redis, with a real clock. All tests wait at the same time. */
describe('time limits between relays', function () {
  const scope = suiteScope();
  const it = concurrentTests();

  it('let a relay that starts without Redis listen after 5 s, and join when Redis is available', async () => {
    const redis = await RedisServer.start(scope);
    await redis.stop();
    const { value: relay, ms } = await timed(async () =>
      Relay.start(scope, {
        CULVERT_DATABASE_URL: await newDatabase(scope, POSTGRES_URL ?? ''),
        CULVERT_REDIS_URL: redis.url,
        CULVERT_CLUSTER_SECRET: SECRET,
        CULVERT_BOOTSTRAP_KEY: newApiKey(),
      }),
    );
    assert.ok(ms > 4900, `after ${ms} ms`);
    await new Api(relay, relay.bootstrapKey).create({ local_port: 9 });
    assert.doesNotMatch(relay.child.stderr, /cluster joined/);
    await redis.resume();
    await eventually(20_000, () => assert.match(relay.child.stderr, /cluster joined/));
  });

  it('give Redis 2 s to answer', async () => {
    const redis = await RedisServer.start(scope);
    const link = await openLink(scope, redis);
    process.kill(redis.pid, 'SIGSTOP');
    const { ms } = await timed(() => assert.rejects(link.run(RELAYS), RedisError));
    assertAtLimit(ms, 2000);
    await eventually(20_000, () => assert.equal(link.isUp, false));
    const refused = await timed(() => assert.rejects(link.run(RELAYS), RedisError));
    assert.ok(refused.ms < 1900, `after ${refused.ms} ms`);
    process.kill(redis.pid, 'SIGCONT');
    await eventually(20_000, () => link.run(RELAYS));
  });

  it('let TCP check after 10 s whether Redis is still reachable', async () => {
    const redis = await RedisServer.start(scope);
    await openLink(scope, redis);
    const ends = connectionEnds().filter(({ peerPort }) => peerPort === redis.port);
    assert.equal(ends.length, 2);
    for (const { probeIn = Infinity } of ends)
      assert.ok(probeIn >= 1 && probeIn <= 10_000, `in ${probeIn} ms`);
  });

  it('give up a relay that does not accept connections after 2 s', async () => {
    const port = await deafPort(scope);
    const to = { incarnation: 'deaf', host: '127.0.0.1', port };
    const dialer = new HopDialer('one', SECRET);
    const { value, ms } = await timed(() => dialer.upgrade(to, DATA_SOCKET));
    assert.equal(value, undefined);
    assertAtLimit(ms, 2000);
  });

  it('give up a relay that does not confirm a data socket after 5 s', async () => {
    const listener = await startListener('silent');
    scope.defer(() => listener.close());
    const to = { incarnation: 'silent', host: '127.0.0.1', port: listener.port };
    const dialer = new HopDialer('one', SECRET);
    const { value, ms } = await timed(() => dialer.upgrade(to, DATA_SOCKET));
    assert.equal(value, undefined);
    assertAtLimit(ms, 5000);
  });

  it('cut a connection that does not prove to come from a relay after 5 s', async () => {
    const listener = await startListener('one');
    scope.defer(() => listener.close());
    const socket = connect(listener.port, '127.0.0.1');
    await once(socket, 'connect');
    // The beginning of a TLS handshake.
    socket.write(Buffer.of(22, 3, 1));
    const { ms } = await timed(() => within(20_000, 'end', once(socket.resume(), 'close')));
    assertAtLimit(ms, 5000);
  });
});

/** A listener that accepts connections and answers nothing. */
async function startListener(incarnation: string): Promise<HopListener> {
  return await HopListener.start({
    host: '127.0.0.1',
    port: 0,
    incarnation,
    secret: SECRET,
    take: { upgrade() {}, visit() {} },
  });
}

async function openLink(scope: Scope, redis: RedisServer): Promise<RedisLink> {
  const link = await RedisLink.open({
    url: redis.url,
    channels: ['channel'],
    log: () => {},
    onUp: () => {},
    onMessage: () => {},
    onUnsent: () => {},
  });
  scope.defer(() => link.close());
  await eventually(20_000, () => assert.ok(link.isUp));
  return link;
}

/** A port whose program is stopped and whose backlog is full. */
async function deafPort(scope: Scope): Promise<number> {
  const program = `require('net').createServer().listen(0, '127.0.0.1', 1, function () { console.log(this.address().port); })`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  scope.defer(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGSTOP');
  const port = Number(line.toString());
  for (let count = 0; count < 4; count += 1) {
    const filler = connect(port, '127.0.0.1');
    filler.on('error', () => {});
    scope.defer(() => filler.destroy());
  }
  return port;
}
