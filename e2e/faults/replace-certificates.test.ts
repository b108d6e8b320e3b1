import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:tls';
import {
  Asker,
  askHttp,
  askTcp,
  askUdp,
  CertifiedRelay,
  createNamed,
  FaultyAuthority,
  shake,
} from '../support/certified-relay.ts';
import { eventually, within } from '../support/deadline.ts';
import { Pebble } from '../support/certificates.ts';
import { RelayProgram } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const TIMES = 3;
const CHALLENGES = '_acme-challenge.tunnels.test';
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: relay.test\r\nConnection: close\r\n\r\n';

interface Visited {
  readonly isReused: boolean;
  /** TLS session for the next visit */
  readonly session: Buffer | undefined;
}

describe('serve --replace of a relay that obtains its own certificates', function () {
  this.timeout(300_000);
  const scope = suiteScope();

  it(`answers all DNS and plain HTTP, orders nothing, and resumes sessions, ${TIMES} times`, async () => {
    const world = await CertifiedRelay.start(scope, { records: ['_acme-challenge.tunnels NS relay'] });
    const { address, relay, pebble } = world;
    await eventually(120_000, () => {
      const names = world.logged('certificate issued').map((line) => line['name']);
      assert.deepEqual(new Set(names), new Set(['*.tunnels.test', 'relay.test']));
    });
    const orders = pebble.orders;
    const { session } = await visitWith(world);
    const askers = {
      udp: new Asker(() => askUdp(address, 53, CHALLENGES), 8),
      tcp: new Asker(() => askTcp(address, 53, CHALLENGES), 8),
      http: new Asker(() => askHttp(address, pebble.httpPort, 'relay.test'), 8),
    };
    scope.defer(async () => void (await Promise.all(Object.values(askers).map((asker) => asker.stop()))));
    for (let turn = 0; turn < TIMES; turn += 1) {
      const before = await relay.replace();
      const { isReused } = await visitWith(world, session);
      assert.ok(isReused, `the session after replacement ${turn + 1}`);
      assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
    }
    for (const [name, asker] of Object.entries(askers)) {
      await asker.stop();
      assert.deepEqual(asker.faults, [], `${name}, besides ${asker.answered} answers`);
      assert.ok(asker.answered > TIMES, name);
    }
    assert.equal(await world.namesAt('anything.tunnels.test'), 'DNS:*.tunnels.test');
    assert.equal(pebble.orders, orders);
  });

  it('answers plain HTTP at the configured address, and no longer at that of the previous relay', async () => {
    const { address, relay, pebble } = await CertifiedRelay.start(scope);
    const next = pebble.httpPort + 1;
    const before = await relay.replace({ CULVERT_HTTP_PORT: String(next) });
    await askHttp(address, next, 'relay.test');
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
    await assert.rejects(askHttp(address, pebble.httpPort, 'relay.test'), { code: 'ECONNREFUSED' });
  });

  it('completes an order in progress, for the visitors of both relays', async () => {
    const pebble = await Pebble.start(scope);
    const authority = await FaultyAuthority.start(scope, pebble);
    const relay = await RelayProgram.start(scope, {
      ...pebble.settings,
      CULVERT_ACME_DIRECTORY: authority.directory,
      CULVERT_PUBLIC_URL: `https://relay.test:${pebble.tlsPort}`,
      CULVERT_TUNNEL_DOMAIN: 'tunnels.test',
    });
    const root = await pebble.root();
    await eventually(120_000, async () =>
      assert.ok((await shake(pebble.tlsPort, 'relay.test', root)).authorized),
    );
    await createNamed(pebble.tlsPort, 'relay.test', relay.bootstrapKey, 'web', root);
    const [proving, replaced] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    authority.before = (path) => {
      if (!path.startsWith('/chalZ/')) return;
      proving.resolve();
      return replaced.promise;
    };
    const visitors = [shake(pebble.tlsPort, 'web.tunnels.test', root)];
    await within(60_000, 'the challenge', proving.promise);
    const before = await relay.replace();
    visitors.push(shake(pebble.tlsPort, 'web.tunnels.test', root));
    replaced.resolve();
    for (const { authorized, certificate } of await Promise.all(visitors)) {
      assert.equal(certificate.subjectaltname, 'DNS:web.tunnels.test');
      assert.ok(authorized);
    }
    assert.equal(pebble.orders, 2);
    assert.deepEqual(await before.exit(40_000), { code: 0, signal: null });
  });
});

/** Visits the relay's address, with the session of an earlier visit if there is one. */
async function visitWith(world: CertifiedRelay, session?: Buffer): Promise<Visited> {
  const { address: host, root: ca, relay } = world;
  const socket = connect({ host, port: relay.port, servername: 'relay.test', ca, session });
  let given: Buffer | undefined;
  socket.on('session', (next: Buffer) => (given = next));
  await within(60_000, 'the handshake', once(socket, 'secureConnect'));
  const isReused = socket.isSessionReused();
  socket.write(REQUEST);
  await within(60_000, 'the response', once(socket.resume(), 'end'));
  return { isReused, session: given };
}
