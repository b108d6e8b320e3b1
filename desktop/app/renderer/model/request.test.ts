import assert from 'node:assert/strict';
import { exampleRequest } from '../../../testing/views.ts';
import type { LogUpdate } from '../../ipc/request-views.ts';
import {
  agoText,
  headersSummary,
  hiddenSecrets,
  savedMessage,
  NOTHING_KNOWN,
  outcome,
  replayProblem,
  statusText,
  targetText,
  timeText,
  updated,
  visitorWords,
} from './request.ts';

const ago = (seconds: number): string => agoText(0, seconds * 1000);

describe('the summary of headers', () => {
  it('has the type and the connection, without parameters', () => {
    assert.equal(
      headersSummary([
        ['Connection', 'keep-alive'],
        ['Content-Type', 'text/html; charset=utf-8'],
        ['X-Other', 'x'],
      ]),
      'text/html · keep-alive',
    );
    assert.equal(headersSummary([]), '');
  });
});

describe('a row of the request log', () => {
  it('shows the outcome', () => {
    assert.equal(outcome(exampleRequest({ status: 304 })), 'fine');
    assert.equal(outcome(exampleRequest({ status: 404 })), 'refused');
    assert.equal(outcome(exampleRequest({ status: 503 })), 'failed');
    assert.equal(outcome(exampleRequest({ status: undefined })), 'pending');
    assert.equal(outcome(exampleRequest({ isBroken: true })), 'broken');
  });

  it('is live while its response arrives, and not yet fine', () => {
    const stream = exampleRequest({ durationMs: undefined });
    assert.deepEqual([outcome(stream), statusText(stream), timeText(stream)], ['live', '200', 'live']);
    assert.equal(timeText(exampleRequest({ status: undefined, durationMs: undefined })), '');
    assert.equal(outcome(exampleRequest({ status: 500, durationMs: undefined })), 'failed');
  });

  it('has a readable address that cannot deceive', () => {
    assert.equal(targetText({ target: '/caf%C3%A9' }), '/café');
    assert.equal(targetText({ target: '/%E2%80%AEgpj.exe' }), '/\\u{202e}gpj.exe');
  });

  it('shows when the request arrived', () => {
    assert.deepEqual([0, 4, 5, 14, 59, 60, 3599, 3600, 86_400].map(ago), [
      'now',
      'now',
      '5 s',
      '10 s',
      '55 s',
      '1 min',
      '59 min',
      '1 h',
      '1 d',
    ]);
    assert.equal(agoText(5000, 0), 'now');
  });

  it('has a word instead of a missing status', () => {
    assert.equal(statusText(exampleRequest({ status: undefined })), 'waiting');
    assert.equal(statusText(exampleRequest({ status: undefined, isBroken: true })), 'broken');
    assert.equal(statusText(exampleRequest({ isBroken: true })), '200 cut');
  });
});

const REQUEST = { startLine: 'POST / HTTP/1.1', fields: [], body: new Uint8Array(), isTruncated: false };
const DONE = { request: REQUEST, status: 200, durationMs: 3, isBroken: false };

describe('a request in full', () => {
  it('counts the hidden secrets', () => {
    const fields = [
      ['Authorization', 'Bearer [redacted]'],
      ['Cookie', 'a=[redacted]; b=[redacted]'],
      ['Accept', '*/*'],
    ] as const;
    assert.equal(hiddenSecrets({ startLine: 'GET /?token=[redacted] HTTP/1.1', fields }), 4);
    assert.equal(hiddenSecrets(REQUEST), 0);
  });

  it('can only be sent again if it was recorded completely', () => {
    assert.equal(replayProblem(DONE, true), undefined);
    assert.match(
      replayProblem({ ...DONE, request: { ...REQUEST, isTruncated: true } }, true) ?? '',
      /Only the start/,
    );
    assert.match(replayProblem({ ...DONE, status: 101 }, true) ?? '', /WebSocket/);
    assert.match(replayProblem(DONE, false) ?? '', /online/);
  });
});

const message = (length: number, isTruncated = false) => ({
  startLine: '',
  fields: [],
  body: new Uint8Array(length),
  isTruncated,
});

describe('savedMessage', () => {
  it('keeps the previous message until more has arrived', () => {
    const before = message(3);
    assert.equal(savedMessage(before, message(3)), before);
    for (const next of [message(4), message(3, true)]) assert.equal(savedMessage(before, next), next);
    assert.equal(savedMessage(undefined, before), before);
  });
});

describe('visitorWords', () => {
  const visitors: [string, string][] = [
    ['link:for the review', 'The visitor used the link “for the review”.'],
    ['link:10:30', 'The visitor used the link “10:30”.'],
    ['link:', 'The visitor used a link.'],
    ['link', 'The visitor used a link.'],
    ['basic:ann', 'The visitor signed in as ann.'],
    ['password', 'The visitor used the password.'],
    ['knock', 'You approved the visitor.'],
    ['oauth:ann', 'Visitor: oauth:ann.'],
  ];
  for (const [visitor, words] of visitors)
    it(`describes ${visitor} as ${words}`, () => {
      assert.equal(visitorWords(visitor), words);
    });
});

const update = (changes: Partial<LogUpdate>): LogUpdate => ({
  at: { epoch: 0, revision: 9 },
  isWhole: false,
  isMore: false,
  oldest: 1,
  requests: [],
  ...changes,
});
const requests = (...ids: number[]) => ids.map((id) => exampleRequest({ id }));

describe('the known part of a log', () => {
  const known = updated(NOTHING_KNOWN, update({ requests: requests(2, 4, 3, 1) }));
  const ids = (log = known): number[] => log.requests.map(({ id }) => id);

  it('is sorted with the newest first, regardless of the order of arrival', () => {
    assert.deepEqual(ids(), [4, 3, 2, 1]);
    assert.deepEqual(known.at, { epoch: 0, revision: 9 });
  });

  it('merges new and changed requests, and keeps the others', () => {
    const changed = exampleRequest({ id: 2, status: 500 });
    const next = updated(known, update({ requests: [changed, ...requests(5)] }));
    assert.deepEqual(ids(next), [5, 4, 3, 2, 1]);
    assert.equal(next.requests[3], changed);
    assert.equal(next.requests[1], known.requests[0]);
  });

  it('drops requests that are no longer kept', () => {
    assert.deepEqual(ids(updated(known, update({ oldest: 3 }))), [4, 3]);
    assert.deepEqual(ids(updated(known, update({ oldest: 5 }))), []);
  });

  it('is replaced on request', () => {
    assert.deepEqual(ids(updated(known, update({ isWhole: true, requests: requests(7) }))), [7]);
    assert.deepEqual(ids(updated(known, update({ isWhole: true }))), []);
  });

  it('stays the same list if nothing has changed', () => {
    assert.equal(updated(known, update({})).requests, known.requests);
  });
});
