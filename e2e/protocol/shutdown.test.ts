import assert from 'node:assert/strict';
import { assertAtLimit, eventually, timed, within } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { draining, relaySuite } from '../support/relay-suite.ts';
import { concurrentTests } from '../support/scope.ts';

/** How many tests expect the signal. */
const TESTS = 5;
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone';

/** In flight at SIGTERM is every request on a connection that was open when the signal arrived. */
describe('SIGTERM and requests in flight', () => {
  const { scope, relay, pool } = relaySuite();
  const together = concurrentTests();
  /** Settles at the signal, which is sent once all of the tests expect it. */
  const signal = Promise.withResolvers<void>();
  let expected = 0;

  const start = (): Promise<ManualClient> => ManualClient.start(scope, relay, pool);
  const visitor = (): Promise<RawConnection> => RawConnection.open(scope, relay.port);

  /**
   * Waits until the relay was told to stop, and does so.
   *
   * @param next done right after the signal: an idle connection is kept for only a second
   */
  async function stopping(next?: () => Promise<void>): Promise<void> {
    expected += 1;
    if (expected === TESTS) {
      relay.child.kill('SIGTERM');
      signal.resolve();
    }
    await within(60_000, 'signal', signal.promise);
    await next?.();
    await draining(readiness);
  }

  async function readiness(): Promise<Response> {
    return await visit(relay.port, { host: 'localhost', target: '/readyz' });
  }

  together('give an announced visitor its data socket and its response', async () => {
    const client = await start();
    const waiting = await visitor();
    await waiting.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    await stopping();
    const data = await client.open(id);
    await data.receivedUpTo('\r\n\r\n');
    data.send(ANSWER);
    const answer = await waiting.response();
    assert.equal(answer.text, 'done');
    assert.equal(answer.head.field('connection'), 'close');
    assert.equal((await within(20_000, 'close', client.control.closed)).code, 1001);
  });

  together('let a connection that has not sent a request yet send one', async () => {
    const client = await start();
    const quiet = await visitor();
    await stopping(() => quiet.write(formatRequest({ host: client.host, method: 'POST', body: 'x' })));
    (await client.accept()).send(ANSWER);
    const answer = await quiet.response();
    assert.deepEqual([answer.text, answer.head.field('connection')], ['done', 'close']);
    assert.equal(await quiet.ending, 'end');
  });

  together('let a connection send one more request if its response was not marked as the last', async () => {
    const client = await start();
    const kept = await visitor();
    await kept.write(formatRequest({ host: client.host }));
    const data = await client.accept();
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
    const head = await kept.finalHead();
    assert.equal(head.field('connection'), undefined);
    await stopping();
    // It arrives before the response ends: a later request may take a second to arrive.
    await kept.write(formatRequest({ host: client.host, target: '/again' }));
    data.send('done');
    assert.equal((await kept.rest(head)).text, 'halfdone');
    await data.receivedUpTo('GET /again');
    data.send(ANSWER);
    const answer = await kept.response();
    assert.deepEqual([answer.text, answer.head.field('connection')], ['done', 'close']);
  });

  together('turn away new visitors and clients', async () => {
    const client = await start();
    const waiting = await visitor();
    await waiting.write(formatRequest({ host: client.host }));
    const id = await client.announced();
    await stopping();
    // The listener stays open for the data socket that is still missing.
    const late = await visit(relay.port, { host: client.host });
    assert.equal(late.status, 503);
    assert.equal(late.head.field('culvert-error'), 'relay-busy');
    assert.match(late.head.field('retry-after') ?? '', /^\d+$/);
    assert.equal((await readiness()).status, 503);
    const data = await client.open(id);
    data.send('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
    const head = await waiting.finalHead();
    assert.equal((await within(20_000, 'close', client.control.closed)).code, 1001);
    await eventually(20_000, () => assert.rejects(visit(relay.port, { host: client.host }), /ECONNREFUSED/));
    data.send('done');
    assert.equal((await waiting.rest(head)).text, 'halfdone');
  });

  together('cut open connections after 30 s, and exit with 0', async () => {
    const client = await start();
    await (await visitor()).write(formatRequest({ host: client.host }));
    await client.accept();
    const { value, ms } = await timed(async () => {
      await stopping();
      return await relay.child.exit(40_000);
    });
    assert.deepEqual(value, { code: 0, signal: null });
    assertAtLimit(ms, 30_000);
  });
});
