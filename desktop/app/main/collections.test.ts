import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { composeRequest, type ImportedRequest } from '../../client/inspector/edit.ts';
import { addImported } from '../../client/inspector/import-text.ts';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { again, type App, failsWith, FORM, signedIn, start } from '../../testing/core-app.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { emptyLog, fakeEncryption, fakeSystem, type FakeSystem } from '../../testing/fake-platform.ts';
import { Collections } from './collections.ts';
import { REQUEST_SETS_MAX, REQUEST_SETS_MAX_BYTES, SET_REQUESTS_MAX } from './limits.ts';
import { JsonFile } from './settings/app-store.ts';
import { KEY_FILE_VERSION, KeyVault, readKeptKey } from './settings/key-vault.ts';
import { UndoList } from './undo-list.ts';

/** What a log has recorded of one request. */
function recorded(text: string) {
  const log = new RequestLog(new FakeClock());
  const recording = log.open();
  recording.toLocal(Buffer.from(text));
  const detail = log.detail(1, { reveal: true });
  assert.ok(detail);
  return detail;
}

const posted = (body = '{"n":1}') =>
  recorded(
    `POST /hook?token=t0ps3cret HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer t0ps3cret\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );

const names = (sets: Collections): string[] => sets.sets.map(({ name }) => name);

describe('collections of requests', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'culvert-sets-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const path = (): string => join(folder, 'request-sets.json');
  const file = () =>
    new JsonFile({ path: path(), version: KEY_FILE_VERSION, read: readKeptKey, initial: undefined });
  async function open(encryption = fakeEncryption(true)) {
    const undos = new UndoList(new FakeClock(), assert.ifError);
    const vault = new KeyVault(encryption, file());
    const opened = await Collections.open({ vault, wish: () => 'system', undos });
    return { sets: opened.value, asideAt: opened.asideAt, undos };
  }

  it('survive a restart in order, with their secrets, which the file does not show', async () => {
    const { sets } = await open();
    const id = await sets.create(' Stripe ', posted('{"n":1}'));
    await sets.add(id, posted('{"n":2}'));
    const stored = readFileSync(path(), 'utf8');
    assert.ok(!stored.includes('t0ps3cret') && !stored.includes('Stripe'), stored);
    const restarted = (await open()).sets;
    assert.equal(restarted.isKept, true);
    assert.deepEqual(names(restarted), ['Stripe']);
    assert.deepEqual(
      restarted.sets[0]?.requests.map(({ method, target, fields, body }) => [
        method,
        target,
        fields,
        Buffer.from(body, 'base64').toString(),
      ]),
      ['{"n":1}', '{"n":2}'].map((body) => [
        'POST',
        '/hook?token=t0ps3cret',
        [['Authorization', 'Bearer t0ps3cret']],
        body,
      ]),
    );
  });

  it('stay in memory if the system has no key store', async () => {
    const { sets } = await open(fakeEncryption(false));
    await sets.create('Stripe', posted());
    assert.deepEqual([sets.isKept, names(sets), readdirSync(folder)], [false, ['Stripe'], []]);
  });

  it('are set aside, not overwritten, when they cannot be read', async () => {
    const { sets } = await open();
    await sets.create('Stripe', posted());
    const whole = readFileSync(path(), 'utf8');
    const locked = { ...fakeEncryption(true), decrypt: () => Promise.reject(new Error('another key')) };
    const garbled = { ...fakeEncryption(true), decrypt: () => Promise.resolve('[{"id":1}]') };
    for (const encryption of [locked, garbled]) {
      writeFileSync(path(), whole);
      const opened = await open(encryption);
      assert.deepEqual(opened.sets.sets, []);
      await opened.sets.create('another', posted());
      assert.equal(readFileSync(opened.asideAt ?? '', 'utf8'), whole);
      rmSync(opened.asideAt ?? '');
    }
    writeFileSync(path(), whole.slice(0, 40));
    assert.equal(readFileSync((await open()).asideAt ?? '', 'utf8'), whole.slice(0, 40));
  });

  it('stay unchanged when a change cannot be written', async () => {
    let isFull = false;
    const encryption = fakeEncryption(true);
    const { sets } = await open({
      ...encryption,
      encrypt: (text) => (isFull ? Promise.reject(new Error('no room')) : encryption.encrypt(text)),
    });
    const id = await sets.create('Stripe', posted());
    const [before, stored] = [sets.sets, readFileSync(path(), 'utf8')];
    isFull = true;
    await assert.rejects(sets.add(id, posted()), failsWith('not-written'));
    isFull = false;
    assert.deepEqual([sets.sets, readFileSync(path(), 'utf8')], [before, stored]);
    await sets.add(id, posted());
    assert.equal(sets.sets[0]?.requests.length, 2);
  });

  it('are renamed and removed with their requests, and undo restores their position', async () => {
    const { sets, undos } = await open();
    const undo = () => undos.undo(undos.views.at(-1)?.id ?? '');
    const id = await sets.create('Stripe', posted('1'));
    await sets.create('GitHub', posted());
    await sets.add(id, posted('2'));
    const first = sets.sets[0]?.requests[0]?.id ?? '';
    await sets.removeRequest(id, first);
    assert.match(undos.views.at(-1)?.text ?? '', /^Removed POST \/hook from Stripe\.$/);
    assert.throws(() => sets.find(id, first), failsWith('kept-gone'));
    await undo();
    assert.equal(sets.sets[0]?.requests[0]?.id, first);
    await sets.rename(id, 'Shop');
    await sets.remove(id);
    assert.deepEqual(names((await open()).sets), ['GitHub']);
    await undo();
    assert.deepEqual(names((await open()).sets), ['Shop', 'GitHub']);
  });

  it('lose the saved request when that is undone, and are deleted if they have no other', async () => {
    const { sets, undos } = await open();
    const undo = (place: number) => undos.undo(undos.views.at(place)?.id ?? '');
    const id = await sets.create('Stripe', posted('1'));
    assert.equal(undos.views[0]?.text, 'Saved POST /hook in Stripe.');
    await sets.add(id, posted('2'));
    await undo(0);
    assert.deepEqual(
      sets.sets[0]?.requests.map(({ body }) => body),
      ['Mg=='],
    );
    await undo(0);
    assert.deepEqual([sets.sets, readdirSync(folder)], [[], []]);
  });

  it('report that they are missing after a restart, and count their changes', async () => {
    const { sets, undos } = await open(fakeEncryption(false));
    const before = sets.revision;
    let changes = 0;
    sets.changed.listen(() => (changes += 1));
    await sets.create('Stripe', posted());
    assert.match(undos.views[0]?.text ?? '', /in Stripe until you quit/);
    assert.deepEqual([sets.revision - before, changes], [1, 1]);
  });

  it('leave no file once the last is removed', async () => {
    const { sets } = await open();
    await sets.remove(await sets.create('Stripe', posted()));
    assert.deepEqual(readdirSync(folder), []);
  });

  it('are at most 50, with unique names', async () => {
    const { sets } = await open(fakeEncryption(false));
    for (let count = 0; count < REQUEST_SETS_MAX; count += 1) await sets.create(`set ${count}`, posted());
    await assert.rejects(sets.create('one more', posted()), failsWith('too-many-sets'));
    const id = sets.sets[0]?.id ?? '';
    await assert.rejects(sets.rename(id, 'set 1'), failsWith('bad-name'));
    await sets.rename(id, 'set 0');
  });

  it('hold at most 200 requests each', async () => {
    const { sets } = await open(fakeEncryption(false));
    const detail = posted();
    const id = await sets.create('Stripe', detail);
    for (let count = 1; count < SET_REQUESTS_MAX; count += 1) await sets.add(id, detail);
    await assert.rejects(sets.add(id, detail), failsWith('set-full'));
    assert.equal(sets.sets[0]?.requests.length, SET_REQUESTS_MAX);
  });

  it('need a name', async () => {
    const { sets } = await open();
    for (const name of ['', '  ']) await assert.rejects(sets.create(name, posted()), failsWith('bad-name'));
  });

  it('accept up to 16 MiB in total', async () => {
    const { sets } = await open(fakeEncryption(false));
    const detail = posted();
    const large = { ...detail.request, fields: [['X', 'x'.repeat(REQUEST_SETS_MAX_BYTES - 1024)]] as const };
    const id = await sets.create('large', { ...detail, request: large });
    const more = { ...detail.request, fields: [['X', 'x'.repeat(1024)]] as const };
    await assert.rejects(sets.add(id, { ...detail, request: more }), failsWith('sets-too-large'));
    await sets.add(id, detail);
  });

  it('reject a request that was not recorded in full, and one that opened a WebSocket', async () => {
    const { sets } = await open();
    const detail = posted();
    const cut = { ...detail, request: { ...detail.request, isTruncated: true } };
    const chunked = recorded('POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n');
    const half = recorded('POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf');
    for (const refused of [cut, chunked, half, { ...detail, status: 101 }])
      await assert.rejects(sets.create('Stripe', refused), failsWith('not-kept'));
    await sets.create('Stripe', { ...detail, isBroken: true });
  });
});

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
