import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { onLinux } from '../../../shared/testing/posix.ts';
import { Listeners } from '../../listeners.ts';
import { dnsQuestions } from '../../observe/counters.ts';
import { dnsQuery, optRecord, readDnsResponse } from '../../testing/dns-server.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import {
  Authority,
  DNS_TEXTS_MS,
  type LoadTexts,
  type PendingText,
  PendingTexts,
  Zones,
} from './authority.ts';
import {
  DNS_CONNECTION_IDLE_MS,
  DNS_CONNECTIONS_MAX,
  DNS_CONNECTIONS_OF_ONE_MAX,
  DNS_QUERIES_BURST,
  DNS_QUERIES_PER_MINUTE,
  DNS_QUERY_MAX_BYTES,
  DNS_WAITING_MAX,
  dnsAddresses,
  DnsServer,
  type DnsServerOptions,
  Responder,
  SourceLimits,
  sourceNetwork,
  withLength,
} from './dns-server.ts';
import type { Transport } from './wire.ts';

const NAME = '_acme-challenge.tunnels.example';

describe('the DNS server', () => {
  let clock: FakeClock;
  let server: DnsServer;
  let port: number;
  const sockets: Socket[] = [];

  beforeEach(async () => {
    clock = new FakeClock();
    server = await start();
  });

  function start(given: Partial<DnsServerOptions> = {}): Promise<DnsServer> {
    return DnsServer.start({
      host: '127.0.0.1',
      port: 0,
      listeners: new Listeners(),
      authority: new Authority({
        zones: new Zones(['tunnels.example'], []),
        nameServer: 'relay.example',
        mark: 'x',
      }),
      load: () => Promise.resolve([{ name: NAME, text: 'a text' }]),
      clock,
      log: (_event, fields) => (port = Number(fields?.['port'])),
      ...given,
    });
  }

  afterEach(() => {
    server.close();
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  /** From a different loopback network for each number. */
  async function open(network = 0): Promise<Socket> {
    const socket = connect({
      host: '127.0.0.1',
      port,
      localAddress: `127.0.${network}.1`,
      allowHalfOpen: true,
    });
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  it('answers over UDP and TCP on the same port, which no other one can use', async () => {
    await assert.rejects(start({ port }), { code: 'EADDRINUSE' });
    const udp = createSocket('udp4');
    udp.send(dnsQuery(NAME), port, '127.0.0.1');
    const [packet] = (await once(udp, 'message')) as [Buffer];
    udp.close();
    assert.equal(readDnsResponse(packet).answers.length, 1);
    assert.equal(await isServed(await open()), true);
  });

  it('answers accepted queries before it leaves', async () => {
    const texts = Promise.withResolvers<readonly PendingText[]>();
    const asked = Promise.withResolvers<void>();
    const load = (): Promise<readonly PendingText[]> => {
      asked.resolve();
      return texts.promise;
    };
    server.close();
    server = await start({ load });
    const udp = createSocket('udp4');
    udp.send(dnsQuery(NAME), port, '127.0.0.1');
    await asked.promise;
    const tcp = await open();
    tcp.write(withLength(dnsQuery(NAME)));
    const reading = read(tcp, 1);
    const left = server.leave();
    texts.resolve([{ name: NAME, text: 'a text' }]);
    const [packet] = (await once(udp, 'message')) as [Buffer];
    udp.close();
    assert.equal(readDnsResponse(packet).answers.length, 1);
    assert.equal((await reading).length, 1);
    await left;
  });

  it('continues after packets that get no response', async () => {
    const udp = createSocket('udp4');
    for (const packet of [Buffer.alloc(0), Buffer.alloc(11), Buffer.alloc(2000, 0xff)])
      udp.send(packet, port, '127.0.0.1');
    udp.send(dnsQuery(NAME, { id: 7 }), port, '127.0.0.1');
    const [packet] = (await once(udp, 'message')) as [Buffer];
    udp.close();
    assert.equal(readDnsResponse(packet).id, 7);
  });

  it('answers the queries of a connection one after the other, in pieces of any size, also of a peer that has closed its side', async () => {
    const socket = await open();
    const queries = Buffer.concat([1, 2, 3].map((id) => withLength(dnsQuery(NAME, { id }))));
    const reading = read(socket, 3);
    for (let at = 0; at < queries.length; at += 7) {
      socket.write(queries.subarray(at, at + 7));
      // Each piece is read alone.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    socket.end();
    assert.deepEqual(
      (await reading).map((message) => readDnsResponse(message).id),
      [1, 2, 3],
    );
    await once(socket, 'end');
  });

  it('cuts a connection with an invalid or overlong query', async () => {
    for (const bytes of [withLength(Buffer.alloc(5)), Buffer.from([0xff, 0xff, 1])]) {
      const socket = await open();
      socket.write(bytes);
      await cut(socket);
    }
  });

  it('cuts a connection whose query is not complete within 5 s, even if bytes arrive', async () => {
    const socket = await open();
    assert.equal(await isServed(socket), true);
    clock.advance(DNS_CONNECTION_IDLE_MS - 1);
    // It was answered, so its time started again.
    assert.equal(await isServed(socket), true);
    const query = withLength(dnsQuery(NAME));
    for (const byte of query.subarray(0, 3)) socket.write(Buffer.from([byte]));
    clock.advance(DNS_CONNECTION_IDLE_MS);
    await cut(socket);
  });

  onLinux(
    'lets a network have 16 connections, and cuts its oldest one without a query for one more',
    async () => {
      const first = [await open(1)];
      while (first.length < DNS_CONNECTIONS_OF_ONE_MAX) first.push(await open(1));
      assert.equal(await isServed(first[0] as Socket), true);
      const wasCut = cut(first[1] as Socket);
      assert.equal(await isServed(await open(1)), true);
      await wasCut;
      for (const left of [first[0], first[2]]) assert.equal(await isServed(left as Socket), true);
    },
  );

  onLinux('cuts the oldest connection for one beyond 128', async () => {
    const all: Socket[] = [];
    for (let index = 0; index < DNS_CONNECTIONS_MAX; index += 1) all.push(await open(Math.floor(index / 8)));
    const next = await open(200);
    await cut(all[0] as Socket);
    assert.equal(await isServed(next), true);
    assert.equal(await isServed(all[1] as Socket), true);
  });
});

describe('the addresses of the DNS server', () => {
  const loopback = { lo: [own('127.0.0.1', true), own('::1', true)] };
  const network = {
    ...loopback,
    eth0: [own('192.0.2.1', false), own('2001:db8::1', false), own('fe80::1', false)],
  };

  for (const [host, title, interfaces, expected] of [
    ['0.0.0.0', 'those of IPv4', network, ['192.0.2.1']],
    ['::', 'all but those of the link', network, ['192.0.2.1', '2001:db8::1']],
    ['0.0.0.0', 'loopback, where there is nothing else', loopback, ['127.0.0.1']],
    ['192.0.2.7', 'the one that is given', network, ['192.0.2.7']],
  ] as const) {
    it(`for ${host} are ${title}`, async () => {
      assert.deepEqual(await dnsAddresses(host, () => interfaces), expected);
    });
  }

  it('include those of a host name', async () => {
    const addresses = await dnsAddresses('localhost');
    assert.ok(addresses.includes('127.0.0.1') || addresses.includes('::1'));
  });
});

/** Fulfilled when the server has ended the connection, cleanly or not. */
function cut(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) socket.once(event, () => resolve());
    socket.resume();
  });
}

function own(address: string, internal: boolean): NetworkInterfaceInfo {
  return { address, internal, family: address.includes(':') ? 'IPv6' : 'IPv4' } as NetworkInterfaceInfo;
}

/** Reads this many messages. */
async function read(socket: Socket, count: number): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  let bytes = Buffer.alloc(0);
  while (messages.length < count) {
    const chunk = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      messages.push(bytes.subarray(2, 2 + bytes.readUInt16BE(0)));
      bytes = bytes.subarray(2 + bytes.readUInt16BE(0));
    }
  }
  return messages;
}

