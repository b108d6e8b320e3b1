/** Input that relays read from each other, from Redis, and from anyone who reaches the port between them. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { UUID_PATTERN } from '../../shared/control.ts';
import { anyJson, mutated } from '../../shared/testing/mutated.ts';
import { readHello, readPredecessorMessage, readSuccessorMessage } from '../handoff/conversation.ts';
import { readRequest } from './hop/hop-protocol.ts';
import { readList, readRecord, writeRecord } from './members.ts';
import { NewsSeal, readNews } from './notifications.ts';
import { relayOf } from './connection-id.ts';
import { readFound } from './ownership.ts';

const RUNS = { numRuns: 2000 };
const SECRET = 's'.repeat(32);
const SEAL = new NewsSeal('one', 's'.repeat(32));
const ID = '8f14e45f-ceea-467f-a0e6-1c1d2e3f4a5b';
const RECORD = writeRecord({ incarnation: 'one', host: '10.0.0.1', port: 8081 }, SECRET);

const KINDS = ['replaced', 'online', 'offline', 'relay', 'sealed'];
const words = fc.oneof(
  fc.constantFrom(
    ID,
    '1',
    '1001',
    'closed',
    'shop',
    'a.example.com',
    '',
    'NaN',
    '-1',
    '1e999',
    '\ud800',
    RECORD,
    'one',
    '9'.repeat(17),
  ),
  fc.string({ unit: 'binary' }),
);
const newsTexts = fc.oneof(
  fc
    .tuple(fc.constantFrom(...KINDS), fc.array(words, { maxLength: 4 }))
    .map(([kind, rest]) => [kind, ...rest].join(' ')),
  fc.string({ unit: 'binary' }),
);

describe('a message between relays through Redis', () => {
  it('has valid ids and numbers, or is ignored', () => {
    fc.assert(
      fc.property(newsTexts, (text) => {
        const news = readNews(text, SEAL);
        for (const [name, value] of Object.entries(news ?? {})) {
          if (typeof value === 'number') assert.ok(Number.isInteger(value) && value >= 0, name);
          if (name === 'id' || name.endsWith('Id')) assert.match(String(value), UUID_PATTERN);
        }
      }),
      RUNS,
    );
    assert.equal(readNews(`offline ${ID}${' x'.repeat(10_000)}`, SEAL), undefined);
    assert.deepEqual(readNews(`replaced ${ID} 1760000000000000`, SEAL), {
      kind: 'replaced',
      tunnelId: ID,
      fence: 1_760_000_000_000_000,
    });
    assert.deepEqual(readNews(`relay 7 one ${RECORD}`, SEAL), {
      kind: 'relay',
      number: 7,
      incarnation: 'one',
      record: RECORD,
    });
  });

  it('is read from every reply, whatever it contains', () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, newsTexts, fc.constant(Number.NaN)), (reply) => {
        const found = readFound(reply);
        if (found.kind === 'away') assert.ok(found.ms >= 0 && Number.isFinite(found.ms));
        if (found.kind === 'there') assert.equal(found.relay, reply);
        const list = Array.isArray(reply) ? reply.map((item) => JSON.stringify(item) ?? '') : reply;
        for (const { number } of readList(list)) assert.ok(Number.isInteger(number));
      }),
      RUNS,
    );
  });

  it('proves its sender, or is ignored', () => {
    fc.assert(
      fc.property(fc.oneof(words, fc.string()), words, (text, other) => {
        const relay = readRecord(text, other, SECRET);
        assert.ok(relay === undefined || (text === RECORD && other === 'one'));
        assert.ok(relayOf(text, SECRET) === undefined || UUID_PATTERN.test(text));
      }),
      RUNS,
    );
  });
});

describe('a connection between relays', () => {
  it('says what it is for, or ends', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc
            .oneof(mutated(['data', ID, 'key', 'Bearer x']), mutated(['visit', ID]))
            .map((value) => JSON.stringify(value) ?? ''),
          fc.string(),
        ),
        (text) => {
          const request = readRequest(Buffer.from(text), 'one');
          if (request === undefined) return;
          assert.equal(typeof request.id, 'string');
          if (request.kind !== 'visit') assert.equal(typeof request.key, 'string');
        },
      ),
      RUNS,
    );
  });
});

describe('a message between two relays of a handoff', () => {
  const valid = [
    { kind: 'replace', version: 1, address: '127.0.0.1:8080' },
    { kind: 'visitor', id: 1, address: '192.0.2.7', proto: 'https' },
    { kind: 'welcome', listeners: ['visitors'] },
    { kind: 'moved', clients: [{ tunnelId: ID, awayMs: 0 }] },
    {
      kind: 'counted',
      deltas: [{ id: ID, bytesIn: 1, bytesOut: 1, requests: 1, expiresAt: 1, termsRevision: 0 }],
    },
    { kind: 'refused', reason: 'it is being stopped' },
    { kind: 'ended', tunnelId: ID, reason: 'closed' },
    { kind: 'access', tunnelId: ID },
    { kind: 'reset', id: 1 },
  ];

  it('is valid or ignored, whatever it contains', () => {
    for (const value of valid)
      assert.ok(
        [readHello, readPredecessorMessage, readSuccessorMessage].some((read) => read(value) !== undefined),
      );
    fc.assert(
      fc.property(fc.oneof(...valid.map(mutated)), (value) => {
        for (const read of [readHello, readPredecessorMessage, readSuccessorMessage]) {
          const message = read(value);
          if (message === undefined) continue;
          if ('deltas' in message)
            for (const { bytesIn, expiresAt } of message.deltas)
              assert.ok(bytesIn >= 0 && Number.isFinite(expiresAt));
          if ('clients' in message) for (const { awayMs } of message.clients) assert.ok(awayMs >= 0);
        }
      }),
      RUNS,
    );
  });
});
