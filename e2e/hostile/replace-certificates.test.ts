import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect as netConnect } from 'node:net';
import { connect } from 'node:tls';
import { dnsQuery } from '../../server/testing/dns-server.ts';
import {
  type CertifiedRelay,
  createNamed,
  FaultyAuthority,
  shake,
  startCertifiedRelay,
} from '../support/certified-relay.ts';
import { eventually, within } from '../support/deadline.ts';
import { Pebble } from '../support/certificates.ts';
import { RelayProgram } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { Scope, suiteScope } from '../support/scope.ts';

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
    const world = await startCertifiedRelay(scope, { records: ['_acme-challenge.tunnels NS relay'] });
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
    const { address, relay, pebble } = await startCertifiedRelay(scope);
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

/* Continuous, independent requests that record which ones were not answered. */

/** ms that an answer may take on a busy machine. */
const ANSWER_MS = 20_000;

/** Sends one request. @throws Error when there is no answer, or not the right one */
type Ask = () => Promise<unknown>;

class Asker {
  readonly faults: string[] = [];
  answered = 0;
  readonly #ask: Ask;
  readonly #loops: readonly Promise<void>[];
  #isOver = false;

  /** @param atOnce requests that are open at any time */
  constructor(ask: Ask, atOnce: number) {
    this.#ask = ask;
    this.#loops = Array.from({ length: atOnce }, () => this.#loop());
  }

  /** Fulfilled when the last request is done. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  async #loop(): Promise<void> {
    while (!this.#isOver) {
      try {
        await this.#ask();
        this.answered += 1;
      } catch (error) {
        this.faults.push(String(error));
      }
    }
  }
}

let network = 0;

/** An address of the network that was used least: servers limit each network. */
function nextNetwork(): string {
  network += 1;
  return `127.${1 + (Math.floor(network / 250) % 60)}.${1 + (network % 250)}.1`;
}

/** Asks a DNS server for the TXT records of a name, over UDP, without retrying. */
async function askUdp(address: string, port: number, name: string): Promise<void> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, nextNetwork());
    await once(socket, 'listening');
    const answer = once(socket, 'message');
    socket.send(dnsQuery(name), port, address);
    const [packet] = (await within(ANSWER_MS, 'an answer over UDP', answer)) as [Buffer];
    assertAnswered(packet);
  } finally {
    socket.close();
  }
}

/** Asks a DNS server for the TXT records of a name, over a new TCP connection. */
async function askTcp(address: string, port: number, name: string): Promise<void> {
  const socket = netConnect({ host: address, port, localAddress: nextNetwork() });
  try {
    const query = dnsQuery(name);
    socket.write(Buffer.concat([Buffer.from([query.length >> 8, query.length & 0xff]), query]));
    const answer = once(socket, 'data');
    // Rejects if the connection ends without an answer.
    const end = once(socket, 'close').then(() => Promise.reject(new Error('the connection has ended')));
    end.catch(() => {});
    const [packet] = (await within(ANSWER_MS, 'an answer over TCP', Promise.race([answer, end]))) as [Buffer];
    assertAnswered(packet.subarray(2));
  } finally {
    socket.destroy();
  }
}

/** Sends a plain HTTP request to a port, over a new connection. */
async function askHttp(address: string, port: number, host: string): Promise<void> {
  const scope = new Scope();
  try {
    const connection = await RawConnection.open(scope, port, undefined, undefined, address);
    const { status } = await connection.request({ host });
    if (status !== 308) throw new Error(`HTTP ${status}`);
  } finally {
    await scope.end();
  }
}

/** Asserts NOERROR from an authoritative server. */
function assertAnswered(packet: Buffer): void {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x840f) !== 0x8400) throw new Error(`DNS flags ${flags.toString(16)}`);
}
