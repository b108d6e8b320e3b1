import assert from 'node:assert/strict';
import { RelayRefusal } from '../relay/errors.ts';
import type { ControlEnd } from './control-connection.ts';
import { judge } from './verdict.ts';
import { textOf } from '../said/said.ts';

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
  const final: [string, ControlEnd, string][] = [
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
  ];
  for (const [name, end, reason] of final) {
    it(`stops at ${name}: ${reason}`, () => {
      const verdict = judge(end);
      assert.ok(!verdict.retry);
      assert.equal(verdict.reason, reason);
    });
  }

  const temporary: [string, ControlEnd][] = [
    ['a lost connection', { kind: 'lost', why: 'x' }],
    ['302, as a public network answers', refused(302)],
    ['401 about no key', refused(401, undefined, 'missing api key')],
    ['401 of something in between', foreign(401)],
    ['403 of something in between', foreign(403)],
    ['404 of something in between, as while a proxy has no relay', foreign(404)],
    ['408', refused(408)],
    ['429', refused(429)],
    ['500', refused(500)],
    ['503', refused(503)],
    ['close 1000', closed(1000)],
    ['close 1001', closed(1001)],
    ['close 1006', closed(1006)],
    ['close 1011', closed(1011)],
    ['close 4999, of a later relay', closed(4999)],
  ];
  for (const [name, end] of temporary) {
    it(`tries again after ${name}`, () => assert.equal(judge(end).retry, true));
  }

  it('says why the key or the account is of no more use', () => {
    assert.deepEqual(
      [
        textOf(judge(closed(4003)).why),
        textOf(judge(closed(4003, 'key revoked')).why),
        textOf(judge(closed(4003, 'key expired')).why),
        textOf(judge(closed(4003, 'account removed')).why),
        textOf(judge(closed(4005)).why),
        textOf(judge(closed(4005, 'phishing')).why),
        textOf(judge(closed(4005, 'is it paid ??')).why),
      ],
      [
        'The API key was revoked.',
        'The API key was revoked.',
        'The API key has expired.',
        'The account was removed, and the API key with it.',
        'The account is suspended.',
        'The account is suspended: phishing.',
        'The account is suspended: is it paid.',
      ],
    );
  });

  it('says whether anything responded', () => {
    assert.equal(reached({ kind: 'lost', why: 'x', isOffline: true }), 'nowhere');
    assert.equal(reached({ kind: 'lost', why: 'x', isOffline: false }), 'unanswered');
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
