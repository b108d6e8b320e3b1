import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOG_START } from '../../client/inspector/records.ts';
import { readMessage, RequestLog } from '../../client/inspector/request-log.ts';
import { checkSignature, hmac } from '../../client/inspector/signatures.ts';
import { CallRefused } from '../../client/methods/method.ts';
import { again, type App, failsWith, FORM, SIGN_IN, signedIn, start } from '../../testing/core-app.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { ACCOUNT, fakeEncryption, fakeSystem } from '../../testing/fake-platform.ts';
import { CallFailure } from './failure.ts';
import { Signatures, SigningSecrets, SIGNING_SECRETS_MAX } from './signing.ts';

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
  let looks = 0;
  const tunnel = {
    key: 'k',
    name: undefined,
    log: {
      detail(...given: Parameters<RequestLog['detail']>) {
        looks += 1;
        return log.detail(...given);
      },
    },
  };
  const record = (request: Buffer, response = RESPONSE): void => {
    const recording = log.open();
    recording.toLocal(request);
    recording.toVisitor(response);
  };
  const signatures = new Signatures(secrets, () => clock.now());
  const verdicts = () => signatures.checked(tunnel, log.list()).map(({ signature }) => signature?.verdict);
  return { clock, secrets, tunnel, record, signatures, verdicts, looks: () => looks };
}

describe('signatures in the log', () => {
  it('are checked as soon as there is a secret, and again when secrets change', async () => {
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

  it('are checked once for each request that has ended', async () => {
    const { clock, record, verdicts, looks } = await bench();
    record(webhook(clock.now()));
    record(webhook(clock.now()), Buffer.from('HTTP/1.1 200 OK\r\n'));
    verdicts();
    assert.equal(looks(), 2);
    verdicts();
    assert.equal(looks(), 3);
  });

  it('report when a request was too late', async () => {
    const { clock, tunnel, record, signatures, verdicts } = await bench();
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    clock.advance(301_000);
    record(webhook(0));
    assert.deepEqual(verdicts(), ['too-old']);
  });

  it('are created with the newest secret and the current time, for the recorded or the edited request', async () => {
    const { clock, tunnel, signatures } = await bench();
    const signers = [false, true].map((isEdited) => signatures.signer(tunnel, isEdited));
    const refusals = signers.map((sign) => {
      try {
        return sign(webhook(0));
      } catch (error) {
        return error instanceof CallRefused && [error.code, /^\w+/.exec(error.message)?.[0]];
      }
    });
    assert.deepEqual(refusals, [
      ['no-secret', 'There'],
      ['no-secret', 'Culvert'],
    ]);
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: 'whsec_before' });
    await signatures.addSecret(tunnel, { provider: 'stripe', secret: SECRET });
    for (const sign of signers) {
      const bytes = sign(webhook(0, 'other', '{"new":1}'));
      const message = readMessage(bytes, bytes.length, { reveal: true });
      assert.ok(message);
      assert.equal(checkSignature(message, clock.now(), () => [SECRET])?.verdict, 'valid');
      assert.equal(Buffer.from(message.body).toString(), '{"new":1}');
    }
  });

  it('are not checked for requests that no longer exist', async () => {
    const { tunnel, signatures } = await bench();
    assert.equal(signatures.look(tunnel, 7), undefined);
  });
});

