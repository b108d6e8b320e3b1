import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { matchingMessages } from './readable.ts';
import {
  cookiesOf,
  matching,
  newLines,
  recogniseWebhook,
  type SocketMessage,
  trimBlanks,
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
} from './records.ts';
import { RequestLog } from './request-log.ts';

describe('trimBlanks', () => {
  it('removes spaces and tabs, but no byte of a UTF-8 character', () => {
    assert.equal(trimBlanks(' \ta b\t '), 'a b');
    assert.equal(trimBlanks('\xc3\xa0'), '\xc3\xa0');
    assert.equal(trimBlanks(' \t '), '');
  });
});

function listed(typed: string): number[] {
  const log = new RequestLog(new FakeClock());
  for (const [line, status] of [
    ['GET /cart?step=2', 200],
    ['POST /webhooks/stripe', 500],
    ['POST /webhooks/github', 204],
  ] as const) {
    const recording = log.open();
    recording.toLocal(Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\n\r\n`));
    recording.toVisitor(Buffer.from(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
  }
  return matching(log.list(), typed).map(({ id }) => id);
}

describe('the cookies of a message', () => {
  it('are those of all its fields, in order, including repeated and nameless ones', () => {
    const fields = [
      ['cookie', 'sid=[redacted]; theme=a=b;; bare'],
      ['X-Other', 'no=cookie'],
      ['Cookie', 'theme=dark'],
    ] as const;
    assert.deepEqual(cookiesOf({ fields }), [
      ['sid', '[redacted]'],
      ['theme', 'a=b'],
      ['', 'bare'],
      ['theme', 'dark'],
    ]);
  });

  it('have their attributes if a response sets them', () =>
    assert.deepEqual(cookiesOf({ fields: [['Set-Cookie', 'sid=1; Path=/; HttpOnly']] }), [
      ['sid', '1; Path=/; HttpOnly'],
    ]));

  it('have no name that reaches into the attributes', () => {
    const fields = [['Set-Cookie', 'word; Path=/']] as const;
    assert.deepEqual(cookiesOf({ fields }), [['', 'word; Path=/']]);
  });
});

describe('the search in the request log', () => {
  for (const [typed, found] of [
    ['', [3, 2, 1]],
    ['post', [3, 2]],
    ['POST 500', [2]],
    ['stripe', [2]],
    ['cart 200', [1]],
    ['cart 500', []],
  ] as const) {
    it(`finds ${found.length} for "${typed}"`, () => assert.deepEqual(listed(typed), found));
  }
});

describe('a line of text about a change of the log', () => {
  it('is printed once when a WebSocket opens, and once when a request ends', () => {
    const log = new RequestLog(new FakeClock());
    const isLine = newLines();
    const lines: (number | undefined)[] = [];
    log.subscribe((summary) => void (isLine(summary) && lines.push(summary.status)));
    const recording = log.open();
    recording.toLocal(Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    assert.deepEqual(lines, []);
    recording.toVisitor(Buffer.from('HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n'));
    recording.rehearsed('delayed');
    assert.deepEqual(lines, [101]);
    recording.end(false);
    assert.deepEqual(lines, [101, 101]);
  });
});

function message(id: number, isFromVisitor: boolean, body: string): SocketMessage {
  const common = { atMs: 0, size: body.length, form: 'plain', kind: 'text', isCut: false } as const;
  return { ...common, id, isFromVisitor, body: Buffer.from(body) };
}

describe('the filter of WebSocket messages', () => {
  const all = [message(1, true, 'Subscribe prices'), message(2, false, 'price 12'), message(3, false, 'bye')];

  for (const [typed, found] of [
    ['', [1, 2, 3]],
    ['PRICE', [1, 2]],
    ['price service', [2]],
    ['price bye', []],
  ] as const) {
    it(`finds ${found.length} for "${typed}"`, () =>
      assert.deepEqual(
        matchingMessages(all, typed).map(({ id }) => id),
        found,
      ));
  }
});

/** As in the senders' documentation. */
const SENT: readonly (readonly [provider: WebhookProvider, name: string, value: string])[] = [
  [
    'stripe',
    'Stripe-Signature',
    't=1492774577,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
  ],
  ['github', 'X-GitHub-Event', 'push'],
  ['slack', 'X-Slack-Signature', 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'],
  ['shopify', 'X-Shopify-Hmac-SHA256', 'XWmrwMey6OsLMeiZKwP4FppHH3cmAiiJJAweH5Jo4bM='],
  ['twilio', 'X-Twilio-Signature', 'RSOYDt4T1cUTdK1PDd93/VVr8B8='],
  ['standard', 'webhook-signature', 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4='],
  ['standard', 'svix-signature', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
];
const OTHER = [
  ['Host', 'my-app.tunnels.test'],
  ['Content-Type', 'application/json'],
] as const;

describe('a webhook', () => {
  for (const [provider, name, value] of SENT) {
    it(`of ${provider} is recognised by ${name}, in any case`, () => {
      assert.equal(recogniseWebhook([...OTHER, [name, value]]), provider);
      assert.equal(recogniseWebhook([...OTHER, [name.toUpperCase(), value]]), provider);
      assert.equal(recogniseWebhook([[name.toLowerCase(), value], ...OTHER]), provider);
    });
  }

  it('is recognised for any sender', () => {
    assert.deepEqual(new Set(SENT.map(([provider]) => provider)), new Set(Object.keys(WEBHOOK_PROVIDERS)));
  });

  it('is not recognised by a similar name, or by a value', () => {
    const fields = [
      ['x-stripe-signature', 'v1'],
      ['stripe-signature-2', 'v1'],
      ['x-forwarded-for', 'stripe-signature'],
      ['constructor', 'x'],
    ] as const;
    assert.equal(recogniseWebhook([...OTHER, ...fields]), undefined);
    assert.equal(recogniseWebhook([]), undefined);
  });
});
