import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { WEBHOOK_PROVIDERS, type WebhookProvider } from './records.ts';
import { readMessage } from './request-log.ts';
import {
  checkSignature,
  hmac,
  SCHEMES,
  signAgain,
  type SignedRequest,
  SIGNATURE_TOLERANCE_SECONDS,
} from './signatures.ts';

/** seconds between signature and arrival */
const WINDOW = [
  [SIGNATURE_TOLERANCE_SECONDS, 'valid'],
  [SIGNATURE_TOLERANCE_SECONDS + 1, 'too-old'],
  [-SIGNATURE_TOLERANCE_SECONDS, 'valid'],
  [-SIGNATURE_TOLERANCE_SECONDS - 1, 'too-new'],
] as const;
const NOW = Date.UTC(2026, 6, 10);

interface Vector {
  readonly provider: WebhookProvider;
  readonly source: string;
  readonly secret: string;
  /** seconds since 1970; without it, the signature has no time */
  readonly signedAt?: number;
  readonly url?: string;
  /** names in lower case */
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
}
const VECTORS = (
  parse(readFileSync(new URL('signature-vectors.yml', import.meta.url), 'utf8')) as readonly Vector[]
).map((vector) => ({ ...vector, request: signed(vector.fields, vector.body, vector.url) }));

/** A request with these fields, names in lower case. */
function signed(
  fields: Readonly<Record<string, string>>,
  body: string,
  url = 'https://hooks.example.com/in',
): SignedRequest {
  return { url, field: (name) => fields[name], body: Buffer.from(body) };
}

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

      it('is valid only with its secret, also among others, and accepts that text as a secret', () => {
        assert.equal(scheme.check(request, [secret], at), 'valid');
        assert.equal(scheme.check(request, ['b3RoZXI=', secret], at), 'valid');
        for (const now of [at, NOW]) assert.equal(scheme.check(request, ['b3RoZXI='], now), 'mismatch');
        assert.equal(scheme.secretProblem(secret), undefined);
      });

      it('is invalid for another body', () => {
        const verdict = scheme.check(changed(request, { body: `${String(request.body)} ` }), [secret], at);
        assert.equal(verdict, request.url.includes('bodySHA256') ? 'body-changed' : 'mismatch');
      });

      it('is valid now after signing again, also with another body, and only with that secret', () => {
        for (const edited of [request, changed(request, { body: 'Digits=1' })]) {
          const { fields, url = edited.url } = scheme.sign(edited, secret, NOW);
          const again = changed(edited, { fields: Object.fromEntries(fields), url });
          assert.equal(scheme.check(again, [secret], NOW), 'valid');
          assert.equal(scheme.check(again, ['b3RoZXI='], NOW), 'mismatch');
        }
      });

      if (signedAt === undefined) return;
      it('is too old or too new beyond the tolerance, to the second', () => {
        for (const [seconds, verdict] of WINDOW)
          assert.equal(scheme.check(request, [secret], (signedAt + seconds) * 1000 + 999), verdict);
      });
    });
  }
});

