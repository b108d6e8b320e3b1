import type {
  RecordedMessage,
  RequestDetail,
  RequestSummary,
} from '../../../desktop/engine/inspector/records.ts';
import type { EditView } from '../../../desktop/shared/bench.ts';
import { exampleRequest } from '../../../desktop/testing/views.ts';
import type { ScriptedHandlers } from '../support/scripted-main.ts';
import { HOUR, MINUTE, NOW } from './scene.ts';

export const REQUESTS = [
  exampleRequest({ id: 95, startedAt: NOW - 3000 }),
  exampleRequest({ id: 94, startedAt: NOW - 5000, target: '/src/main.ts', status: 304, durationMs: 3 }),
  exampleRequest({
    id: 93,
    startedAt: NOW - 9000,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({
    id: 92,
    startedAt: NOW - 12_000,
    target: '/events',
    status: undefined,
    durationMs: undefined,
  }),
  exampleRequest({ id: 91, startedAt: NOW - 20_000, target: '/video.mp4', durationMs: 2140, isBroken: true }),
];
/** What the log has besides the last few. */
export const EARLIER = [
  exampleRequest({ id: 90, startedAt: NOW - 44_000, target: '/live', durationMs: undefined }),
  exampleRequest({
    id: 89,
    startedAt: NOW - 3 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 201,
    durationMs: 31,
    replayOf: 88,
  }),
  exampleRequest({
    id: 88,
    startedAt: NOW - 4 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({ id: 87, startedAt: NOW - 2 * HOUR, target: '/caf%C3%A9/men%C3%BC', durationMs: 9 }),
];

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export const ASKED: RecordedMessage = {
  startLine: 'POST /api/checkout HTTP/1.1',
  fields: [
    ['Host', 'shop-demo.tunnels.example.com'],
    ['Content-Type', 'application/json'],
    ['Authorization', 'Bearer [redacted]'],
    ['X-Forwarded-For', '203.0.113.7'],
  ],
  body: bytes('{"cart":[{"sku":"heron-mug","count":2}],"currency":"EUR"}'),
  isTruncated: false,
};
export const ANSWERED: RecordedMessage = {
  startLine: 'HTTP/1.1 500 Internal Server Error',
  fields: [
    ['Content-Type', 'application/json'],
    ['Date', 'Sat, 21 Nov 2026 10:29:51 GMT'],
  ],
  body: bytes('{"error":"no price for heron-mug in EUR"}'),
  isTruncated: false,
};

export const EDITED: EditView = {
  method: 'POST',
  target: '/api/checkout?token=[redacted]',
  fields: ASKED.fields.filter(([name]) => name !== 'Host'),
  body: new TextDecoder().decode(ASKED.body),
  bodySize: ASKED.body.length,
  isCut: false,
  signer: undefined,
};
/** What came to it once it was edited. */
export const SENT = { id: 96, status: 201 };
export const EDIT_PROBLEMS = [
  { part: 'method', text: 'The method takes 1 to 32 letters, digits and hyphens, such as POST.' },
  { part: 'target', text: 'The path takes no line break.' },
  { part: 'fields.1.name', text: 'The header Host is written by culvert, from the rest of the request.' },
  { part: 'fields.2.value', text: 'The value of X-Forwarded-For takes no control characters.' },
  { part: 'body', text: 'The body takes 64 KiB; this one has 80 KiB.' },
];
const ANSWERED_NOW: RecordedMessage = {
  startLine: 'HTTP/1.1 201 Created',
  fields: [
    ['Content-Type', 'application/json'],
    ['Location', '/orders/1044'],
  ],
  body: bytes('{"order":1044,"total":"27.80 EUR","shipped":false}'),
  isTruncated: false,
};

export function detail(id: number): RequestDetail {
  const summary = REQUESTS.find((request) => request.id === id) ?? exampleRequest({ id });
  return {
    ...summary,
    timing: { waitedMs: 4, connectedMs: 0.4, answeredMs: id === 92 ? undefined : 45 },
    bytesIn: 512,
    bytesOut: 289,
    request: ASKED,
    response: id === 92 ? undefined : id === SENT.id ? ANSWERED_NOW : ANSWERED,
  };
}

/** A log in which nothing changes. */
export function logOf(requests: readonly RequestSummary[]): NonNullable<ScriptedHandlers['log:changes']> {
  return ({ since }) => ({
    at: { epoch: 0, revision: 1 },
    isWhole: false,
    isMore: false,
    oldest: 1,
    requests: since.revision === 0 ? requests : [],
  });
}
