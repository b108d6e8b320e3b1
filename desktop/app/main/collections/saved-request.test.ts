import assert from 'node:assert/strict';
import { composeRequest, type ImportedRequest } from '../../../client/inspector/edit.ts';
import { addImported } from '../../../client/inspector/import-text.ts';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import { again, type App, failsWith, FORM, signedIn, start } from '../../../testing/core-app.ts';
import { emptyLog, fakeSystem, type FakeSystem } from '../../../testing/fake-platform.ts';

const DAY_MS = 86_400_000;
const WEBHOOK =
  'POST /hook?token=t0ps3cret HTTP/1.1\r\nHost: a\r\nStripe-Signature: t=1,v1=00\r\nContent-Length: 2\r\n\r\n{}';

/** Each tunnel has had one webhook; what is sent again is answered with 204. */
function withWebhook(system: FakeSystem, sent: string[]): FakeSystem {
  const createLog = () => {
    const log = new RequestLog(system.clock);
    log.open().toLocal(Buffer.from(WEBHOOK));
    return {
      ...emptyLog(),
      list: () => log.list(),
      detail: (id: number, reveal: boolean) => log.detail(id, { reveal }),
      add: (...added: [Parameters<typeof addImported>[1], string]) => addImported(log, ...added),
      send(written: ImportedRequest, host: string, prepare = (request: Buffer) => request) {
        const recording = log.openImported();
        const request = prepare(composeRequest(written, host));
        sent.push(request.toString());
        recording.toLocal(request);
        recording.toVisitor(Buffer.from('HTTP/1.1 204 No Content\r\n\r\n'));
        return Promise.resolve(recording.exchange?.id ?? 0);
      },
    };
  };
  return { ...system, platform: { ...system.platform, createLog } };
}

async function kept(app: App) {
  const { key } = await app.call('tunnel:create', { ...FORM, name: 'shop' });
  const { set } = await app.call('set:create', { key, id: 1, name: 'Stripe' });
  return { key, set };
}
const first = async (app: App): Promise<string> =>
  (await app.call('set:list', undefined)).sets[0]?.requests[0]?.id ?? '';

describe('a saved request', () => {
  it("is sent after a restart with its secrets and the tunnel's Host, and shown without secrets", async () => {
    const sent: string[] = [];
    const app = await signedIn(withWebhook(fakeSystem(), []));
    const { key, set } = await kept(app);
    const restarted = await start(withWebhook(again(app), sent));
    const list = await restarted.call('set:list', undefined);
    assert.equal(list.isKept, true);
    assert.equal(list.sets[0]?.requests[0]?.target, '/hook?token=[redacted]');
    const answer = await restarted.call('set:send', { key, set, request: await first(restarted) });
    assert.equal(answer.sent.status, 204);
    assert.match(
      sent[0] ?? '',
      /^POST \/hook\?token=t0ps3cret HTTP\/1\.1\r\nHost: shop\.tunnels\.test:8080\r\n/,
    );
    assert.match(
      sent[0] ?? '',
      /Stripe-Signature: t=1,v1=00\r\n/,
      'as it was, without a secret to sign with',
    );
  });

  it('is signed with the current time if the secret of its service is set', async () => {
    const sent: string[] = [];
    const app = await signedIn(withWebhook(fakeSystem(), sent));
    const { key, set } = await kept(app);
    await app.call('signature:add-secret', { key, provider: 'stripe', secret: `whsec_${'s'.repeat(32)}` });
    app.clock.advance(DAY_MS);
    await app.call('set:send', { key, set, request: await first(app) });
    const at = /Stripe-Signature: t=(\d+),v1=[0-9a-f]{64}\r\n/.exec(sent[0] ?? '')?.[1];
    assert.equal(at, String(Math.floor(app.clock.now() / 1000)));
  });

  it('opens in the log for editing, unsent', async () => {
    const sent: string[] = [];
    const app = await signedIn(withWebhook(fakeSystem(), sent));
    const { key, set } = await kept(app);
    const { id } = await app.call('set:open', { key, set, request: await first(app) });
    const view = await app.call('bench:open', { key, id });
    assert.deepEqual([view.method, view.target, view.body], ['POST', '/hook?token=[redacted]', '{}']);
    assert.deepEqual(sent, []);
  });

  it('is deleted with its collection', async () => {
    const app = await signedIn(withWebhook(fakeSystem(), []));
    const { key, set } = await kept(app);
    const request = await first(app);
    await app.call('set:remove', { set });
    await assert.rejects(app.call('set:send', { key, set, request }), failsWith('set-gone'));
    await assert.rejects(app.call('set:create', { key, id: 99, name: 'x' }), failsWith('no-such-request'));
  });
});
