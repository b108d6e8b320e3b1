import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { onLinux } from '../../shared/testing/posix.ts';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { ChallengeRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { aChallenge, ofEach, openTestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { Orders } from './acme-orders.ts';
import {
  CertificateRenewal,
  HTTP_PORT_ADDRESS_CONNECTIONS_MAX,
  HTTP_PORT_CONNECTIONS_MAX,
  HTTP_PORT_HEAD_MAX_BYTES,
  HTTP_PORT_IDLE_MS,
  HTTP_PORT_REQUEST_MS,
  HTTP_PORT_REQUESTS_MAX,
  httpPort,
} from './certificates.ts';
import { KnownCertificates } from './known-certificates.ts';

const TOKEN = 'a-token-of-some-length';
const CHALLENGE = aChallenge({ host: 'a.tunnels.test', token: TOKEN, keyAuthorization: `${TOKEN}.x` });

function locationIn(response: string): string | undefined {
  assert.match(response, /^HTTP\/1.1 308 /);
  return /\r\nLocation: (.*)\r\n/.exec(response)?.[1];
}

function field(length: number): string {
  return `X: ${'x'.repeat(length)}\r\n`;
}

describe('the port for plain HTTP', () => {
  let server: Server;
  let port: number | undefined;
  let presented: ChallengeRecord[];

  beforeEach(async () => {
    port = undefined;
    presented = [];
    await open();
  });

  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  async function open(): Promise<void> {
    server = httpPort({
      challenges: {
        find: (type, host) =>
          Promise.resolve(presented.filter((one) => one.type === type && one.host === host)),
      },
      leadsHere: (host) => ['relay.test', 'a.tunnels.test'].includes(host),
      port,
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  /** @param from a different loopback address for each number */
  function socket(from = 1): Socket {
    const { port: bound } = server.address() as AddressInfo;
    const localAddress = from === 1 ? undefined : `127.0.${from >> 8}.${from & 255}`;
    return connect({ port: bound, host: '127.0.0.1', ...(localAddress && { localAddress }) }).on(
      'error',
      () => {},
    );
  }

  async function ask(target: string, host = 'relay.test', more = ''): Promise<string> {
    const connection = socket();
    connection.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`, 'latin1');
    let text = '';
    for await (const part of connection) text += String(part);
    return text;
  }

  it('redirects to https with path and query', async () => {
    assert.equal(locationIn(await ask('/a/b?c=d&e=%0d%0a')), 'https://relay.test/a/b?c=d&e=%0d%0a');
    assert.equal(locationIn(await ask('/', 'A.tunnels.test:80')), 'https://a.tunnels.test/');
    assert.equal(locationIn(await ask('//evil.test/x')), 'https://relay.test//evil.test/x');
  });

  it('redirects to the port of the public address, also after a connection could not be accepted', async () => {
    server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
    assert.equal(locationIn(await ask('/')), 'https://relay.test/');
    server.close();
    port = 8443;
    await open();
    assert.equal(locationIn(await ask('/x', 'relay.test:8080')), 'https://relay.test:8443/x');
  });

  it('redirects nowhere else, and repeats no text of the request', async () => {
    for (const host of ['evil.test', '127.0.0.1', 'b.tunnels.test', 'localhost'])
      assert.match(await ask('/', host), /^HTTP\/1.1 404 /, host);
    for (const host of ['', 'relay.test/x', 'a@relay.test', 'relay.test:80:80', 'relay.test%0d', '[::1]'])
      assert.match(await ask('/', host), /^HTTP\/1.1 400 /, host);
    for (const target of ['http://relay.test/', '*'])
      assert.match(await ask(target), /^HTTP\/1.1 400 /, target);
    // Node's parser rejects such bytes.
    for (const target of ['/\u00e4', 'x']) assert.equal(await ask(target), '');
    assert.match(await ask('/', 'relay.test', 'Host: evil.test\r\n'), /^HTTP\/1.1 (?:400|308) /);
  });

  it('answers http-01 challenges for their own host only', async () => {
    presented = [CHALLENGE];
    const path = `/.well-known/acme-challenge/${TOKEN}`;
    assert.match(await ask(path, 'a.tunnels.test'), /^HTTP\/1.1 200 [^]*\r\n\r\na-token-of-some-length\.x$/);
    for (const [target, host] of [
      [path, 'relay.test'],
      [`${path}x`, 'a.tunnels.test'],
    ] as const)
      assert.match(await ask(target, host), /^HTTP\/1.1 308 /);
  });

  describe('when it is full', () => {
    let idle: Socket[];

    beforeEach(() => (idle = []));

    afterEach(() => idle.forEach((connection) => connection.destroy()));

    /** Opens a connection that sends nothing. */
    async function hold(from = 1): Promise<void> {
      idle.push(socket(from).resume());
      await once(server, 'connection');
    }

    it('closes the connection of an address that was without a request for longest when it has 32', async () => {
      while (idle.length < HTTP_PORT_ADDRESS_CONNECTIONS_MAX) await hold();
      const [first, second, third] = idle as [Socket, Socket, Socket];
      first.write('GET / HTTP/1.1\r\nHost: relay.test\r\n\r\n');
      second.write('GET / HTTP/1.1\r\nHost: rel');
      await once(first, 'data');
      const closed = once(second, 'close');
      assert.equal(locationIn(await ask('/')), 'https://relay.test/');
      await closed;
      assert.deepEqual([first.destroyed, third.destroyed], [false, false]);
    });

    onLinux('closes the oldest unfinished connection of all when it has 1,024', async () => {
      for (let index = 0; index < HTTP_PORT_CONNECTIONS_MAX; index += 1) await hold(2 + (index >> 3));
      const closed = once(idle[0] as Socket, 'close');
      presented = [CHALLENGE];
      assert.match(await ask(`/.well-known/acme-challenge/${TOKEN}`, 'a.tunnels.test'), /^HTTP\/1.1 200 /);
      await closed;
      assert.equal(idle[1]?.destroyed, false);
    });
  });

  it('accepts a head of 8 KiB, and no body', async () => {
    assert.match(await ask('/', 'relay.test', field(HTTP_PORT_HEAD_MAX_BYTES - 300)), /^HTTP\/1.1 308 /);
    assert.equal(await ask('/', 'relay.test', field(HTTP_PORT_HEAD_MAX_BYTES)), '');
    const text = await ask('/', 'relay.test', 'Content-Length: 5\r\n');
    assert.match(text, /^HTTP\/1.1 308 [^]*\r\nConnection: close\r\n/);
  });

  it('waits 10 s for a request, and 5 s for the next one', () => {
    const { headersTimeout, requestTimeout, timeout, keepAliveTimeout } = server;
    const first = [headersTimeout, requestTimeout, timeout];
    assert.deepEqual(
      [...first, keepAliveTimeout],
      [...first.map(() => HTTP_PORT_REQUEST_MS), HTTP_PORT_IDLE_MS],
    );
  });

  it('serves 100 requests per connection', async () => {
    const connection = socket();
    const request = 'GET / HTTP/1.1\r\nHost: relay.test\r\n\r\n';
    // An explicit end, because the port would wait for more requests.
    connection.end(request.repeat(HTTP_PORT_REQUESTS_MAX + 5));
    let text = '';
    for await (const part of connection) text += String(part);
    assert.equal(text.match(/HTTP\/1.1 308 /g)?.length, HTTP_PORT_REQUESTS_MAX);
  });
});

const HOUR = 3_600_000;

/** Times are in seconds; `skip` lets them pass at once. A step shows the certificates that it orders and stores. */
const SCRIPTS: Readonly<Record<string, string>> = {
  'orders required certificates immediately, despite earlier failures, and again until they exist':
    'start: relay.test despite failures; +10: relay.test; have relay.test; +30',
  'orders required wildcards, as soon as there are any': `have relay.test; have a.test; start; require *.t.test;
    +10: *.t.test; have *.t.test; +30`,
  'renews certificates in time, but only needed ones': `have relay.test; have a.test; have gone.test; have *.b.test;
    start; skip 215990; +10: a.test, relay.test`,
  'renews for a name that has returned, an hour later at most': `have relay.test; have back.test due; start;
    return back.test; +10; skip 3580; +20: back.test`,
  'removes certificates that have ended': `have relay.test; have gone.test; start; known?: gone.test relay.test;
    skip 324000; +20: relay.test; known?: none`,
  'orders and removes nothing if another process does': `have relay.test; have a.test due; have gone.test; follow;
    start; +30; skip 324000; +20; known?: a.test gone.test relay.test`,
  'retries once a minute to store rejected certificates': `have relay.test; rejected a.test; start: stores a.test;
    +50; +10: stores a.test`,
};

describe('CertificateRenewal', () => {
  let clock: FakeClock;
  let store: Store;
  let known: KnownCertificates;
  let did: Set<string>;
  let alive: Set<string>;
  let always: string[];
  let renews: boolean;
  let upkeep: CertificateRenewal;

  beforeEach(async () => {
    clock = new FakeClock();
    store = await openTestStore(() => {});
    known = new KnownCertificates(store, clock);
    did = new Set();
    alive = new Set(['relay.test', 'a.test']);
    always = [];
    renews = true;
    const obtain: Orders['obtain'] = ({ subject }, cause, ignoreWait) => {
      assert.equal(cause, 'upkeep');
      did.add(subject + (ignoreWait === true ? ' despite failures' : ''));
      return Promise.resolve();
    };
    upkeep = new CertificateRenewal({
      own: 'relay.test',
      get renews() {
        return renews;
      },
      always: () => Promise.resolve(always),
      known,
      orders: {
        obtain,
        obtainFor: (_host, plan, cause, ignoreWait) => obtain(plan, cause, ignoreWait),
        store: ({ name }) => Promise.resolve(void did.add(`stores ${name}`)),
      },
      planFor: (subject) => Promise.resolve({ subject, solvers: [] }),
      mayHave: (name) => alive.has(name),
      looked: () => Promise.resolve(),
      clock,
    });
  });

  afterEach(() => upkeep.stop());

  async function play(step: string): Promise<string> {
    did.clear();
    const [verb = '', name = '', due] = step.split(' ');
    const now = clock.now();
    const renewAt = due === undefined ? now + 60 * HOUR : now;
    const record = { name, chain: 'c', key: 'k', renewAt, notAfter: now + 90 * HOUR, storedAt: now };
    if (verb === 'start') await upkeep.start();
    else if (verb === 'have') await store.storeCertificate(record, 0);
    else if (verb === 'rejected') known.add(record, false);
    else if (verb === 'require') always.push(name);
    else if (verb === 'follow') renews = false;
    else if (verb === 'return') alive.add(name);
    else if (verb === 'skip') clock.advance(Number(name) * 1000);
    else if (verb === 'known?')
      return ofEach(await store.certificateSummaries(0), 'name').join(' ') || 'none';
    else
      for (let left = Number(verb); left > 0; left -= 10) {
        clock.advance(10_000);
        for (let count = 0; count < 6; count += 1) await nextTurn();
      }
    return [...did].toSorted((a, b) => a.localeCompare(b)).join(', ');
  }

  for (const [title, script] of Object.entries(SCRIPTS)) it(title, () => checkAsyncScript(script, play));
});
