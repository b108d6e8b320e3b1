import assert from 'node:assert/strict';
import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { FakeAuthority, selfSigned } from '../../testing/fake-authority.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  ACME_ANSWER_MAX_BYTES,
  ACME_NONCE_RETRIES,
  ACME_NONCES_MAX,
  ACME_REQUEST_TIMEOUT_MS,
  ACME_RETRY_AFTER_MAX_MS,
  AcmeProblem,
  AcmeSession,
  type Answer,
  AuthorityError,
  httpsTransport,
  retryAfter,
  type Transport,
} from './session.ts';
import { newKey } from './x509.ts';

describe('AcmeSession', () => {
  let authority: FakeAuthority;
  let session: AcmeSession;
  let key: KeyObject;

  before(async () => {
    key = await newKey();
  });

  beforeEach(() => {
    authority = new FakeAuthority(() => 0);
    session = new AcmeSession(authority, authority.directory);
  });

  function register(): Promise<string> {
    return session.register(key, 'operator@relay.test');
  }

  it('requests the directory once, also after a failure, no nonce while it has one, and uses none twice', async () => {
    authority.isDown = true;
    await assert.rejects(register(), AuthorityError);
    authority.isDown = false;
    const nonces: string[] = [];
    authority.fault = ({ nonce }) => {
      nonces.push(nonce);
      return undefined;
    };
    for (let count = 0; count < 5; count += 1) assert.match(await register(), /^https:/);
    assert.deepEqual(authority.asked, ['/dir', '/nonce', ...Array<string>(5).fill('/account')]);
    assert.equal(new Set(nonces).size, 5);
  });

  it('tries again with another nonce, up to eight times', async () => {
    let refused = 0;
    let limit = ACME_NONCE_RETRIES;
    authority.fault = () => (refused++ < limit ? authority.problem(400, 'badNonce') : undefined);
    await register();
    assert.equal(refused, ACME_NONCE_RETRIES + 1);
    refused = 0;
    limit = Infinity;
    await assert.rejects(register(), AuthorityError);
    assert.equal(refused, ACME_NONCE_RETRIES + 1);
  });

  it('keeps at most 16 nonces', async () => {
    const held: (() => void)[] = [];
    const send = authority.send.bind(authority);
    authority.send = async (url, body) => {
      const answer = await send(url, body);
      await new Promise<void>((resolve) => {
        held.push(resolve);
        if (url.endsWith('/dir') || held.length >= ACME_NONCES_MAX + 4) for (const go of held.splice(0)) go();
      });
      return answer;
    };
    await Promise.all(Array.from({ length: ACME_NONCES_MAX + 4 }, register));
    authority.send = send;
    authority.asked.length = 0;
    for (let count = 0; count < ACME_NONCES_MAX; count += 1) await register();
    assert.ok(!authority.asked.includes('/nonce'));
    // As many as it kept, although it received more: two simultaneous requests need another one.
    authority.asked.length = 0;
    await Promise.all(Array.from({ length: ACME_NONCES_MAX + 1 }, register));
    assert.equal(authority.asked.filter((path) => path === '/nonce').length, 1);
  });

  it('distinguishes refusals from an authority that does not work', async () => {
    authority.fault = () => authority.problem(403, 'rejectedIdentifier');
    await assert.rejects(
      register(),
      (error) => error instanceof AcmeProblem && error.type === 'rejectedIdentifier',
    );
    for (const [status, type] of [
      [429, 'rateLimited'],
      [503, 'serverInternal'],
      [403, 'rateLimited'],
    ] as const) {
      authority.fault = () => authority.problem(status, type, { 'retry-after': '70' });
      await assert.rejects(
        register(),
        (error) => error instanceof AuthorityError && error.retryAfterMs === 70_000,
      );
    }
  });

  it('accepts only https addresses, and only JSON', async () => {
    const location = (to: string): Answer => ({
      ...authority.problem(201, 'none'),
      headers: { location: to },
    });
    for (const to of ['http://authority.test/1', '/1', '']) {
      authority.fault = () => location(to);
      await assert.rejects(register(), AuthorityError, to);
    }
    authority.send = () =>
      Promise.resolve({ status: 200, headers: {}, body: Buffer.from('<html>'), retryAfterMs: undefined });
    session = new AcmeSession(authority, authority.directory);
    await assert.rejects(register(), AuthorityError);
  });

  it('logs messages of an authority without characters that terminals obey', () => {
    const error = new AcmeProblem('malformed', `a\u001b[2Jb\n${'x'.repeat(1000)}`, 400);
    assert.match(error.message, /^malformed: a\?\[2Jb\?x+$/);
    assert.ok(error.message.length < 330);
  });
});

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
    ({ chain: cert, key } = await selfSigned('localhost', Date.now() - DAY_MS, Date.now() + DAY_MS));
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

  it('posts JSON, and returns the response', async () => {
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

  it('rejects a response above 128 KiB', async () => {
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
    await assert.rejects(send(), fails(/no response within 20000 ms/));
  });

  it('trusts only the given authorities, and sends nothing after it is closed', async () => {
    respond = (_request, response) => response.end();
    const strict = httpsTransport(undefined, 'test', clock);
    const url = `https://localhost:${(server.address() as AddressInfo).port}/x`;
    await assert.rejects(strict.send(url, '{}'), fails(/cannot be reached/));
    strict.close();
    await send();
    transport.close();
    await assert.rejects(send(), fails(/cannot be reached/));
  });

  for (const [given, ms] of [
    [undefined, undefined],
    ['120', 120_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['999999999', ACME_RETRY_AFTER_MAX_MS],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', undefined],
  ] as const)
    it(`waits ${ms} ms if an authority requests ${given}`, () =>
      assert.equal(retryAfter(given, Date.UTC(2026, 0, 1)), ms));
});
