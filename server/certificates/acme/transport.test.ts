import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ACME_ANSWER_MAX_BYTES, ACME_REQUEST_TIMEOUT_MS, ACME_RETRY_AFTER_MAX_MS } from '../../limits.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { AuthorityError } from './problem.ts';
import { httpsTransport, retryAfter, type Transport } from './transport.ts';
import { certificate, newKey, pemOf, publicKeyOf } from './x509.ts';

const DAY_MS = 86_400_000;

function fails(text: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof AuthorityError && text.test(`${error.message} ${String(error.cause)}`);
}

describe('HTTPS to an authority', () => {
  let cert: string;
  let key: string;
  let server: Server;
  let transport: Transport;
  let clock: FakeClock;
  let respond: RequestListener;

  before(async () => {
    const own = await newKey();
    const now = Date.now();
    const content = { names: ['localhost'], publicKey: publicKeyOf(own), extensions: [] };
    cert = certificate({ ...content, from: now - DAY_MS, until: now + DAY_MS }, own);
    key = pemOf(own);
  });

  beforeEach(async () => {
    server = createServer({ cert, key }, (request, response) => respond(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    clock = new FakeClock();
    transport = httpsTransport([cert], 'test', clock);
  });

  afterEach(() => {
    transport.close();
    server.close();
    server.closeAllConnections();
  });

  function send(): ReturnType<Transport['send']> {
    return transport.send(`https://localhost:${(server.address() as AddressInfo).port}/x`, '{}');
  }

  it('posts JSON, and gives what comes back', async () => {
    respond = (request, response) => {
      assert.equal(request.headers['content-type'], 'application/jose+json');
      response.writeHead(201, { 'replay-nonce': 'n', 'retry-after': '2' }).end('{"a":1}');
    };
    const { status, headers, body, retryAfterMs } = await send();
    assert.deepEqual(
      [status, headers['replay-nonce'], body.toString(), retryAfterMs],
      [201, 'n', '{"a":1}', 2000],
    );
  });

  it('takes no response above 128 KiB', async () => {
    respond = (_request, response) => response.end(Buffer.alloc(ACME_ANSWER_MAX_BYTES));
    assert.equal((await send()).body.length, ACME_ANSWER_MAX_BYTES);
    respond = (_request, response) => response.end(Buffer.alloc(ACME_ANSWER_MAX_BYTES + 1));
    await assert.rejects(send(), fails(/more than 131072 bytes/));
  });

  it('waits 20 s for a response, head and body', async () => {
    respond = (_request, response) => {
      response.write('a part');
      setImmediate(() => clock.advance(ACME_REQUEST_TIMEOUT_MS));
    };
    await assert.rejects(send(), fails(/no answer within 20000 ms/));
  });

  it('trusts only who it is told to trust', async () => {
    transport = httpsTransport(undefined, 'test', clock);
    await assert.rejects(send(), fails(/cannot be reached/));
  });

  it('sends nothing more once it is closed', async () => {
    respond = (_request, response) => response.end();
    transport.close();
    await assert.rejects(send(), fails(/cannot be reached/));
  });

  it('waits as long as an authority asks, a day at most', () => {
    const now = Date.UTC(2026, 0, 1);
    assert.equal(retryAfter(undefined, now), undefined);
    assert.equal(retryAfter('120', now), 120_000);
    assert.equal(retryAfter('Thu, 01 Jan 2026 00:00:30 GMT', now), 30_000);
    assert.equal(retryAfter('999999999', now), ACME_RETRY_AFTER_MAX_MS);
    assert.equal(retryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now), 0);
    assert.equal(retryAfter('soon', now), undefined);
  });
});
