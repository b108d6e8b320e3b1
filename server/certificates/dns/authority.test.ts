import assert from 'node:assert/strict';
import {
  dnsQuery,
  type DnsResponse,
  optRecord,
  type QueryOptions,
  readDnsResponse,
  wireBytes,
} from '../../testing/dns-server.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { aChallenge } from '../../testing/fixtures.ts';
import { Authority, challengeTexts, type ChallengeTexts, dnsSolver, textOf, Zones } from './authority.ts';
import { DNS_UDP_FACTOR, DNS_UDP_MAX_BYTES, type Transport } from './wire.ts';

const APEX = '_acme-challenge.tunnels.example';
const TEXTS = ['x'.repeat(43), 'y'.repeat(43)];
const [NS, SOA, HINFO, TXT] = [2, 6, 13, 16];

const authority = new Authority({
  zones: new Zones(
    ['tunnels.example', 'relay.example'],
    ['accounts.example'],
    (domain) => domain === 'users.example',
  ),
  nameServer: 'relay.example',
  mark: 'culvert-0123',
});

function ask(packet: Buffer, texts: ChallengeTexts | undefined, transport: Transport): Buffer | undefined {
  const read = authority.read(packet, transport);
  if (read === undefined || Buffer.isBuffer(read)) return read;
  return authority.respond(read, texts, transport);
}

/** The response for a name while two texts are pending at the tunnel domain's. */
function answer(
  name: string | Buffer,
  options: QueryOptions = {},
  transport: Transport = 'tcp',
): DnsResponse {
  const texts = challengeTexts(TEXTS.map((text) => ({ name: APEX, text })));
  const response = ask(dnsQuery(name, options), texts, transport);
  assert.ok(response, 'there is no response');
  return readDnsResponse(response);
}

function authorityTextOf(data: Buffer): string {
  assert.equal(data[0], data.length - 1);
  return data.toString('latin1', 1);
}

