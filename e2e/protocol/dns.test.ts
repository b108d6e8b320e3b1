import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type CertifiedRelay, startCertifiedRelay } from '../support/certified-relay.ts';
import { eventually } from '../support/deadline.ts';
import { dig, type Dug } from '../support/dns-servers.ts';
import { Random } from '../support/random.ts';
import { suiteScope } from '../support/scope.ts';

const NAME = '_acme-challenge.tunnels.test';
const SOA = /^_acme-challenge\.tunnels\.test\. 1 IN SOA relay\.test\. culvert-[0-9a-f]{16}\.relay\.test\. /;

describe('the relay as a DNS server', () => {
  const scope = suiteScope();
  let world: CertifiedRelay;
  /** loopback networks that have sent no query yet */
  let network = 1;

  before(async () => {
    world = await startCertifiedRelay(scope);
  });

  /** Queries from a separate network, so that tests do not use up each other's limit. */
  async function ask(...question: string[]): Promise<Dug> {
    network += 1;
    return await dig(53, world.address, ['+norecurse', ...question, '-b', `127.0.${network}.1`]);
  }

  async function udp(from: string): Promise<Socket> {
    const socket = createSocket('udp4');
    scope.defer(() => socket.close());
    socket.bind(0, from);
    await once(socket, 'listening');
    return socket;
  }

  for (const transport of ['+notcp', '+tcp']) {
    describe(`asked with ${transport}`, () => {
      it('is the authority for the challenges of the tunnel domain', async () => {
        const soa = await ask(NAME, 'SOA', transport);
        assert.deepEqual([soa.status, soa.flags], ['NOERROR', ['qr', 'aa']]);
        assert.match(soa.answer.join('\n'), SOA);
        assert.deepEqual((await ask(NAME, 'NS', transport)).answer, [`${NAME}. 300 IN NS relay.test.`]);
      });

      it('answers that there is no text, no other record, and no name below', async () => {
        for (const [name, type, status] of [
          [NAME, 'TXT', 'NOERROR'],
          [NAME, 'A', 'NOERROR'],
          [NAME, 'DNSKEY', 'NOERROR'],
          [`x.${NAME}`, 'TXT', 'NXDOMAIN'],
        ] as const) {
          const denied = await ask(name, type, transport);
          assert.deepEqual([denied.status, denied.flags, denied.answer], [status, ['qr', 'aa'], []]);
          assert.match(denied.authority.join('\n'), SOA);
        }
      });

      it('refuses everything else, and offers no recursion', async () => {
        for (const question of [
          ['tunnels.test', 'A'],
          ['hello.tunnels.test', 'TXT'],
          ['example.com', 'A', '+recurse'],
          ['.', 'NS'],
          ['version.bind', 'TXT', 'CH'],
        ]) {
          const refused = await ask(...question, transport);
          assert.equal(refused.status, 'REFUSED');
          assert.ok(!refused.flags.includes('ra') && !refused.flags.includes('aa'));
          assert.deepEqual([...refused.answer, ...refused.authority], []);
        }
      });

      it('answers ANY with one small record', async () => {
        assert.deepEqual((await ask(NAME, 'ANY', transport)).answer, [`${NAME}. 3600 IN HINFO "RFC8482" ""`]);
      });

      it('repeats the case of the question', async () => {
        const { text } = await ask('_AcMe-cHaLlEnGe.TuNnElS.tEsT', 'TXT', transport);
        assert.ok(text.includes(';_AcMe-cHaLlEnGe.TuNnElS.tEsT.'));
      });

      it('supports only EDNS version 0, with or without options', async () => {
        assert.match(
          (await ask(NAME, 'SOA', '+dnssec', transport)).text,
          /EDNS: version: 0, flags: do; udp: 1232/,
        );
        assert.equal((await ask(NAME, 'SOA', '+padding=128', '+nsid', transport)).answer.length, 1);
        assert.equal((await ask(NAME, 'SOA', '+edns=7', '+noednsnegotiation', transport)).status, 'BADVERS');
        assert.ok(!(await ask(NAME, 'SOA', '+noedns', transport)).text.includes('EDNS'));
      });
    });
  }

  it('transfers no zone', async () => {
    await assert.rejects(ask(NAME, 'AXFR'), /Transfer failed/);
  });

  it('answers many queries at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, () => ask(NAME, 'SOA')));
    assert.ok(all.every(({ answer }) => answer.length === 1));
  });

  it('keeps serving after malformed packets, and never answers with more than four times their size', async () => {
    const random = new Random(1);
    const socket = await udp('127.1.1.1');
    const sent = new Map<number, number>();
    let worst = 0;
    socket.on('message', (response) => {
      const length = sent.get(response.readUInt16BE(0)) ?? 0;
      worst = Math.max(worst, response.length / length);
    });
    for (let id = 0; id < 5000; id += 1) {
      const packet = hostile(random, id);
      if (packet.length >= 2) sent.set(packet.readUInt16BE(0), packet.length);
      await new Promise((resolve) => socket.send(packet, 53, world.address, resolve));
    }
    // If the relay has not read them yet, the system drops the packets after them.
    await eventually(60_000, async () => assert.equal((await ask(NAME, 'SOA')).answer.length, 1));
    assert.ok(worst <= 4, `one was ${worst} times as long`);
    assert.equal(world.relay.child.hasExited, false);
    assert.deepEqual(world.logged('internal error'), []);
  });

  it('redirects a network that sends too many queries to TCP, and serves the others', async () => {
    const socket = await udp('127.2.2.2');
    const flags: number[] = [];
    socket.on('message', (response) => flags.push(response.readUInt16BE(2)));
    for (let id = 0; id < 400; id += 1) {
      await new Promise((resolve) => socket.send(queryOf(id), 53, world.address, resolve));
    }
    // From another address of the network: dig retries over TCP by itself, as it was told.
    const [first] = await Promise.all(
      [1, 2, 3, 4].map(async (host) =>
        dig(53, world.address, [NAME, 'SOA', '-b', `127.2.2.${host}`]).catch(() => undefined),
      ),
    );
    assert.ok(first === undefined || first.answer.length === 1);
    const overTcp = await dig(53, world.address, [NAME, 'SOA', '+tcp', '-b', '127.2.2.9']);
    assert.equal(overTcp.answer.length, 1);
    assert.equal((await ask(NAME, 'SOA', '+notcp')).answer.length, 1);
    const truncated = flags.filter((flag) => (flag & 0x0200) !== 0).length;
    assert.ok(
      truncated > 0 && flags.length - truncated >= 100 && flags.length < 400,
      `${flags.length} responses`,
    );
  });
});

function queryOf(id: number): Buffer {
  const header = Buffer.from([id >> 8, id & 0xff, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const labels = NAME.split('.').map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 16, 0, 1])]);
}

/** Random bytes, or a query with changed bytes that is cut off or extended. */
function hostile(random: Random, id: number): Buffer {
  const query = queryOf(id);
  if (random.below(4) === 0) return bytes(random, random.below(600));
  for (let change = random.below(6); change > 0; change -= 1)
    query[2 + random.below(query.length - 2)] = random.below(256);
  const more = random.below(3) === 0 ? bytes(random, random.below(300)) : Buffer.alloc(0);
  return Buffer.concat([query.subarray(0, 2 + random.below(query.length)), more]);
}

function bytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}
