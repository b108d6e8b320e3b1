import assert from 'node:assert/strict';
import { signed, VECTORS } from '../../../testing/signature-vectors.ts';
import { SIGNATURE_TOLERANCE_SECONDS } from '../../limits.ts';
import { WEBHOOK_PROVIDERS, type WebhookProvider } from '../../webhooks/provider.ts';
import { SCHEMES, type SignedRequest } from './schemes.ts';

/** seconds between signature and arrival */
const WINDOW = [
  [SIGNATURE_TOLERANCE_SECONDS, 'valid'],
  [SIGNATURE_TOLERANCE_SECONDS + 1, 'too-old'],
  [-SIGNATURE_TOLERANCE_SECONDS, 'valid'],
  [-SIGNATURE_TOLERANCE_SECONDS - 1, 'too-new'],
] as const;
const NOW = Date.UTC(2026, 6, 10);

/** The same request with other fields or another body. */
function changed(
  request: SignedRequest,
  changes: { fields?: Record<string, string>; body?: string; url?: string },
) {
  return {
    url: changes.url ?? request.url,
    field: (name: string) => changes.fields?.[name] ?? request.field(name),
    body: changes.body === undefined ? request.body : Buffer.from(changes.body),
  };
}

describe('signatures of webhooks', () => {
  it('include a documented example for each service', () => {
    assert.deepEqual(
      new Set(VECTORS.map(({ provider }) => provider)),
      new Set(Object.keys(WEBHOOK_PROVIDERS)),
    );
  });

  for (const { provider, source, secret, request, signedAt } of VECTORS) {
    const at = signedAt === undefined ? NOW : signedAt * 1000;
    describe(`${provider}: ${source}`, () => {
      const scheme = SCHEMES[provider];

      it('is valid with its secret, also among others, and accepts that text as a secret', () => {
        assert.equal(scheme.check(request, [secret], at), 'valid');
        assert.equal(scheme.check(request, ['b3RoZXI=', secret], at), 'valid');
        assert.equal(scheme.secretProblem(secret), undefined);
      });

      it('is invalid with another secret', () => {
        assert.equal(scheme.check(request, ['b3RoZXI='], at), 'mismatch');
      });

      it('is invalid for another body', () => {
        const verdict = scheme.check(changed(request, { body: `${String(request.body)} ` }), [secret], at);
        assert.equal(verdict, request.url.includes('bodySHA256') ? 'body-changed' : 'mismatch');
      });

      it('is valid now after signing again, and only with that secret', () => {
        const { fields, url } = scheme.sign(request, secret, NOW);
        const again = changed(request, { fields: Object.fromEntries(fields), url: url ?? request.url });
        assert.equal(scheme.check(again, [secret], NOW), 'valid');
        assert.equal(scheme.check(again, ['b3RoZXI='], NOW), 'mismatch');
      });

      it('is valid after changing the body and signing again', () => {
        const edited = changed(request, { body: 'Digits=1' });
        const { fields, url } = scheme.sign(edited, secret, NOW);
        const again = changed(edited, { fields: Object.fromEntries(fields), url: url ?? edited.url });
        assert.equal(scheme.check(again, [secret], NOW), 'valid');
      });

      if (signedAt === undefined) return;
      it('is too old or too new beyond the tolerance, to the second', () => {
        for (const [seconds, verdict] of WINDOW)
          assert.equal(scheme.check(request, [secret], (signedAt + seconds) * 1000 + 999), verdict);
      });

      it('is a mismatch, not too old, with another secret', () => {
        assert.equal(scheme.check(request, ['b3RoZXI='], NOW), 'mismatch');
      });
    });
  }
});

describe('requests without a signature that can be checked', () => {
  const malformed: [provider: WebhookProvider, fields: Record<string, string>][] = [
    ...[
      '',
      't',
      't=,v1=ab',
      't=1,v0=ab',
      'v1=ab',
      't=1,t=2,v1=ab',
      't=-1,v1=ab',
      `t=${'9'.repeat(400)},v1=a`,
    ].map((value): [WebhookProvider, Record<string, string>] => ['stripe', { 'stripe-signature': value }]),
    ...['', 'sha256=', 'sha1=ab', `sha256=${'g'.repeat(64)}`].map(
      (value): [WebhookProvider, Record<string, string>] => [
        'github',
        { 'x-github-event': 'push', 'x-hub-signature-256': value },
      ],
    ),
    ['slack', { 'x-slack-signature': `v0=${'a'.repeat(64)}` }],
    ['slack', { 'x-slack-signature': 'v0=', 'x-slack-request-timestamp': '1' }],
    ['slack', { 'x-slack-signature': `v1=${'a'.repeat(64)}`, 'x-slack-request-timestamp': '1' }],
    ['slack', { 'x-slack-signature': `v0=${'a'.repeat(64)}`, 'x-slack-request-timestamp': '1e3' }],
    ['shopify', { 'x-shopify-hmac-sha256': 'ab' }],
    ['twilio', { 'x-twilio-signature': '' }],
    ['standard', { 'webhook-signature': 'v1,a' }],
    ['standard', { 'webhook-signature': 'v1,a', 'webhook-id': 'm', 'webhook-timestamp': 'today' }],
    ['standard', { 'webhook-signature': 'v1a,a', 'webhook-id': 'm', 'webhook-timestamp': '1' }],
  ];
  for (const [provider, fields] of malformed) {
    it(`${provider}: ${JSON.stringify(fields).slice(0, 80)}`, () => {
      const request = signed(fields, '{}');
      assert.equal(SCHEMES[provider].check(request, ['c2VjcmV0'], NOW), 'malformed');
    });
  }

  it('GitHub: a webhook without a configured secret is unsigned', () => {
    assert.equal(SCHEMES.github.check(signed({ 'x-github-event': 'ping' }, '{}'), ['s'], NOW), 'unsigned');
  });

  it('Stripe: any of several signatures during a rotation is enough', () => {
    const [vector] = VECTORS;
    assert.ok(vector);
    const field = vector.request.field('stripe-signature') ?? '';
    const request = changed(vector.request, {
      fields: { 'stripe-signature': field.replace(',v1=', `,v1=${'0'.repeat(64)},v1=`) },
    });
    assert.equal(SCHEMES.stripe.check(request, [vector.secret], (vector.signedAt ?? 0) * 1000), 'valid');
  });

  it('Twilio: an address with the standard port is the same as without', () => {
    const scheme = SCHEMES.twilio;
    const without = signed({ 'x-twilio-signature': '' }, '', 'https://example.com/in?x=1');
    for (const url of ['https://example.com:443/in?x=1', 'https://example.com/in?x=1']) {
      const { fields } = scheme.sign({ ...without, url }, 'token', NOW);
      const request = changed(without, { fields: Object.fromEntries(fields) });
      assert.equal(scheme.check(request, ['token'], NOW), 'valid', url);
    }
  });

  it('rejects an unusable secret with a reason', () => {
    assert.match(SCHEMES.stripe.secretProblem('whsec a') ?? '', /spaces/);
    assert.match(SCHEMES.standard.secretProblem('whsec_not base64') ?? '', /whsec_/);
    assert.match(SCHEMES.standard.secretProblem('whsec_') ?? '', /whsec_/);
    assert.equal(SCHEMES.standard.secretProblem('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'), undefined);
  });
});
