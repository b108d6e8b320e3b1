/** For any packet: nothing throws, every response is one message, and none is useful for spoofing. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { dnsQuery, optRecord, readDnsResponse, wireBytes } from '../../testing/dns-server.ts';
import { Authority, challengeTexts, Zones } from './authority.ts';
import { DNS_UDP_FACTOR } from './wire.ts';

const APEX = '_acme-challenge.tunnels.example';
const texts = challengeTexts([{ name: APEX, text: 'x'.repeat(43) }]);
const authority = new Authority({
  zones: new Zones(['tunnels.example'], ['accounts.example']),
  nameServer: 'relay.example',
  mark: 'culvert-0123',
});

function respond(packet: Buffer): Buffer | undefined {
  const read = authority.read(packet, 'udp');
  return read === undefined || Buffer.isBuffer(read) ? read : authority.respond(read, texts, 'udp');
}

const bytes = fc.uint8Array({ maxLength: 600 }).map((given) => Buffer.from(given));

/** A valid query with some bytes changed, that is cut off, or continues. */
const mutated = fc
  .record({
    name: fc.constantFrom(APEX, `x.${APEX}`, '_acme-challenge.ann.accounts.example', 'example'),
    type: fc.constantFrom(16, 6, 2, 255, 252, 1),
    hasOpt: fc.boolean(),
    changes: fc.array(fc.tuple(fc.nat(120), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
    end: fc.nat(140),
    more: bytes,
  })
  .map(({ name, type, hasOpt, changes, end, more }) => {
    const query = dnsQuery(wireBytes(name), { type, ...(hasOpt ? { rest: optRecord() } : {}) });
    for (const [at, value] of changes) if (at < query.length) query[at] = value;
    return end < query.length ? query.subarray(0, end) : end > 130 ? Buffer.concat([query, more]) : query;
  });

describe('the authority for challenges, for any input', () => {
  for (const [title, packets] of [
    ['bytes', bytes],
    ['queries of which some bytes are others', mutated],
  ] as const) {
    it(`sends ${title} no response, or a small and valid one`, () => {
      fc.assert(
        fc.property(packets, (packet) => {
          const response = respond(packet);
          if (response === undefined) return;
          assert.ok(response.length <= DNS_UDP_FACTOR * packet.length);
          assert.equal(readDnsResponse(response).id, packet.readUInt16BE(0));
        }),
        { numRuns: 5000 },
      );
    });
  }
});
