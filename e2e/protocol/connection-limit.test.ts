import assert from 'node:assert/strict';
import { createAccount, onlyAccount } from '../support/accounts.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type Scope, suiteScope } from '../support/scope.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Uses a relay that accepts two visitors at a time (`CULVERT_MAX_CONNECTIONS`). */
describe('the limit of visitors', () => {
  const { scope, relay, pool } = relaySuite({ CULVERT_MAX_CONNECTIONS: '2' });
  let client: ManualClient;
  let visitors: RawConnection[];

  before(async () => {
    client = await ManualClient.start(scope, relay, pool);
    visitors = [];
    for (let count = 0; count < 2; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      visitors.push(visitor);
      await client.announced();
    }
  });

  it('refuses one more with 503 relay-busy and Retry-After, and ends its connection', async () => {
    const third = await RawConnection.open(scope, relay.port);
    await third.write(formatRequest({ host: client.host, headers: [['Accept', 'text/html']] }));
    const { status, head, text } = await third.response();
    assert.deepEqual(
      [status, head.field('culvert-error'), head.field('retry-after'), head.field('connection')],
      [503, 'relay-busy', '5', 'close'],
    );
    assert.match(text, /The relay is busy/);
    assert.equal(await third.ending, 'end');
  });

  it('still accepts data and control sockets, and calls of the API', async () => {
    await client.reconnect();
    assert.equal((await visit(relay.port, { host: 'localhost', target: '/healthz' })).status, 200);
    // The order of the announcements is not guaranteed.
    for (let left = visitors.length; left > 0; left -= 1) (await client.accept()).send(ANSWER);
    for (const visitor of visitors) assert.equal((await visitor.response()).text, 'ok');
  });
});

/** A visitor whose connection stays open after a response. */
async function idleVisitor(scope: Scope, relay: Relay, client: ManualClient): Promise<RawConnection> {
  const visitor = await RawConnection.open(scope, relay.port);
  await visitor.write(formatRequest({ host: client.host }));
  (await client.accept()).send(ANSWER);
  assert.equal((await visitor.response()).text, 'ok');
  return visitor;
}

describe('idle connections', () => {
  const { scope, relay, pool } = relaySuite({ CULVERT_MAX_CONNECTIONS: '4' });
  let client: ManualClient;

  before(async () => {
    client = await ManualClient.start(scope, relay, pool);
  });

  it('occupy no slot if only the relay has responded', async () => {
    for (let count = 0; count < 20; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port);
      const host = count % 2 === 0 ? 'nobody.localhost' : 'localhost';
      const { status } = await visitor.request({ host, target: '/healthz' });
      assert.equal(status, count % 2 === 0 ? 404 : 200);
    }
    const visitors = await Promise.all(
      Array.from({ length: 3 }, () => RawConnection.open(scope, relay.port)),
    );
    for (const visitor of visitors) {
      await visitor.write(formatRequest({ host: client.host }));
      (await client.accept()).send(ANSWER);
      assert.equal((await visitor.response()).text, 'ok');
      visitor.reset();
    }
  });

  it('give up their slots when one is needed', async () => {
    const idle: RawConnection[] = [];
    for (let count = 0; count < 4; count += 1) idle.push(await idleVisitor(scope, relay, client));
    const fifth = await idleVisitor(scope, relay, client);
    assert.equal(await Promise.race(idle.map(({ ending }) => ending)), 'end');
    const { status } = await visit(relay.port, { host: 'localhost', target: '/healthz' });
    assert.equal(status, 200);
    for (const visitor of [...idle, fifth]) visitor.reset();
  });
});

describe('the connection slots of one account', () => {
  const scope = suiteScope();

  it('are at most three quarters of all, even on the plan team', async () => {
    const relay = await Relay.start(scope, { CULVERT_MAX_CONNECTIONS: '8' });
    const [greedy, other] = await Promise.all(
      [createAccount(relay, { plan: 'team' }), createAccount(relay)].map(async (account) =>
        ManualClient.start(scope, relay, onlyAccount(await account)),
      ),
    );
    assert.ok(greedy !== undefined && other !== undefined);
    for (let count = 0; count < 6; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: greedy.host }));
      await greedy.announced();
    }
    const refused = await visit(relay.port, { host: greedy.host });
    assert.deepEqual([refused.status, refused.head.field('culvert-error')], [503, 'relay-busy']);
    assert.match(refused.text, /reserved for other tunnels/);
    await idleVisitor(scope, relay, other);
  });
});