describe('the authority for challenges', () => {
  it('returns the texts of a challenge, each in its own record', () => {
    const { code, authoritative, answers, id } = answer(APEX);
    assert.deepEqual([code, authoritative, id], [0, true, 0x1234]);
    assert.deepEqual(
      answers.map(({ name, type, class: of, ttl, data }) => [name, type, of, ttl, authorityTextOf(data)]),
      TEXTS.map((text) => [APEX, TXT, 1, 1, text]),
    );
  });

  it('repeats a question byte for byte, and matches its name in any case', () => {
    const { name, answers } = answer('_aCmE-ChAlLeNgE.TuNNeLs.eXaMPLe');
    assert.equal(name, '_aCmE-ChAlLeNgE.TuNNeLs.eXaMPLe');
    assert.deepEqual(
      answers.map((record) => record.name),
      [name, name],
    );
  });

  it('names the authority: the relay', () => {
    const [ns] = answer(APEX, { type: NS }).answers;
    assert.deepEqual(ns?.data, wireBytes('relay.example'));
    const [soa] = answer(APEX, { type: SOA }).answers;
    assert.deepEqual(
      soa?.data.subarray(0, -20),
      Buffer.concat([wireBytes('relay.example'), wireBytes('culvert-0123.relay.example')]),
    );
  });

  it('returns one small record instead of all records', () => {
    const { answers } = answer(APEX, { type: 255 });
    assert.deepEqual(
      answers.map(({ type, data }) => [type, data.toString('latin1')]),
      [[HINFO, '\x07RFC8482\0']],
    );
  });

  for (const [title, name, type, code] of [
    ['no text at present', '_acme-challenge.relay.example', TXT, 0],
    ["a user's domain", '_acme-challenge.users.example', TXT, 0],
    ['no record of the type', APEX, 1, 0],
    ['a signature', APEX, 46, 0],
    ['a name below a challenge', `x.${APEX}`, TXT, 3],
    ['a name far below', `_acme-challenge.x.${APEX}`, TXT, 3],
    [
      'an account, of which nobody learns whether it is there',
      '_acme-challenge.ann.accounts.example',
      TXT,
      0,
    ],
  ] as const) {
    it(`denies ${title} on behalf of the zone`, () => {
      const response = answer(name, { type });
      assert.deepEqual([response.code, response.authoritative, response.answers], [code, true, []]);
      const [soa] = response.authority;
      const apex = name.slice(name.lastIndexOf('_acme-challenge'));
      assert.deepEqual([soa?.type, soa?.name], [SOA, name.endsWith(APEX) ? APEX : apex]);
      // Its last number is how long resolvers cache that there is nothing.
      assert.equal(soa?.data.readUInt32BE(soa.data.length - 4), 1);
    });
  }

  const refused =
    'tunnels.example hello.tunnels.example example _acme-challenge.example ' +
    '_acme-challenge.a.users.example _acme-challenge.other.example ' +
    '_acme-challenge.hello.tunnels.example _acme-challenge.accounts.example ' +
    '_acme-challenge.hello.ann.accounts.example x_acme-challenge.tunnels.example _acme-challenge ' +
    'version.bind';
  for (const name of refused.split(' ')) {
    it(`refuses ${name}`, () => {
      const response = answer(name);
      assert.deepEqual(
        [response.code, response.authoritative, response.answers, response.authority],
        [5, false, [], []],
      );
    });
  }

  it('refuses a label with a dot, the root, other classes, and questions for whole zones', () => {
    const dotted = Buffer.concat([Buffer.from([31]), Buffer.from(APEX), Buffer.from([0])]);
    for (const name of [dotted, Buffer.from([0])]) assert.equal(answer(name).code, 5);
    assert.equal(answer(APEX, { class: 3 }).code, 5);
    for (const type of [251, 252, 253, 254, 128, 250, 41]) assert.equal(answer(APEX, { type }).code, 5);
  });

  it('offers no recursion, whether or not it is requested', () => {
    for (const flags of [0, 0x0100]) {
      const { recursionAvailable, recursionDesired } = answer(APEX, { flags });
      assert.deepEqual([recursionAvailable, recursionDesired], [false, flags !== 0]);
    }
  });

  it('reports a failure of the store only if the answer depends on it', () => {
    const response = ask(dnsQuery(APEX), undefined, 'udp');
    assert.equal(readDnsResponse(response ?? Buffer.alloc(0)).code, 2);
  });

  describe('with EDNS', () => {
    it('reports its payload size, and repeats that signatures are wanted', () => {
      for (const flags of [0, 0x8000]) {
        const { additional } = answer(APEX, { rest: optRecord({ flags }) });
        assert.deepEqual(
          additional.map(({ name, type, class: size, ttl }) => [name, type, size, ttl]),
          [['', 41, DNS_UDP_MAX_BYTES, flags]],
        );
      }
    });

    it('omits it for queries without it, ignores options, and rejects another version', () => {
      assert.deepEqual(answer(APEX).additional, []);
      const cookie = Buffer.from([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
      assert.equal(answer(APEX, { rest: optRecord({ data: cookie }) }).answers.length, 2);
      const { code, answers } = answer(APEX, { rest: optRecord({ version: 1 }) });
      assert.deepEqual([code, answers], [16, []]);
    });
  });

  describe('over UDP', () => {
    it('returns two texts, as an order for a name and its wildcard needs', () => {
      const { truncated, answers } = answer(APEX, { rest: optRecord() }, 'udp');
      assert.deepEqual([truncated, answers.length], [false, 2]);
    });

    it('is never more than four times as long as the question; larger responses use TCP', () => {
      const rest = optRecord({ size: 0xffff });
      for (let count = 1; count <= 64; count += 1) {
        const texts = challengeTexts(
          Array.from({ length: count }, (_, index) => ({
            name: APEX,
            text: String(index).padStart(43, '-'),
          })),
        );
        for (const type of [TXT, SOA, NS, 1, 255]) {
          for (const name of [APEX, `x.${APEX}`, 'example']) {
            const query = dnsQuery(name, { type, rest });
            const response = ask(query, texts, 'udp') ?? Buffer.alloc(0);
            assert.ok(response.length <= DNS_UDP_FACTOR * query.length);
            const { truncated, answers } = readDnsResponse(response);
            if (truncated) assert.deepEqual([answers, response.length], [[], query.length]);
            const all = readDnsResponse(ask(query, texts, 'tcp') ?? Buffer.alloc(0));
            assert.equal(all.truncated, false);
            if (type === TXT && name === APEX) assert.equal(all.answers.length, count);
          }
        }
      }
    });

    it('is never longer than 1,232 bytes, or than the peer accepts', () => {
      const name = `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(40)}.${APEX}`;
      const many = challengeTexts(Array.from({ length: 30 }, () => ({ name: APEX, text: 'x'.repeat(43) })));
      for (const size of [0, 511, 512, 1232, 4096]) {
        const data = Buffer.alloc(400);
        const most = Math.min(Math.max(size, 512), DNS_UDP_MAX_BYTES);
        for (const asked of [name, APEX]) {
          const response = ask(dnsQuery(asked, { rest: optRecord({ size, data }) }), many, 'udp');
          assert.ok((response?.length ?? 0) <= most);
        }
      }
    });
  });
});

describe('packets that are not valid queries', () => {
  const query = dnsQuery(APEX);

  for (const [title, packet] of [
    ['nothing', Buffer.alloc(0)],
    ['less than a header', query.subarray(0, 11)],
    ['a response', dnsQuery(APEX, { flags: 0x8000 })],
    ['a name that does not end', query.subarray(0, 30)],
    ['a name without type and class', query.subarray(0, -1)],
    ['a pointer to itself', dnsQuery(Buffer.from([0xc0, 12]))],
    ['a pointer back', dnsQuery(Buffer.concat([wireBytes('x').subarray(0, -1), Buffer.from([0xc0, 12])]))],
    ['a label of an unknown kind', dnsQuery(Buffer.from([0x41, 0x61, 0]))],
    ['a name of 256 bytes', dnsQuery(longName(256))],
  ] as const) {
    it(`get no response: ${title}`, () => assert.equal(ask(packet, new Map(), 'udp'), undefined));
  }

  for (const [title, packet, code] of [
    ['another operation', dnsQuery(APEX, { flags: 4 << 11 }), 4],
    ['an update', dnsQuery(APEX, { flags: 5 << 11 }), 4],
    ['no question', dnsQuery(APEX, { counts: [0, 0, 0, 0] }), 1],
    ['two questions', dnsQuery(APEX, { counts: [2, 0, 0, 0] }), 1],
    ['an answer', dnsQuery(APEX, { counts: [1, 1, 0, 0] }), 1],
    ['records of an authority', dnsQuery(APEX, { counts: [1, 0, 1, 0] }), 1],
    ['two more records', dnsQuery(APEX, { counts: [1, 0, 0, 2], rest: Buffer.alloc(22) }), 1],
    ['65,535 of everything', dnsQuery(APEX, { counts: [0xffff, 0xffff, 0xffff, 0xffff] }), 1],
    ['bytes behind the question', Buffer.concat([query, Buffer.from([0])]), 1],
    ['an announced record that is missing', dnsQuery(APEX, { counts: [1, 0, 0, 1] }), 1],
    ['a record that is not OPT', dnsQuery(APEX, { rest: Buffer.alloc(11) }), 1],
    [
      'an OPT record that is cut off',
      dnsQuery(APEX, { rest: optRecord({ data: Buffer.alloc(4) }).subarray(0, -1) }),
      1,
    ],
    [
      'bytes behind the OPT record',
      dnsQuery(APEX, { rest: Buffer.concat([optRecord(), Buffer.from([0])]) }),
      1,
    ],
  ] as const) {
    it(`are answered with only a header: ${title}`, () => {
      const response = ask(packet, new Map(), 'udp');
      assert.equal(response?.length, 12);
      assert.deepEqual([readDnsResponse(response).code, readDnsResponse(response).id], [code, 0x1234]);
    });
  }

  it('with the longest name are served normally', () => assert.equal(answer(longName(255)).code, 5));
});

/** @returns a name of this many bytes, at least 194 */
function longName(length: number): Buffer {
  return wireBytes(
    ['a', 'b', 'c'].map((letter) => letter.repeat(63)).join('.') + `.${'x'.repeat(length - 194)}`,
  );
}

describe('the dns-01 solver', () => {
  // RFC 8555 section 8.1 and 8.4: the text is the digest of token and key's thumbprint.
  const first = 'evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA';
  const keyAuthorization = `${first}.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI`;
  const challenge = aChallenge({ type: 'dns-01', host: 'tunnels.example', token: first, keyAuthorization });

  it('lets the authority check 2 s after a challenge was stored', async () => {
    const clock = new FakeClock();
    const kept: string[] = [];
    let isReady = false;
    const solver = dnsSolver(
      {
        type: 'dns-01',
        present: ({ token }) => Promise.resolve(void kept.push(token)),
        withdraw: () => Promise.resolve(void kept.pop()),
      },
      clock,
    );
    const presented = solver.present(challenge).then(() => (isReady = true));
    await new Promise(setImmediate);
    clock.advance(1999);
    await new Promise(setImmediate);
    assert.deepEqual([kept, isReady], [[challenge.token], false]);
    clock.advance(1);
    await presented;
    await solver.withdraw(challenge);
    assert.deepEqual(kept, []);
  });

  it('publishes the digest of what the authority expects, at the right name', () => {
    assert.deepEqual(textOf(challenge), {
      name: '_acme-challenge.tunnels.example',
      text: 'lCM7cZyQXcVHK2nnW3jjAhNT3Fvm18UN-kWZZknKoYM',
    });
  });
});
