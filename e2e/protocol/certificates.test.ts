import assert from 'node:assert/strict';
import { createNamed, FaultyAuthority, shake } from '../support/certified-relay.ts';
import { eventually } from '../support/deadline.ts';
import { Pebble } from '../support/certificates.ts';
import { RelayProgram } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { type Scope, suiteScope, testScope } from '../support/scope.ts';

const OWN = 'relay.test';

function start(scope: Scope, pebble: Pebble, settings: Record<string, string> = {}): Promise<RelayProgram> {
  return RelayProgram.start(scope, {
    ...pebble.settings,
    CULVERT_PUBLIC_URL: `https://${OWN}:${pebble.tlsPort}`,
    CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    ...settings,
  });
}

/** Waits until the relay has a certificate for its own name. */
async function certified(port: number, root: string): Promise<void> {
  await eventually(60_000, async () => {
    const { authorized } = await shake(port, OWN, root);
    assert.ok(authorized);
  });
}

describe('a relay that obtains its own certificates', function () {
  this.timeout(180_000);
  const scope = suiteScope();
  let pebble: Pebble;
  let relay: RelayProgram;
  let root: string;

  before(async () => {
    pebble = await Pebble.start(scope, { nonceReject: 30, authzReuse: 50 });
    relay = await start(scope, pebble);
    root = await pebble.root();
    await certified(pebble.tlsPort, root);
  });

  function tunnel(name: string): Promise<{ readonly public_url: string }> {
    return createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, name, root);
  }

  it('has one for its own name soon after the start, and logs it', async () => {
    const { certificate, protocol } = await shake(pebble.tlsPort, OWN, root);
    assert.equal(certificate.subjectaltname, `DNS:${OWN}`);
    assert.equal(protocol, 'TLSv1.3');
    await relay.child.printed(/"msg":"certificate issued"/);
  });

  it('gets one for a live tunnel at the first visit, with one order for all simultaneous visitors', async () => {
    const { public_url } = await tunnel('hello');
    assert.equal(public_url, `https://hello.tunnels.test:${pebble.tlsPort}`);
    const before = pebble.orders;
    const shaken = await Promise.all(
      Array.from({ length: 10 }, () => shake(pebble.tlsPort, 'hello.tunnels.test', root)),
    );
    assert.ok(shaken.every(({ authorized }) => authorized));
    assert.equal(shaken[0]?.certificate.subjectaltname, 'DNS:hello.tunnels.test');
    const { status } = await visit({ port: pebble.tlsPort, ca: root }, { host: 'hello.tunnels.test' });
    assert.equal(status, 503);
    assert.equal(pebble.orders, before + 1);
  });

  it('presents its own certificate for every other name, and orders none for 3,000 unknown names', async () => {
    const before = pebble.orders;
    const names = Array.from({ length: 3000 }, (_, index) => `scan-${index}.tunnels.test`);
    for (let at = 0; at < names.length; at += 50) {
      const shaken = await Promise.all(
        names.slice(at, at + 50).map((name) => shake(pebble.tlsPort, name, root)),
      );
      for (const { authorized, certificate } of shaken) {
        assert.equal(authorized, false);
        assert.equal(certificate.subjectaltname, `DNS:${OWN}`);
      }
    }
    for (const name of [undefined, 'elsewhere.test', 'a.b.tunnels.test'])
      assert.equal((await shake(pebble.tlsPort, name, root)).certificate.subjectaltname, `DNS:${OWN}`);
    assert.equal(pebble.orders, before);
  }).timeout(900_000);

  it('tells browsers to use https only at its own address, and does not do so for tunnels', async () => {
    const own = await visit({ port: pebble.tlsPort, ca: root }, { host: OWN, target: '/healthz' });
    assert.equal(own.head.field('strict-transport-security'), 'max-age=31536000');
    await tunnel('plain');
    const other = await visit({ port: pebble.tlsPort, ca: root }, { host: 'plain.tunnels.test' });
    assert.equal(other.head.field('strict-transport-security'), undefined);
    const path = await visit({ port: pebble.tlsPort, ca: root }, { host: OWN, target: '/t/plain/' });
    assert.equal(path.head.field('strict-transport-security'), undefined);
  });

  it('redirects plain HTTP to https, for its own names only', async () => {
    const own = await visit(pebble.httpPort, { host: `${OWN}:80`, target: '/a/b?c=d' });
    assert.equal(own.status, 308);
    assert.equal(own.head.field('location'), `https://${OWN}:${pebble.tlsPort}/a/b?c=d`);
    assert.equal((await visit(pebble.httpPort, { host: 'elsewhere.test' })).status, 404);
    assert.equal((await visit(pebble.httpPort, { host: 'nobody.tunnels.test' })).status, 404);
  });

  it('has its certificates again after a restart, without an order', async () => {
    await tunnel('kept');
    assert.ok((await shake(pebble.tlsPort, 'kept.tunnels.test', root)).authorized);
    const before = pebble.orders;
    await relay.stop();
    await relay.restart();
    for (const name of [OWN, 'kept.tunnels.test'])
      assert.ok((await shake(pebble.tlsPort, name, root)).authorized, name);
    assert.equal(pebble.orders, before);
  });

  it('tells authorized callers which names are served', async () => {
    const ask = async (domain: string): Promise<number> =>
      (await visit({ port: pebble.tlsPort, ca: root }, { host: OWN, target: `/v1/ask?domain=${domain}` }))
        .status;
    await tunnel('asked');
    assert.equal(await ask(OWN), 200);
    assert.equal(await ask('asked.tunnels.test'), 200);
    assert.equal(await ask('Asked.Tunnels.Test'), 200);
    for (const name of ['nobody.tunnels.test', 'elsewhere.test', '127.0.0.1', '', 'a%0d%0a'])
      assert.equal(await ask(name), 404, name);
  });
});

