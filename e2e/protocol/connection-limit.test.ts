import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A relay that takes two visitors at a time: `CULVERT_MAX_CONNECTIONS`. */
describe('the limit of visitors', () => {
  const scope = suiteScope();
  let relay: Relay;
  let client: ManualClient;
  let visitors: RawConnection[];

  before(async () => {
    relay = await Relay.start(scope, { CULVERT_MAX_CONNECTIONS: '2' });
    client = await ManualClient.start(scope, relay, new AccountPool(relay));
    visitors = [];
    for (let count = 0; count < 2; count += 1) {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      visitors.push(visitor);
    }
  });

  it('refuses one more with 503 relay-busy and when to come back, and ends its connection', async () => {
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

  it('still takes data and control sockets, and calls of the API', async () => {
    await client.reconnect();
    assert.equal((await visit(relay.port, { host: 'localhost', target: '/healthz' })).status, 200);
    for (const visitor of visitors) {
      const data = await client.accept();
      data.send(ANSWER);
      assert.equal((await visitor.response()).text, 'ok');
    }
  });
});