describe('requests without a signature that can be checked', () => {
  const SLACK = `v0=${'a'.repeat(64)}`;
  for (const [provider, fields] of [
    ['stripe', 'stripe-signature: '],
    ['stripe', 'stripe-signature: t'],
    ['stripe', 'stripe-signature: t=,v1=ab'],
    ['stripe', 'stripe-signature: t=1,v0=ab'],
    ['stripe', 'stripe-signature: v1=ab'],
    ['stripe', 'stripe-signature: t=1,t=2,v1=ab'],
    ['stripe', 'stripe-signature: t=-1,v1=ab'],
    ['stripe', `stripe-signature: t=${'9'.repeat(400)},v1=a`],
    ['github', 'x-github-event: push|x-hub-signature-256: '],
    ['github', 'x-github-event: push|x-hub-signature-256: sha256='],
    ['github', 'x-github-event: push|x-hub-signature-256: sha1=ab'],
    ['github', `x-github-event: push|x-hub-signature-256: sha256=${'g'.repeat(64)}`],
    ['slack', `x-slack-signature: ${SLACK}`],
    ['slack', 'x-slack-signature: v0=|x-slack-request-timestamp: 1'],
    ['slack', `x-slack-signature: ${SLACK.replace('v0', 'v1')}|x-slack-request-timestamp: 1`],
    ['slack', `x-slack-signature: ${SLACK}|x-slack-request-timestamp: 1e3`],
    ['shopify', 'x-shopify-hmac-sha256: ab'],
    ['twilio', 'x-twilio-signature: '],
    ['standard', 'webhook-signature: v1,a'],
    ['standard', 'webhook-signature: v1,a|webhook-id: m|webhook-timestamp: today'],
    ['standard', 'webhook-signature: v1a,a|webhook-id: m|webhook-timestamp: 1'],
  ] as const)
    it(`${provider}: ${fields.slice(0, 80)}`, () => {
      const request = signed(Object.fromEntries(fields.split('|').map((field) => field.split(': '))), '{}');
      assert.equal(SCHEMES[provider].check(request, ['c2VjcmV0'], NOW), 'malformed');
    });

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

const SECRET = 'whsec_c2VjcmV0';
const BODY = '{"id":"evt_1","name":"caf\u00e9"}';

/** A webhook as the relay forwards it. */
function stripeRequest(signedAt: number, body: Buffer, fields = `Content-Length: ${body.length}`): Buffer {
  const time = String(Math.floor(signedAt / 1000));
  const signature = hmac('sha256', SECRET, `${time}.`, Buffer.from(BODY)).toString('hex');
  const head = [
    'POST /hooks HTTP/1.1',
    'Host: localhost:3000',
    `Stripe-Signature: t=${time},v1=${signature}`,
    fields,
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: shop.example.com',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

function verdictOf(request: Buffer, total = request.length, secrets: readonly string[] = [SECRET]) {
  const message = readMessage(request, total, { reveal: true });
  assert.ok(message);
  return checkSignature(message, NOW, () => secrets)?.verdict;
}

function chunked(text: string): Buffer {
  const parts = [Buffer.from(text).subarray(0, 5), Buffer.from(text).subarray(5), Buffer.alloc(0)];
  return Buffer.concat(
    parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  );
}

describe('the signature of a recorded webhook', () => {
  const CHUNKED = 'Transfer-Encoding: chunked';
  const whole = stripeRequest(NOW, Buffer.from(BODY));
  const pieces = stripeRequest(NOW, chunked(BODY), CHUNKED);
  const shown = stripeRequest(NOW, Buffer.from(JSON.stringify(JSON.parse(BODY), undefined, 1)));
  for (const [what, request, verdict, total, secrets] of [
    ['is computed from the body as sent', whole, 'valid'],
    ['is not computed from the body as shown', shown, 'mismatch'],
    ['is computed from the body without chunked coding', pieces, 'valid'],
    ['cannot be checked without a secret', whole, 'no-secret', whole.length, []],
    ['cannot be checked if more of the body was sent', whole, 'body-cut', whole.length + 1],
    ['cannot be checked without the complete body', whole.subarray(0, -1), 'body-cut'],
    ['cannot be checked without all chunks', pieces.subarray(0, -3), 'body-cut'],
    ['is missing from a request that is not a webhook', Buffer.from('GET / HTTP/1.1\r\n\r\n'), undefined],
    [
      "is checked against the request's arrival time",
      stripeRequest(NOW - 301_000, Buffer.from(BODY)),
      'too-old',
    ],
  ] as const)
    it(what, () => assert.equal(verdictOf(request, total, secrets), verdict));

  it('covers the address that the sender called, which the relay reports', () => {
    const twilio = VECTORS.find(({ provider }) => provider === 'twilio');
    assert.ok(twilio);
    const head = [
      'POST /myapp.php?foo=1&bar=2 HTTP/1.1',
      'Host: localhost:3000',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: mycompany.com',
      'Content-Type: application/x-www-form-urlencoded',
      `X-Twilio-Signature: ${twilio.request.field('x-twilio-signature') ?? ''}`,
    ].join('\r\n');
    const request = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), twilio.request.body]);
    assert.equal(verdictOf(request, request.length, [twilio.secret]), 'valid');
    const path = Buffer.from(
      request
        .toString()
        .replace('/myapp.php', '/app.php')
        .replace('X-Forwarded-Proto', 'X-Forwarded-Prefix: /t/a\r\nX-Forwarded-Proto'),
    );
    assert.equal(verdictOf(path, path.length, [twilio.secret]), 'mismatch');
  });
});

const again = (request: Buffer) => signAgain(request, () => SECRET, NOW);
const without = (request: Buffer) => request.toString('latin1').replace(/Stripe-Signature: .*/, '');

describe('signing a webhook again', () => {
  it('makes an old one valid, and keeps every other byte', () => {
    const old = stripeRequest(NOW - 86_400_000, Buffer.from(BODY));
    const renewed = again(old);
    assert.ok(renewed);
    assert.equal(verdictOf(renewed), 'valid');
    assert.equal(without(renewed), without(old));
  });

  it('keeps chunks, and signs what they contain', () => {
    const old = stripeRequest(0, chunked(BODY), 'Transfer-Encoding: chunked');
    const renewed = again(old);
    assert.ok(renewed);
    assert.ok(renewed.subarray(-10).equals(old.subarray(-10)));
    assert.equal(verdictOf(renewed), 'valid');
  });

  it('writes a repeated signature field once', () => {
    const twice = stripeRequest(
      0,
      Buffer.from(BODY),
      `stripe-signature: t=1,v1=00\r\nContent-Length: ${Buffer.from(BODY).length}`,
    );
    const renewed = again(twice);
    assert.ok(renewed);
    assert.equal(renewed.toString().match(/stripe-signature/gi)?.length, 1);
    assert.equal(verdictOf(renewed), 'valid');
  });

  it('writes the hash of the body into the address if that is renewed', () => {
    const request = Buffer.from(
      'POST /in?bodySHA256=00&x=1 HTTP/1.1\r\nX-Forwarded-Prefix: /t/a\r\nX-Forwarded-Host: r.example\r\nX-Twilio-Signature: x\r\nContent-Length: 2\r\n\r\n{}',
    );
    const renewed = again(request);
    assert.ok(renewed);
    assert.match(
      renewed.toString(),
      /^POST \/in\?bodySHA256=44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a&x=1 HTTP/,
    );
    assert.equal(verdictOf(renewed), 'valid');
  });

  it('requires a signature, a secret and a complete head', () => {
    assert.equal(again(Buffer.from('GET / HTTP/1.1\r\n\r\n')), undefined);
    assert.equal(again(Buffer.from('POST / HTTP/1.1\r\nStripe-Signature: t')), undefined);
    assert.equal(
      signAgain(stripeRequest(0, Buffer.from(BODY)), () => undefined, NOW),
      undefined,
    );
  });
});