describe('certificates', function () {
  this.timeout(180_000);
  const scope = testScope();

  it('are validated with http-01 if tls-alpn-01 does not get through', async () => {
    // The authority cannot reach the relay on its port for TLS.
    const elsewhere = await Pebble.start(scope);
    const relay = await start(scope, elsewhere, { CULVERT_PORT: '0' });
    await relay.child.printed(/"name":"relay.test",[^\n]*"msg":"certificate issued"/);
    await certified(relay.port, await elsewhere.root());
    assert.equal(elsewhere.orders, 2);
  });

  it('are renewed before they expire', async () => {
    const pebble = await Pebble.start(scope, { validity: 60 });
    const relay = await start(scope, pebble);
    const root = await pebble.root();
    await certified(pebble.tlsPort, root);
    await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, 'web', root);
    const serial = async (name: string): Promise<string> => {
      const { authorized, certificate } = await shake(pebble.tlsPort, name, root);
      assert.ok(authorized, name);
      return certificate.serialNumber;
    };
    const first = await Promise.all([OWN, 'web.tunnels.test'].map(serial));
    await eventually(120_000, async () => {
      const now = await Promise.all([OWN, 'web.tunnels.test'].map(serial));
      assert.ok(now.every((one, index) => one !== first[index]));
    });
  });

  it('are limited to the configured number of orders per hour, and the relay continues without more', async () => {
    const pebble = await Pebble.start(scope);
    const relay = await start(scope, pebble, { CULVERT_ACME_ORDERS_PER_HOUR: '4' });
    const root = await pebble.root();
    await certified(pebble.tlsPort, root);
    for (const name of ['a1', 'a2', 'a3', 'a4'])
      await createNamed(pebble.tlsPort, OWN, relay.bootstrapKey, name, root);
    const got = [];
    for (const name of ['a1', 'a2', 'a3', 'a4'])
      got.push((await shake(pebble.tlsPort, `${name}.tunnels.test`, root)).authorized);
    assert.deepEqual(got, [true, true, false, false]);
    assert.equal(pebble.orders, 3);
    await relay.child.printed(/"name":"a3.tunnels.test",[^\n]*"msg":"certificate order limit"/);
  });

  it('are ordered again by a relay that was killed in the middle of an order', async () => {
    const pebble = await Pebble.start(scope);
    const relay = await start(scope, pebble);
    await relay.child.printed(/"msg":"certificate ordered"/);
    await relay.stop('SIGKILL');
    await relay.restart();
    await certified(pebble.tlsPort, await pebble.root());
    assert.ok(pebble.orders <= 2);
  });

  it('are missing while the authority is unavailable: TLS refuses, and plain HTTP still redirects', async () => {
    const pebble = await Pebble.start(scope);
    const relay = await start(scope, pebble, {
      CULVERT_ACME_DIRECTORY: `https://localhost:${pebble.tlsPort}/nobody`,
    });
    await relay.child.printed(/"msg":"certificate order failed"/);
    await assert.rejects(shake(pebble.tlsPort, OWN, await pebble.root()), /handshake failure/);
    const { status } = await visit(pebble.httpPort, { host: OWN });
    assert.equal(status, 308);
  });

  for (const [what, fault] of [
    ['is cut off', 'cut'],
    ['answers 503', { status: 503, type: 'serverInternal' }],
    ['answers 429', { status: 429, type: 'rateLimited', headers: { 'retry-after': '12' } }],
  ] satisfies [string, FaultyAuthority['fault']][]) {
    it(`arrive by themselves once an authority that ${what} recovers, without retries before`, async () => {
      const pebble = await Pebble.start(scope);
      const authority = await FaultyAuthority.start(scope, pebble);
      authority.fault = fault;
      const relay = await start(scope, pebble, { CULVERT_ACME_DIRECTORY: authority.directory });
      await relay.child.printed(/"msg":"certificate order failed"/);
      assert.equal(authority.asked, 1);
      authority.fault = undefined;
      await certified(pebble.tlsPort, await pebble.root());
      assert.equal(pebble.orders, 1);
    });
  }
});
