import assert from 'node:assert/strict';
import {
  DNS_QUERIES_BURST,
  DNS_QUERIES_PER_MINUTE,
  DNS_QUERY_MAX_BYTES,
  DNS_TEXTS_MS,
  DNS_WAITING_MAX,
} from '../../limits.ts';
import { dnsQuestions } from '../../observe/counters.ts';
import { dnsQuery, optRecord, readDnsResponse } from '../../testing/dns-message.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Authority } from './authority.ts';
import { type LoadTexts, type PendingText, PendingTexts } from './pending-texts.ts';
import { Responder } from './responder.ts';
import type { Transport } from './response.ts';
import { SourceLimits, sourceNetwork } from './source-limits.ts';
import { Zones } from './zones.ts';

const NAME = '_acme-challenge.tunnels.example';
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

  it('reads the texts once, however many ask, and again half a second later', async () => {
    const responder = make();
    assert.deepEqual(await Promise.all([count(responder), count(responder), count(responder)]), [1, 1, 1]);
    pending.push({ name: NAME, text: 'y' });
    clock.advance(DNS_TEXTS_MS - 1);
    assert.deepEqual([await count(responder), loads], [1, 1]);
    clock.advance(1);
    assert.deepEqual([await count(responder), loads], [2, 2]);
  });

  it('asks the store for nothing that is refused', async () => {
    const response = await make().respond(dnsQuery('other.example'), '192.0.2.1', 'udp');
    assert.deepEqual([readDnsResponse(response ?? Buffer.alloc(0)).code, loads], [5, 0]);
  });

  it('says that it fails while the store does, and goes on when it is back', async () => {
    let fails = true;
    const responder = make(() => (fails ? Promise.reject(new Error('away')) : Promise.resolve(pending)));
    const response = await responder.respond(QUERY, '192.0.2.1', 'udp');
    assert.equal(readDnsResponse(response ?? Buffer.alloc(0)).code, 2);
    fails = false;
    clock.advance(DNS_TEXTS_MS);
    assert.equal(await count(responder), 1);
  });

  it('counts what becomes of queries', async () => {
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

  it('lets no more than 1,024 queries wait for the store, and serves on when it answers', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly PendingText[]>();
    const responder = make(() => promise);
    const waiting = Array.from({ length: DNS_WAITING_MAX }, (_, index) =>
      responder.respond(QUERY, `192.0.${index % 250}.1`, 'udp'),
    );
    assert.equal(await count(responder), -1);
    resolve(pending);
    assert.ok((await Promise.all(waiting)).every((response) => response !== undefined));
    assert.equal(await count(responder), 1);
  });

  it('takes no packet of more than 512 bytes', async () => {
    assert.equal(await count(make(), ofLength(DNS_QUERY_MAX_BYTES)), 1);
    assert.equal(await count(make(), ofLength(DNS_QUERY_MAX_BYTES + 1)), -1);
  });

  describe('of a network that asks too much', () => {
    it('serves 100 queries at once, then ten a second', async () => {
      const responder = make();
      await exhaust(responder, 'udp');
      assert.notEqual(await count(responder), 1);
      clock.advance(60_000 / DNS_QUERIES_PER_MINUTE);
      assert.equal(await count(responder), 1);
      assert.notEqual(await count(responder), 1);
    });

    it('leads every second query beyond that to TCP, with a response no larger than itself', async () => {
      const responder = make();
      await exhaust(responder, 'udp');
      const beyond = await Promise.all(
        Array.from({ length: 10 }, (_, index) => responder.respond(QUERY, `192.0.2.${index}`, 'udp')),
      );
      const responses = beyond.filter((response) => response !== undefined);
      assert.equal(responses.length, 5);
      for (const response of responses) {
        assert.equal(response.length, QUERY.length);
        assert.equal(readDnsResponse(response).truncated, true);
      }
      assert.equal(await count(responder, QUERY, 'tcp'), 1);
    });

    it('refuses it nothing but silence for what is no question to it', async () => {
      const responder = make();
      await exhaust(responder, 'udp');
      for (let query = 0; query < 4; query += 1)
        assert.equal(await responder.respond(dnsQuery('other.example'), '192.0.2.1', 'udp'), undefined);
    });

    it('does not serve it over TCP without end either', async () => {
      const responder = make();
      await exhaust(responder, 'tcp');
      assert.equal(await count(responder, QUERY, 'tcp'), -1);
    });

    it('serves the others', async () => {
      const responder = make();
      await exhaust(responder, 'udp');
      for (const address of ['192.0.3.1', '2001:db8::1'])
        assert.notEqual(await responder.respond(QUERY, address, 'udp'), undefined);
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
async function count(responder: Responder, packet = QUERY, transport: Transport = 'udp'): Promise<number> {
  const response = await responder.respond(packet, '192.0.2.1', transport);
  return response === undefined ? -1 : readDnsResponse(response).answers.length;
}

async function exhaust(responder: Responder, transport: Transport): Promise<void> {
  for (let query = 0; query < DNS_QUERIES_BURST; query += 1)
    assert.equal(await count(responder, QUERY, transport), 1, `query ${query}`);
}

function ofLength(length: number): Buffer {
  return dnsQuery(NAME, { rest: optRecord({ data: Buffer.alloc(length - QUERY.length) }) });
}
