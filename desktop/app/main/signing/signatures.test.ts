import assert from 'node:assert/strict';
import type { RequestEdit } from '../../../client/inspector/edit.ts';
import { readMessage, RequestLog } from '../../../client/inspector/request-log.ts';
import { checkSignature } from '../../../client/signatures/check-signature.ts';
import { hmac } from '../../../client/signatures/schemes.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { CallFailure } from '../failure.ts';
import { SIGNING_SECRETS_MAX } from '../limits.ts';
import { Signatures } from './signatures.ts';
import { SigningSecrets } from './signing-secrets.ts';

const EMPTY = new Uint8Array();
const SECRET = 'whsec_c2VjcmV0';
const RESPONSE = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');

function webhook(signedAt: number, secret = SECRET, body = '{}'): Buffer {
  const time = String(Math.floor(signedAt / 1000));
  const signature = hmac('sha256', secret, `${time}.${body}`).toString('hex');
  return Buffer.from(
    `POST /in HTTP/1.1\r\nHost: a\r\nStripe-Signature: t=${time},v1=${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
}

async function bench() {
  const clock = new FakeClock();
  const vault = {
    load: () => Promise.resolve(undefined),
    keep: () => Promise.resolve('system' as const),
    forget: () => Promise.resolve(),
  };
  const secrets = await SigningSecrets.open({ vault, now: () => clock.now(), wish: () => 'system' }, []);
  const log = new RequestLog(clock);
  const sent: Buffer[] = [];
  let looks = 0;
  const tunnel = {
    key: 'k',
    form: { name: '' },
    log: {
      detail(id: number, reveal: boolean) {
        looks += 1;
        return log.detail(id, { reveal });
      },
      replay: (_id: number, prepare = (bytes: Buffer) => bytes) => {
        sent.push(prepare(webhook(0)));
        return Promise.resolve(2);
      },
      replayEdited: (_id: number, { body = EMPTY }: RequestEdit, prepare = (bytes: Buffer) => bytes) => {
        sent.push(prepare(webhook(0, 'other', Buffer.from(body).toString())));
        return Promise.resolve(3);
      },
      send: () => assert.fail('it is of this log'),
    },
  };
  const record = (request: Buffer, response = RESPONSE): void => {
    const recording = log.open();
    recording.toLocal(request);
    recording.toVisitor(response);
  };
  const signatures = new Signatures(secrets, () => clock.now());
  const verdicts = () => signatures.checked(tunnel, log.list()).map(({ signature }) => signature?.verdict);
  return { clock, secrets, tunnel, sent, record, signatures, verdicts, looks: () => looks };
}

describe('signatures in the log', () => {
  it('are checked as soon as there is a secret, and again with each change of them', async () => {
    const { clock, secrets, tunnel, record, signatures, verdicts } = await bench();
    record(webhook(clock.now()));
    record(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
    assert.deepEqual(verdicts(), [undefined, 'no-secret']);
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: 'whsec_other' });
    assert.deepEqual(verdicts(), [undefined, 'mismatch']);
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    assert.deepEqual(verdicts(), [undefined, 'valid']);
    for (const { id } of secrets.views(tunnel, 'stripe')) await secrets.remove(tunnel, id);
    assert.deepEqual(verdicts(), [undefined, 'no-secret']);
  });

  it('are looked at once for each request that has come to its end', async () => {
    const { clock, record, verdicts, looks } = await bench();
    record(webhook(clock.now()));
    record(webhook(clock.now()), Buffer.from('HTTP/1.1 200 OK\r\n'));
    verdicts();
    assert.equal(looks(), 2);
    verdicts();
    assert.equal(looks(), 3);
  });

  it('say when they came too late', async () => {
    const { clock, tunnel, record, signatures, verdicts } = await bench();
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    clock.advance(301_000);
    record(webhook(0));
    assert.deepEqual(verdicts(), ['too-old']);
  });

  it('are made anew with the newest secret, for now', async () => {
    const { clock, tunnel, sent, signatures } = await bench();
    await assert.rejects(
      async () => signatures.replay(tunnel, 1),
      (error) => error instanceof CallFailure && error.error.code === 'no-secret',
    );
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: 'whsec_before' });
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    assert.equal(await signatures.replay(tunnel, 1), 2);
    const [bytes] = sent;
    assert.ok(bytes);
    const message = readMessage(bytes, bytes.length, { reveal: true });
    assert.ok(message);
    assert.equal(checkSignature(message, clock.now(), () => [SECRET])?.verdict, 'valid');
  });

  it('are made for what was edited', async () => {
    const { clock, tunnel, sent, signatures } = await bench();
    const edit = { method: 'POST', target: '/in', fields: [], body: new TextEncoder().encode('{"new":1}') };
    await assert.rejects(
      async () => signatures.replayEdited(tunnel, 1, edit),
      (error) => error instanceof CallFailure && error.error.code === 'no-secret',
    );
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    assert.equal(await signatures.replayEdited(tunnel, 1, edit), 3);
    const [bytes] = sent;
    assert.ok(bytes);
    const message = readMessage(bytes, bytes.length, { reveal: true });
    assert.ok(message);
    assert.equal(Buffer.from(message.body).toString(), '{"new":1}');
    assert.equal(checkSignature(message, clock.now(), () => [SECRET])?.verdict, 'valid');
  });

  it('are not looked for in what is no longer there', async () => {
    const { tunnel, signatures } = await bench();
    assert.equal(signatures.look(tunnel, 7), undefined);
  });
});

describe('secrets of a tunnel', () => {
  it('are at most 4 of a service; one that is there already counts once, and is the newest', async () => {
    const { secrets, tunnel } = await bench();
    const all = Array.from({ length: SIGNING_SECRETS_MAX }, (_none, index) => `s${index}`);
    for (const secret of all) await secrets.add(tunnel, 'github', secret);
    await secrets.add(tunnel, 'github', 's0');
    assert.deepEqual(secrets.of(tunnel, 'github'), ['s0', ...all.slice(1).toReversed()]);
    await assert.rejects(
      secrets.add(tunnel, 'github', 'one more'),
      (error) => error instanceof CallFailure && error.error.text.includes(String(SIGNING_SECRETS_MAX)),
    );
    await secrets.add(tunnel, 'slack', 'another');
  });

  it('belong to the name, and without one to the tunnel; nobody removes those of another', async () => {
    const { secrets } = await bench();
    const named = { key: 'k1', form: { name: 'shop' } };
    const sameName = { key: 'k2', form: { name: 'shop' } };
    const unnamed = { key: 'shop', form: { name: '' } };
    await secrets.add(named, 'github', 'a');
    assert.deepEqual(secrets.of(sameName, 'github'), ['a']);
    assert.deepEqual(secrets.of(unnamed, 'github'), []);
    const [view] = secrets.views(named, 'github');
    assert.ok(view);
    await secrets.remove(unnamed, view.id);
    assert.deepEqual(secrets.of(named, 'github'), ['a']);
  });
});
