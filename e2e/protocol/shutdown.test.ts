import assert from 'node:assert/strict';
import { AccountPool } from '../support/accounts.ts';
import { assertAtLimit, timed, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { Relay } from '../support/programs.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { draining } from '../support/relay-suite.ts';
import { concurrentTests, suiteScope } from '../support/scope.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone';

/** In flight at SIGTERM is every request on a connection that was open when the signal arrived. */
describe('SIGTERM and requests in flight', () => {
  const scope = suiteScope();
  const together = concurrentTests();

  async function start(): Promise<{ relay: Relay; client: ManualClient }> {
    const relay = await Relay.start(scope);
    return { relay, client: await ManualClient.start(scope, relay, new AccountPool(relay)) };
  }

  async function visitor(relay: Relay): Promise<RawConnection> {
    return await RawConnection.open(scope, relay.port);
  }

  together('give an announced visitor its data socket and its response', async () => {
    const { relay, client } = await start();
    const waiting = await visitor(relay);
    await waiting.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    relay.child.kill('SIGTERM');
    await draining(() => readiness(relay));
    const data = await client.open(id);
    await data.receivedUpTo('\r\n\r\n');
    data.send(ANSWER);
    const answer = await waiting.response();
    assert.equal(answer.text, 'done');
    assert.equal(answer.head.field('connection'), 'close');
    assert.equal((await within(20_000, 'close', client.control.closed)).code, 1001);
    assert.deepEqual(await relay.child.exit(20_000), { code: 0, signal: null });
  });

  together('let a connection that has not sent a request yet send one', async () => {
    const { relay, client } = await start();
    const quiet = await visitor(relay);
    relay.child.kill('SIGTERM');
    await draining(() => readiness(relay));
    await quiet.write(formatRequest({ host: client.host, method: 'POST', body: 'x' }));
    (await client.accept()).send(ANSWER);
    const answer = await quiet.response();
    assert.deepEqual([answer.text, answer.head.field('connection')], ['done', 'close']);
    assert.equal(await quiet.ending, 'end');
    assert.deepEqual(await relay.child.exit(20_000), { code: 0, signal: null });
  });

  together('let a connection send one more request if its response was not marked as the last', async () => {
    const { relay, client } = await start();
    const kept = await visitor(relay);
    await kept.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
    const head = await kept.finalHead();
    assert.equal(head.field('connection'), undefined);
    relay.child.kill('SIGTERM');
    await draining(() => readiness(relay));
    // It arrives before the response ends: a later request may take a second to arrive.
    await kept.write(formatRequest({ host: client.host, target: '/again' }));
    data.send('done');
    assert.equal((await kept.rest(head)).text, 'halfdone');
    await data.receivedUpTo('GET /again');
    data.send(ANSWER);
    const answer = await kept.response();
    assert.deepEqual([answer.text, answer.head.field('connection')], ['done', 'close']);
    assert.deepEqual(await relay.child.exit(20_000), { code: 0, signal: null });
  });

  together('turn away new visitors and clients', async () => {
    const { relay, client } = await start();
    const waiting = await visitor(relay);
    await waiting.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    relay.child.kill('SIGTERM');
    await draining(() => readiness(relay));
    // The listener stays open for the data socket that is still missing.
    const late = await visit(relay.port, { host: client.host });
    assert.equal(late.status, 503);
    assert.equal(late.head.field('culvert-error'), 'relay-busy');
    assert.match(late.head.field('retry-after') ?? '', /^\d+$/);
    assert.equal((await readiness(relay)).status, 503);
    const data = await client.open(id);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
    const head = await waiting.finalHead();
    assert.equal((await within(20_000, 'close', client.control.closed)).code, 1001);
    await assert.rejects(visit(relay.port, { host: client.host }), /ECONNREFUSED/);
    data.send('done');
    assert.equal((await waiting.rest(head)).text, 'halfdone');
    assert.deepEqual(await relay.child.exit(20_000), { code: 0, signal: null });
  });

  together('cut open connections after 30 s, and exit with 0', async () => {
    const { relay, client } = await start();
    await (await visitor(relay)).write(formatRequest({ host: client.host }));
    await client.accept();
    const { value, ms } = await timed(() => relay.stop('SIGTERM', 40_000));
    assert.deepEqual(value, { code: 0, signal: null });
    assertAtLimit(ms, 30_000);
  });
});

async function readiness(relay: Relay): Promise<Response> {
  return await visit(relay.port, { host: 'localhost', target: '/readyz' });
}
