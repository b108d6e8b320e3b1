import assert from 'node:assert/strict';
import type { SocketMessage, SocketMessages, Timing, Verdict } from '../../../client/inspector/records.ts';
import { exampleRequest } from '../../../testing/views.ts';
import type { LogUpdate } from '../../../client/inspector/records.ts';
import {
  agoText,
  breakText,
  countsMark,
  countsWords,
  endedText,
  hiddenSecrets,
  importedWords,
  joinedMessages,
  kindWords,
  knownUpTo,
  listedMessages,
  messageWords,
  NOTHING_KNOWN,
  outcome,
  phases,
  faultCode,
  faultWords,
  fromText,
  phaseTexts,
  reasonText,
  previewText,
  replayProblem,
  savedMessage,
  shares,
  signatureMark,
  signatureTone,
  signatureWords,
  sizesText,
  statusText,
  targetText,
  timeText,
  triesText,
  updated,
  visitorWords,
  writtenText,
} from './request.ts';

const ago = (seconds: number): string => agoText(0, seconds * 1000);

describe('a row of the request log', () => {
  it('shows the outcome', () => {
    assert.equal(outcome(exampleRequest({ status: 304 })), 'fine');
    assert.equal(outcome(exampleRequest({ status: 404 })), 'refused');
    assert.equal(outcome(exampleRequest({ status: 503 })), 'failed');
    assert.equal(outcome(exampleRequest({ status: undefined })), 'pending');
    assert.equal(outcome(exampleRequest({ isBroken: true })), 'broken');
  });

  it('shows a connection that carries bytes, and why it has broken off', () => {
    const open = exampleRequest({ connection: 'open', status: undefined, durationMs: undefined });
    assert.deepEqual([outcome(open), statusText(open), timeText(open)], ['live', 'open', '']);
    const done = exampleRequest({ connection: 'done', status: undefined, durationMs: 1200 });
    assert.deepEqual([outcome(done), statusText(done), timeText(done)], ['fine', 'ended', '1.2 s']);
    assert.deepEqual(
      [breakText(open), breakText(done), breakText(exampleRequest({}))],
      [undefined, undefined, undefined],
    );
    const reset = exampleRequest({ connection: 'service-reset', status: undefined, isBroken: true });
    assert.deepEqual([outcome(reset), statusText(reset)], ['broken', 'reset']);
    assert.equal(breakText(reset), 'The local service broke it off.');
    assert.equal(sizesText({ bytesIn: 2048, bytesOut: 10 }), '2 KiB in, 10 B out');
  });

  it('shows the messages of a connection, and that it is open', () => {
    const counts = { kind: 'websocket', fromVisitor: 1, fromService: 3400, control: 5 } as const;
    const socket = exampleRequest({ status: 101, durationMs: undefined, messages: counts });
    assert.deepEqual([outcome(socket), statusText(socket), timeText(socket)], ['live', '101', 'open']);
    assert.equal(countsMark(counts), '↑ 1 ↓ 3,400');
    assert.equal(countsWords(counts), '1 message from the visitor, 3,400 from your server');
    assert.equal(countsWords({ ...counts, fromVisitor: 0, fromService: 0 }), 'No messages');
    const events = { ...counts, kind: 'event-stream', fromVisitor: 0 } as const;
    assert.equal(countsMark(events), '3,400 events');
    const ended = exampleRequest({ durationMs: 1200, messages: events });
    assert.equal(timeText(ended), '1.2 s');
    assert.match(endedText(ended) ?? '', /^ended .*:/);
    assert.deepEqual([endedText(socket), endedText(exampleRequest())], [undefined, undefined]);
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
    assert.equal(statusText(exampleRequest({ status: undefined, isBroken: true })), 'cut');
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
    ['user:ann@example.com', 'The visitor signed in as ann@example.com.'],
    ['agent:claude.ai', 'An agent of claude.ai that you approved.'],
    ['agent:claude.ai;user:ann@example.com', 'An agent of claude.ai, for ann@example.com.'],
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

function timeWords(timing: Timing, durationMs?: number, isBroken = false): string {
  return phaseTexts(phases({ timing, durationMs }), isBroken)
    .map(({ words }) => words)
    .join(' · ');
}

describe('a request in words', () => {
  const request = { startLine: '', fields: [], body: new Uint8Array(), isTruncated: false };
  const response = { ...request, startLine: 'HTTP/1.1 502 Bad \u202eGateway' };

  it('has the reason that was sent, unless the response was cut off', () => {
    assert.equal(reasonText({ response, isBroken: false }), 'Bad \\u{202e}Gateway');
    assert.equal(reasonText({ response, isBroken: true }), '');
    const bare = { ...response, startLine: 'HTTP/1.1 200 ' };
    assert.equal(reasonText({ response: bare, isBroken: false }), '');
  });

  it('tells what sent it, as far as that is known', () => {
    const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    assert.equal(fromText({ from: { agent, address: '203.0.113.9' } }), 'Firefox on Linux, 203.0.113.9');
    assert.equal(fromText({ from: { agent: '', address: '\u001b' } }), '\\x1b');
    assert.equal(fromText({}), undefined);
  });

  it('tells how its tries ended, the last of many', () => {
    const tries = [500, 502, 201].map((status, id) => exampleRequest({ id, status }));
    assert.equal(triesText(tries), '3 tries: 500, 502, 201');
    assert.equal(triesText([...tries, ...tries]), '6 tries: …, 502, 201, 500, 502, 201');
  });

  it('tells that Culvert answered, and why', () => {
    const fields = [['Culvert-Error', 'local-reset']] as const;
    assert.equal(faultCode({ response: { ...response, fields }, status: 502 }), 'local-reset');
    assert.equal(faultCode({ response, status: 502 }), undefined);
    assert.equal(faultWords('local-reset'), 'Your server closed the connection without answering.');
    assert.equal(faultWords('odd'), 'Culvert answered instead of your server (odd).');
  });
});

describe('the phases of a request', () => {
  const none = { waitedMs: 0, connectedMs: undefined, answeredMs: undefined };

  it('are consecutive, and told in their order', () => {
    assert.equal(
      timeWords({ waitedMs: 4, connectedMs: 2, answeredMs: 47 }, 1550),
      'Relay 4 ms · Connect 2 ms · Your server 45 ms · Rest 1.5 s',
    );
  });

  it('end where the request is now', () => {
    assert.equal(timeWords(none), 'Relay 0 ms · Connect so far');
    assert.equal(timeWords({ ...none, connectedMs: 1 }), 'Relay 0 ms · Connect 1 ms · Your server so far');
    assert.match(timeWords({ ...none, connectedMs: 1, answeredMs: 5 }), /Rest so far$/);
    assert.match(timeWords({ ...none, connectedMs: 1 }, undefined, true), /Your server cut off$/);
    assert.match(timeWords({ ...none, connectedMs: 1 }, 9), /Your server 8 ms$/);
  });

  it('have no server phase if nothing listened', () => {
    assert.equal(
      timeWords({ waitedMs: 0, connectedMs: undefined, answeredMs: 3 }, 4),
      'Relay 0 ms · Connect 3 ms · Rest 1 ms',
    );
  });

  it('have shares that add up to the whole', () => {
    const all = phases({ timing: { waitedMs: 25, connectedMs: 25, answeredMs: 50 }, durationMs: 75 });
    assert.deepEqual(
      shares(all).map(({ share }) => share),
      [0.25, 0.25, 0.25, 0.25],
    );
    assert.deepEqual(
      shares(phases({ timing: none, durationMs: undefined })).map(({ share }) => share),
      [0, 1],
    );
  });
});

function socketMessage(id: number, changes: Partial<SocketMessage> = {}): SocketMessage {
  const body = new TextEncoder().encode(`text ${id}`);
  const common = { atMs: id, kind: 'text', form: 'plain', isCut: false } as const;
  return { ...common, id, isFromVisitor: id % 2 === 1, body, size: body.length, ...changes };
}

function part(messages: readonly SocketMessage[], oldest = 1): SocketMessages {
  return { count: messages.at(-1)?.id ?? 0, oldest, messages, problem: undefined };
}

describe('the messages of a WebSocket in the window', () => {
  it('are read on from the last one, and again from one that was being decompressed', () => {
    const known = joinedMessages(
      undefined,
      part([socketMessage(1), socketMessage(2, { form: 'waiting' }), socketMessage(3)]),
    );
    assert.deepEqual([knownUpTo(undefined), knownUpTo(known)], [0, 1]);
    const next = joinedMessages(known, part([socketMessage(2), socketMessage(3), socketMessage(4)]));
    assert.deepEqual(
      next.messages.map(({ id, form }) => [id, form]),
      [1, 2, 3, 4].map((id) => [id, 'plain']),
    );
    assert.equal(knownUpTo(next), 4);
  });

  it('lose the ones that are no longer kept, and are the same list without a change', () => {
    const known = part([socketMessage(1), socketMessage(2)]);
    assert.equal(joinedMessages(known, { ...part([]), count: 2 }).messages, known.messages);
    const next = joinedMessages(known, part([socketMessage(3)], 2));
    assert.deepEqual(
      next.messages.map(({ id }) => id),
      [2, 3],
    );
  });

  it('are listed newest first, by sender and words', () => {
    const all = [1, 2, 3].map((id) => socketMessage(id));
    const ids = (...filter: Parameters<typeof listedMessages> extends [unknown, ...infer F] ? F : never) =>
      listedMessages(all, ...filter).map(({ id }) => id);
    assert.deepEqual(ids('both', ''), [3, 2, 1]);
    assert.deepEqual(ids('visitor', ''), [3, 1]);
    assert.deepEqual(ids('service', 'TEXT 2'), [2]);
  });

  it('have a line that hides no characters, in hexadecimal digits if it is not text', () => {
    assert.equal(previewText(socketMessage(7)), 'text 7');
    assert.equal(previewText(socketMessage(1, { body: Uint8Array.of(0, 255) })), '00 ff');
    assert.match(
      previewText(socketMessage(1, { body: new TextEncoder().encode('\u202Ex\u0007') })),
      /^\\u\{202e\}x\\x07$/,
    );
    const close = socketMessage(1, { kind: 'close', body: Uint8Array.of(3, 232, 98, 121, 101) });
    assert.equal(previewText(close), '1000 bye');
    assert.equal(previewText(socketMessage(1, { form: 'unreadable' })), 'Could not be decompressed');
    const long = new TextEncoder().encode('é'.repeat(500));
    for (const kind of ['text', 'event'] as const)
      assert.ok(previewText(socketMessage(1, { kind, body: long })).startsWith('éé'));
  });

  it('have the type and the id of an event', () => {
    const event = socketMessage(2, { kind: 'event', event: { name: 'price\u202e', id: '7' } });
    assert.match(messageWords(0, event), /^Message 2, from your server, price\\u\{202e\}, .*, 6 B, id 7$/);
    assert.equal(kindWords({ ...event, event: { name: undefined, id: undefined } }), 'event');
  });

  it('say who sent them, and how they were compressed', () => {
    const words = messageWords(0, socketMessage(2, { form: 'compressed', size: 4 }));
    assert.match(words, /^Message 2, from your server, text, .*\.002.*, 6 B \(compressed to 4 B\)$/);
  });
});

const VERDICTS: readonly Verdict[] = [
  'valid',
  'mismatch',
  'body-changed',
  'too-old',
  'too-new',
  'malformed',
  'unsigned',
  'no-secret',
  'body-cut',
];
const view = (verdict: Verdict) => ({ provider: 'stripe', verdict }) as const;

describe('words about a signature', () => {
  it('differ for each verdict', () => {
    assert.equal(new Set(VERDICTS.map((verdict) => signatureWords(view(verdict)))).size, VERDICTS.length);
  });

  it('include a mark in the log if a signature was checked', () => {
    const marked = VERDICTS.filter((verdict) => signatureMark(view(verdict)) !== undefined);
    assert.deepEqual(
      marked,
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) !== 'open'),
    );
  });

  it('promise only what is true', () => {
    assert.deepEqual(
      VERDICTS.filter((verdict) => signatureTone(view(verdict)) === 'good'),
      ['valid'],
    );
  });
});

describe('the words about an import', () => {
  it('contain the number of requests', () => {
    assert.deepEqual(importedWords({ ids: [1], leftOut: [], hasRedacted: false }), [
      '1 request was imported.',
    ]);
    assert.deepEqual(importedWords({ ids: [1, 2], leftOut: [], hasRedacted: false }), [
      '2 requests were imported.',
    ]);
  });

  it('contain what was left out, and what is missing in the others', () => {
    const leftOut = Array.from({ length: 7 }, (_, index) => `No ${index}\u202e.`);
    const words = importedWords({ ids: [], leftOut, hasRedacted: true });
    assert.equal(words.length, 8);
    assert.equal(words[1], 'No 0\\u{202e}.');
    assert.deepEqual(words.slice(-2), [
      '2 more were left out.',
      'Some requests contain [redacted] instead of a secret. Choose Edit and send to fill it in.',
    ]);
  });
});

describe('the words about a HAR', () => {
  it('name the file, and what is missing in it', () => {
    const written = { path: '/home/ann/shop.har', count: 1, missing: 0, hidesSecrets: false };
    assert.equal(writtenText(written), 'Saved 1 request to /home/ann/shop.har.');
    assert.equal(
      writtenText({ ...written, count: 2, missing: 3, hidesSecrets: true }),
      'Saved 2 requests to /home/ann/shop.har, without secrets. 3 more are no longer available.',
    );
  });
});
