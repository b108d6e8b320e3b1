import assert from 'node:assert/strict';
import { recogniseWebhook, WEBHOOK_PROVIDERS, type WebhookProvider } from './provider.ts';

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
