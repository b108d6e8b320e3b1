/** Signed requests from the documentation of the services, or from their own tests, for our tests. */
import type { SignedRequest } from '../client/inspector/signatures.ts';
import type { WebhookProvider } from '../client/inspector/records.ts';

export interface Vector {
  readonly provider: WebhookProvider;
  readonly source: string;
  readonly secret: string;
  readonly request: SignedRequest;
  /** seconds since 1970; `undefined` if the signature has no time */
  readonly signedAt: number | undefined;
}

const FORM = 'application/x-www-form-urlencoded';
const TWILIO_URL = 'https://mycompany.com/myapp.php?foo=1&bar=2';

export const VECTORS: readonly Vector[] = [
  {
    provider: 'stripe',
    source: 'github.com/stripe/stripe-dotnet, EventUtilityTest.cs and event_test_signature.json',
    secret: 'webhook_secret',
    signedAt: 1533204620,
    request: signed(
      {
        'stripe-signature':
          't=1533204620,v1=2220f87ef101a04665f11cdf770523143f875572008577fa0f20882ddb9cc3c7,v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef',
      },
      `${JSON.stringify(
        {
          id: 'evt_123',
          object: 'event',
          account: 'acct_123',
          api_version: '2017-05-25',
          created: 1533204620,
          data: {
            object: {
              id: 'cus_123',
              object: 'customer',
              created: 123456789,
              email: 'test@stripe.com',
              livemode: false,
              metadata: {},
            },
          },
          livemode: false,
          pending_webhooks: 1,
          request: { id: 'req_123', idempotency_key: 'idempotency-key-123' },
          type: 'customer.created',
        },
        undefined,
        2,
      )}\n`,
    ),
  },
  {
    provider: 'github',
    source:
      'docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries, "Testing the webhook payload validation"',
    secret: "It's a Secret to Everybody",
    signedAt: undefined,
    request: signed(
      {
        'x-github-event': 'ping',
        'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      },
      'Hello, World!',
    ),
  },
  {
    provider: 'slack',
    source: 'docs.slack.dev/authentication/verifying-requests-from-slack, the example in its steps',
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    signedAt: 1531420618,
    request: signed(
      {
        'content-type': FORM,
        'x-slack-request-timestamp': '1531420618',
        'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
      },
      [
        'token=xyzz0WbapA4vBCDEFasx0q6G',
        'team_id=T1DC2JH3J',
        'team_domain=testteamnow',
        'channel_id=G8PSS9T3V',
        'channel_name=foobar',
        'user_id=U2CERLKJA',
        'user_name=roadrunner',
        'command=%2Fwebhook-collect',
        'text=',
        'response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN',
        'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      ].join('&'),
    ),
  },
  {
    provider: 'shopify',
    // Shopify documents the algorithm without an example.
    source:
      'github.com/sqlpage/SQLPage, its test of HMACs as Shopify sends them; the same with openssl dgst -hmac',
    secret: 'test-webhook-secret',
    signedAt: undefined,
    request: signed(
      { 'x-shopify-hmac-sha256': 'QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=' },
      '{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}',
    ),
  },
  {
    provider: 'twilio',
    source: 'twilio.com/docs/usage/security#validating-requests, and the tests of its libraries',
    secret: '12345',
    signedAt: undefined,
    request: signed(
      { 'content-type': FORM, 'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=' },
      'Digits=1234&To=%2B18005551212&From=%2B14158675309&Caller=%2B14158675309&CallSid=CA1234567890ABCDE',
      TWILIO_URL,
    ),
  },
  {
    provider: 'twilio',
    source: 'the tests of its libraries: a field that is there several times',
    secret: '12345',
    signedAt: undefined,
    request: signed(
      { 'content-type': FORM, 'x-twilio-signature': 'IK+Dwps556ElfBT0I3Rgjkr1wJU=' },
      'Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234',
      TWILIO_URL,
    ),
  },
  {
    provider: 'twilio',
    source: 'the tests of its libraries: JSON, with its hash in the address',
    secret: '12345',
    signedAt: undefined,
    request: signed(
      { 'content-type': 'application/json', 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=' },
      '{"property": "value", "boolean": true}',
      `${TWILIO_URL}&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620`,
    ),
  },
  {
    provider: 'standard',
    source: 'github.com/standard-webhooks/standard-webhooks, the tests of its libraries',
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    signedAt: 1614265330,
    request: signed(
      {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      '{"test": 2432232314}',
    ),
  },
  {
    provider: 'standard',
    source: 'docs.svix.com/receiving/verifying-payloads/how-manual, under the names of Svix',
    secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    signedAt: 1731705121,
    request: signed(
      {
        'svix-id': 'msg_loFOjxBNrRLzqYUf',
        'svix-timestamp': '1731705121',
        'svix-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
      },
      '{"event_type":"ping","data":{"success":true}}',
    ),
  },
];

/** A request with these fields, names in lower case. */
export function signed(
  fields: Readonly<Record<string, string>>,
  body: string,
  url = 'https://hooks.example.com/in',
): SignedRequest {
  return { url, field: (name) => fields[name], body: Buffer.from(body) };
}
