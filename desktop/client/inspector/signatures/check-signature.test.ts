import assert from 'node:assert/strict';
import { VECTORS } from '../../../testing/signature-vectors.ts';
import { readMessage } from '../request-log.ts';
import { checkSignature, signAgain } from './check-signature.ts';
import { hmac } from './schemes.ts';

const NOW = Date.UTC(2026, 6, 10);
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

function verdict(request: Buffer, total = request.length, secrets = [SECRET]) {
  const message = readMessage(request, total, { reveal: true });
  assert.ok(message);
  return checkSignature(message, NOW, () => secrets)?.verdict;
}

const chunked = (text: string): Buffer => {
  const bytes = Buffer.from(text);
  const half = Buffer.concat([
    bytes.subarray(0, 5),
    Buffer.from(`\r\n${(bytes.length - 5).toString(16)}\r\n`),
  ]);
  return Buffer.concat([Buffer.from('5\r\n'), half, bytes.subarray(5), Buffer.from('\r\n0\r\n\r\n')]);
};

describe('the signature of a recorded webhook', () => {
  it('is computed from the body as sent, not as shown', () => {
    assert.equal(verdict(stripeRequest(NOW, Buffer.from(BODY))), 'valid');
    assert.equal(
      verdict(stripeRequest(NOW, Buffer.from(JSON.stringify(JSON.parse(BODY), undefined, 1)))),
      'mismatch',
    );
  });

  it('is computed from the body without chunked coding', () => {
    assert.equal(verdict(stripeRequest(NOW, chunked(BODY), 'Transfer-Encoding: chunked')), 'valid');
  });

  it('cannot be checked without a secret, or without the complete body', () => {
    const request = stripeRequest(NOW, Buffer.from(BODY));
    assert.equal(verdict(request, request.length, []), 'no-secret');
    assert.equal(verdict(request, request.length + 1), 'body-cut');
    assert.equal(verdict(request.subarray(0, -1)), 'body-cut');
    const pieces = stripeRequest(NOW, chunked(BODY), 'Transfer-Encoding: chunked');
    assert.equal(verdict(pieces.subarray(0, -3)), 'body-cut');
  });

  it('is missing from a request that is not a webhook', () => {
    assert.equal(verdict(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')), undefined);
  });

  it("is checked against the request's arrival time", () => {
    assert.equal(verdict(stripeRequest(NOW - 301_000, Buffer.from(BODY))), 'too-old');
  });

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
    assert.equal(verdict(request, request.length, [twilio.secret]), 'valid');
    const path = Buffer.from(
      request
        .toString()
        .replace('/myapp.php', '/app.php')
        .replace('X-Forwarded-Proto', 'X-Forwarded-Prefix: /t/a\r\nX-Forwarded-Proto'),
    );
    assert.equal(verdict(path, path.length, [twilio.secret]), 'mismatch');
  });
});

const again = (request: Buffer) => signAgain(request, () => SECRET, NOW);
const without = (request: Buffer) => request.toString('latin1').replace(/Stripe-Signature: .*/, '');

describe('signing a webhook again', () => {
  it('makes an old one valid, and keeps every other byte', () => {
    const old = stripeRequest(NOW - 86_400_000, Buffer.from(BODY));
    const signed = again(old);
    assert.ok(signed);
    assert.equal(verdict(signed), 'valid');
    assert.equal(without(signed), without(old));
  });

  it('keeps chunks, and signs what they contain', () => {
    const old = stripeRequest(0, chunked(BODY), 'Transfer-Encoding: chunked');
    const signed = again(old);
    assert.ok(signed);
    assert.ok(signed.subarray(-10).equals(old.subarray(-10)));
    assert.equal(verdict(signed), 'valid');
  });

  it('writes a repeated signature field once', () => {
    const twice = stripeRequest(
      0,
      Buffer.from(BODY),
      `stripe-signature: t=1,v1=00\r\nContent-Length: ${Buffer.from(BODY).length}`,
    );
    const signed = again(twice);
    assert.ok(signed);
    assert.equal(signed.toString().match(/stripe-signature/gi)?.length, 1);
    assert.equal(verdict(signed), 'valid');
  });

  it('writes the hash of the body into the address if that is signed', () => {
    const request = Buffer.from(
      'POST /in?bodySHA256=00&x=1 HTTP/1.1\r\nX-Forwarded-Prefix: /t/a\r\nX-Forwarded-Host: r.example\r\nX-Twilio-Signature: x\r\nContent-Length: 2\r\n\r\n{}',
    );
    const signed = again(request);
    assert.ok(signed);
    assert.match(
      signed.toString(),
      /^POST \/in\?bodySHA256=44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a&x=1 HTTP/,
    );
    assert.equal(verdict(signed), 'valid');
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