describe('secrets of a tunnel', () => {
  it('are at most 4 per service; one added twice counts once and becomes the newest', async () => {
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

  it('belong to the name, or to an unnamed tunnel, and only its removal deletes them', async () => {
    const { secrets } = await bench();
    const named = { key: 'k1', name: 'shop' };
    const sameName = { key: 'k2', name: 'shop' };
    const unnamed = { key: 'shop', name: undefined };
    await secrets.add(named, 'github', 'a');
    assert.deepEqual(secrets.of(sameName, 'github'), ['a']);
    assert.deepEqual(secrets.of(unnamed, 'github'), []);
    const [view] = secrets.views(named, 'github');
    assert.ok(view);
    await secrets.remove(unnamed, view.id);
    assert.deepEqual(secrets.of(named, 'github'), ['a']);
  });
});

/* Secrets of webhooks: from the window to the disk and back, and to no other place. */

const GITHUB_SECRET = 'a secret that GitHub was given';
const WEBHOOK = Buffer.from('POST / HTTP/1.1\r\nX-GitHub-Event: ping\r\nContent-Length: 0\r\n\r\n');

async function withSecret(app: App, name = ''): Promise<string> {
  const { key } = await app.call('tunnel:create', { ...FORM, name });
  await app.call('signature:add-secret', { key, provider: 'github', secret: GITHUB_SECRET });
  return key;
}
/** Looks at a webhook of GitHub without a signature. */
const look = (app: App, key: string) => {
  const { log } = app.core.chosen.tunnelList.find(key).served;
  if (log.list().length === 0) log.open().toLocal(WEBHOOK);
  return app.call('signature:look', { key, id: 1 });
};
const file = (app: App): string => join(app.platform.dataDirectory, 'signing-secrets.json');

describe('secrets of webhooks', () => {
  it('are encrypted on the disk, and not shown again, and survive a restart until they are removed', async () => {
    const app = await signedIn();
    const key = await withSecret(app);
    const check = await look(app, key);
    assert.deepEqual(check?.signature, { provider: 'github', verdict: 'unsigned' });
    assert.deepEqual([check.secrets.length, check.isKept], [1, true]);
    const changes = await app.call('log:changes', { key, since: LOG_START });
    const files = readdirSync(app.platform.dataDirectory).map((name) =>
      readFileSync(join(app.platform.dataDirectory, name), 'utf8'),
    );
    assert.ok(!JSON.stringify([check, app.core.snapshots.make(), changes, files]).includes(GITHUB_SECRET));

    const restarted = await start(again(app));
    const [secret] = (await look(restarted, key))?.secrets ?? [];
    await restarted.call('signature:remove-secret', { key, id: secret?.id ?? '' });
    assert.equal((await look(restarted, key))?.signature.verdict, 'no-secret');
    assert.equal(existsSync(file(app)), false);
  });

  it('of an unnamed tunnel are forgotten at the next start after its removal, unlike those of a name', async () => {
    const app = await signedIn();
    for (const name of ['', 'shop']) {
      const key = await withSecret(app, name);
      await app.call('tunnel:stop', { key });
      await app.call('tunnel:forget', { key });
    }
    await app.core.undos.commitAll();
    const restarted = await start(again(app));
    const { key } = await restarted.call('tunnel:create', { ...FORM, name: 'shop' });
    assert.equal((await look(restarted, key))?.secrets.length, 1);
    await restarted.call('signature:remove-secret', {
      key,
      id: (await look(restarted, key))?.secrets[0]?.id ?? '',
    });
    assert.equal(existsSync(file(app)), false);
  });

  it('stay in memory if the system has no key store, or the user wants nothing stored', async () => {
    const system = fakeSystem();
    const refused = { ...system, platform: { ...system.platform, encryption: fakeEncryption(false) } };
    for (const [on, keep] of [
      [refused, 'session'],
      [fakeSystem(), 'session'],
      [refused, 'file'],
    ] as const) {
      const app = await start(on);
      await app.call('session:sign-in', { ...SIGN_IN, keep });
      const key = await withSecret(app);
      assert.deepEqual([(await look(app, key))?.isKept, existsSync(file(app))], [false, false]);
    }
  });

  it('are forgotten at the sign-out, and restored when that is undone', async () => {
    const app = await signedIn();
    const key = await withSecret(app, 'shop');
    await app.call('session:sign-out', {});
    assert.equal(existsSync(file(app)), false);
    await app.call('undo:take', { id: app.core.undos.views[0]?.id ?? '' });
    assert.equal((await look(app, key))?.secrets.length, 1);
    assert.equal(existsSync(file(app)), true);
  });

  it('are not those of another account that signs in after the key was refused', async () => {
    const app = await signedIn();
    await withSecret(app, 'shop');
    await app.core.chosen.signIn.keyRefused();
    app.api.getAccount = () => Promise.resolve({ ...ACCOUNT, client_id: 'other' });
    await app.call('session:sign-in', SIGN_IN);
    const { key } = await app.call('tunnel:create', { ...FORM, name: 'shop' });
    const { secrets } = app.core.chosen;
    assert.deepEqual(secrets.views({ key, name: 'shop' }, 'github'), []);
  });

  it('are rejected with the reason if they cannot be valid', async () => {
    const app = await signedIn();
    const key = await withSecret(app);
    await assert.rejects(
      app.call('signature:add-secret', { key, provider: 'standard', secret: 'no base64' }),
      failsWith('bad-secret'),
    );
  });
});
