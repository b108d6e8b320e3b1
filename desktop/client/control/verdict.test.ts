import assert from 'node:assert/strict';
import { textOf } from '../messages.ts';
import { RelayRefusal } from '../relay/errors.ts';
import type { ControlEnd } from './control-connection.ts';
import { judge, type Retry, retryDelay } from './verdict.ts';

const refused = (status: number, retryAfterMs?: number, text = 'text', isOwn = true): ControlEnd => ({
  kind: 'refused',
  refusal: new RelayRefusal(status, text, { retryAfterMs, isOwn }),
});
const foreign = (status: number): ControlEnd => refused(status, undefined, 'invalid api key', false);
const closed = (code: number, reason = ''): ControlEnd => ({ kind: 'closed', code, reason });

function reached(end: ControlEnd): string {
  const verdict = judge(end);
  return verdict.retry ? verdict.reach : 'no retry';
}

describe('judge', () => {
  // An end, and why it is final; `undefined` if another try makes sense.
  for (const [what, end, reason] of [
    ['401 invalid api key', refused(401, undefined, 'invalid api key'), 'key-refused'],
    ['403', refused(403), 'refused'],
    ['404', refused(404), 'gone'],
    ['400', refused(400), 'refused'],
    ['426', refused(426), 'refused'],
    ['close 4000', closed(4000), 'replaced'],
    ['close 4001', closed(4001), 'closed'],
    ['close 4002', closed(4002), 'expired'],
    ['close 4003', closed(4003), 'key-refused'],
    ['close 4004', closed(4004), 'closed'],
    ['close 4005', closed(4005), 'refused'],
    ['a lost connection', { kind: 'lost', why: 'x' }, undefined],
    ['302, as a public network answers', refused(302), undefined],
    ['401 about no key', refused(401, undefined, 'missing api key'), undefined],
    ['401 of something in between', foreign(401), undefined],
    ['403 of something in between', foreign(403), undefined],
    ['404 of something in between, as while a proxy has no relay', foreign(404), undefined],
    ...[408, 429, 500, 503].map((status) => [String(status), refused(status), undefined] as const),
    ...[1000, 1001, 1006, 1011].map((code) => [`close ${code}`, closed(code), undefined] as const),
    ['close 4999, of a later relay', closed(4999), undefined],
  ] as const)
    it(reason === undefined ? `tries again after ${what}` : `stops at ${what}: ${reason}`, () => {
      const verdict = judge(end);
      assert.equal(verdict.retry ? undefined : verdict.reason, reason);
    });

  it('explains why the relay has not seen an upgrade, as "culvert doctor" does', () => {
    const { why } = judge(refused(426, undefined, 'websocket upgrade required'));
    assert.match(
      textOf(why),
      /^WebSocket connections do not get through\. .* must forward the Upgrade header/,
    );
  });

  it('explains why the key or the account is no longer valid', () => {
    for (const [code, reason, why] of [
      [4003, '', 'The API key was revoked.'],
      [4003, 'key revoked', 'The API key was revoked.'],
      [4003, 'key expired', 'The API key has expired.'],
      [4003, 'account removed', 'The account was deleted, along with its API key.'],
      [4005, '', 'The account is suspended.'],
      [4005, 'phishing', 'The account is suspended: phishing.'],
      [4005, 'is it paid ??', 'The account is suspended: is it paid.'],
    ] as const)
      assert.equal(textOf(judge(closed(code, reason)).why), why);
  });

  it('reports whether anything responded', () => {
    assert.equal(reached({ kind: 'lost', why: 'x', isOffline: true }), 'nowhere');
    assert.equal(reached({ kind: 'lost', why: 'x', isOffline: false }), 'unanswered');
    assert.equal(reached({ kind: 'lost', why: 'x', isSilent: true }), 'silent');
    assert.equal(reached(refused(503)), 'answered');
    assert.equal(reached(closed(1001)), 'answered');
  });

  it('keeps the wait that the relay asked for', () => {
    for (const status of [408, 429, 503]) {
      const verdict = judge(refused(status, 4000));
      assert.ok(verdict.retry);
      assert.equal(verdict.retryAfterMs, 4000);
    }
  });
});

const ALMOST_ONE = 1 - Number.EPSILON;
const RETRY: Retry = { attempt: 0, random: 0.5, reach: 'answered', awayMs: 0 };

const ceilings = (retry: Partial<Retry>): number[] =>
  Array.from(
    { length: 8 },
    (_, attempt) => retryDelay({ ...RETRY, random: ALMOST_ONE, ...retry, attempt }) + 1,
  );

describe('retryDelay', () => {
  it('is random from 0 to a ceiling that doubles from 0.5 s to 15 s', () => {
    assert.deepEqual(ceilings({}), [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    assert.equal(retryDelay({ ...RETRY, attempt: 3, random: 0 }), 0);
    assert.equal(retryDelay({ ...RETRY, attempt: 3 }), 2000);
  });

  it('stays at the cap however long the relay is away', () => {
    assert.equal(retryDelay({ ...RETRY, attempt: 100_000 }), 7500);
  });

  it('stays below 1.5 s for two minutes without a response', () => {
    const quick = [500, 1000, 1500, 1500, 1500, 1500, 1500, 1500];
    assert.deepEqual(ceilings({ reach: 'unanswered', awayMs: 119_999 }), quick);
    assert.deepEqual(ceilings({ reach: 'unanswered', awayMs: 120_000 }), ceilings({}));
  });

  it('stays below 0.5 s for two minutes while tries end without a packet from the relay', () => {
    assert.deepEqual(ceilings({ reach: 'silent', awayMs: 119_999 }), Array(8).fill(500));
    assert.deepEqual(ceilings({ reach: 'silent', awayMs: 120_000 }), ceilings({}));
  });

  it('stays below 1.5 s while there is no network', () => {
    assert.equal(retryDelay({ ...RETRY, reach: 'nowhere', awayMs: 86_400_000, attempt: 100_000 }), 750);
  });

  it('is added to the wait that the relay asked for', () => {
    assert.equal(retryDelay({ ...RETRY, retryAfterMs: 7000 }), 7250);
  });

  it('ignores a Retry-After of more than 5 minutes', () => {
    assert.equal(retryDelay({ ...RETRY, random: 0, retryAfterMs: 86_400_000 }), 300_000);
  });
});