async function isServed(socket: Socket): Promise<boolean> {
  socket.write(withLength(dnsQuery(NAME)));
  return await Promise.race([read(socket, 1).then(() => true), cut(socket).then(() => false)]);
}

const QUERY = dnsQuery(NAME, { rest: optRecord() });

describe('the DNS responder', () => {
  let clock: FakeClock;
  let pending: PendingText[];
  let loads: number;

  beforeEach(() => {
    clock = new FakeClock();
    pending = [{ name: NAME, text: 'x' }];
    loads = 0;
  });

  async function loadCounted(): Promise<readonly PendingText[]> {
    loads += 1;
    return await Promise.resolve([...pending]);
  }

  function make(load: LoadTexts = loadCounted): Responder {
    return new Responder({
      authority: new Authority({
        zones: new Zones(['tunnels.example'], []),
        nameServer: 'relay.example',
        mark: 'x',
      }),
      texts: new PendingTexts(load, clock),
      limits: { udp: new SourceLimits(clock), tcp: new SourceLimits(clock) },
    });
  }

  it('reads the texts once for any number of queries, and again half a second later', async () => {
    const responder = make();
    assert.deepEqual(
      await Promise.all([responderCount(responder), responderCount(responder), responderCount(responder)]),
      [1, 1, 1],
    );
    pending.push({ name: NAME, text: 'y' });
    clock.advance(DNS_TEXTS_MS - 1);
    assert.deepEqual([await responderCount(responder), loads], [1, 1]);
    clock.advance(1);
    assert.deepEqual([await responderCount(responder), loads], [2, 2]);
  });

  it('does not query the store for refused questions', async () => {
    const response = await make().respond(dnsQuery('other.example'), '192.0.2.1', 'udp');
    assert.deepEqual([readDnsResponse(response ?? Buffer.alloc(0)).code, loads], [5, 0]);
  });

  it('reports failures while the store fails, and continues when it is back', async () => {
    let fails = true;
    const responder = make(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve(pending)));
    const response = await responder.respond(QUERY, '192.0.2.1', 'udp');
    assert.equal(readDnsResponse(response ?? Buffer.alloc(0)).code, 2);
    fails = false;
    clock.advance(DNS_TEXTS_MS);
    assert.equal(await responderCount(responder), 1);
  });

  it('counts queries by result', async () => {
    const before = { ...dnsQuestions };
    const responder = make();
    await responder.respond(QUERY, '192.0.2.1', 'udp');
    await responder.respond(dnsQuery('other.example'), '192.0.2.1', 'udp');
    await responder.respond(Buffer.alloc(3), '192.0.2.1', 'udp');
    await make(() => Promise.reject(new Error('away'))).respond(QUERY, '192.0.2.1', 'udp');
    for (let query = 2; query < DNS_QUERIES_BURST + 2; query += 1)
      await responder.respond(QUERY, '192.0.2.1', 'udp');
    const counted = Object.entries(dnsQuestions).map(([outcome, total]) => [
      outcome,
      total - before[outcome as keyof typeof before],
    ]);
    assert.deepEqual(Object.fromEntries(counted), {
      answered: DNS_QUERIES_BURST - 1,
      refused: 1,
      failed: 1,
      truncated: 1,
      dropped: 2,
    });
  });

  it('lets at most 1,024 queries wait for the store, and continues when it answers', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly PendingText[]>();
    const responder = make(() => promise);
    const waiting = Array.from({ length: DNS_WAITING_MAX }, (_, index) =>
      responder.respond(QUERY, `192.0.${index % 250}.1`, 'udp'),
    );
    assert.equal(await responderCount(responder), -1);
    resolve(pending);
    assert.ok((await Promise.all(waiting)).every((response) => response !== undefined));
    assert.equal(await responderCount(responder), 1);
  });

  it('rejects packets of more than 512 bytes', async () => {
    assert.equal(await responderCount(make(), ofLength(DNS_QUERY_MAX_BYTES)), 1);
    assert.equal(await responderCount(make(), ofLength(DNS_QUERY_MAX_BYTES + 1)), -1);
  });

  describe('for a network with too many queries', () => {
    let responder: Responder;

    beforeEach(async () => {
      responder = make();
      for (let query = 0; query < DNS_QUERIES_BURST; query += 1)
        assert.equal(await responderCount(responder), 1, `query ${query}`);
    });

    it('serves a burst of 100 queries, then ten a second', async () => {
      assert.notEqual(await responderCount(responder), 1);
      clock.advance(60_000 / DNS_QUERIES_PER_MINUTE);
      assert.equal(await responderCount(responder), 1);
      assert.notEqual(await responderCount(responder), 1);
    });

    it('redirects every second query beyond that to TCP, which has a limit too, and still serves other networks', async () => {
      const beyond = await Promise.all(
        Array.from({ length: 10 }, (_, index) => responder.respond(QUERY, `192.0.2.${index}`, 'udp')),
      );
      const responses = beyond.filter((response) => response !== undefined);
      assert.equal(responses.length, 5);
      for (const response of responses)
        assert.deepEqual([response.length, readDnsResponse(response).truncated], [QUERY.length, true]);
      for (let query = 0; query < DNS_QUERIES_BURST; query += 1)
        assert.equal(await responderCount(responder, QUERY, 'tcp'), 1);
      assert.equal(await responderCount(responder, QUERY, 'tcp'), -1);
      for (const address of ['192.0.3.1', '2001:db8::1'])
        assert.notEqual(await responder.respond(QUERY, address, 'udp'), undefined);
    });

    it('drops queries for other names instead of refusing them', async () => {
      for (let query = 0; query < 4; query += 1)
        assert.equal(await responder.respond(dnsQuery('other.example'), '192.0.2.1', 'udp'), undefined);
    });
  });

  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.0/24'],
    ['192.0.2.255', '192.0.2.0/24'],
    ['2001:db8:1:2:3::1', '2001:db8:1:2::/64'],
  ] as const) {
    it(`counts ${address} for ${network}`, () => assert.equal(sourceNetwork(address), network));
  }
});

/** @returns the number of answers; -1 without a response */
async function responderCount(
  responder: Responder,
  packet = QUERY,
  transport: Transport = 'udp',
): Promise<number> {
  const response = await responder.respond(packet, '192.0.2.1', transport);
  return response === undefined ? -1 : readDnsResponse(response).answers.length;
}

function ofLength(length: number): Buffer {
  return dnsQuery(NAME, { rest: optRecord({ data: Buffer.alloc(length - QUERY.length) }) });
}
