import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RequestLog } from '../../../client/inspector/request-log.ts';
import { failsWith } from '../../../testing/core-app.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { fakeEncryption } from '../../../testing/fake-platform.ts';
import { REQUEST_SETS_MAX, REQUEST_SETS_MAX_BYTES, SET_REQUESTS_MAX } from '../limits.ts';
import { JsonFile } from '../settings/app-store.ts';
import { KEY_FILE_VERSION, KeyVault, readKeptKey } from '../settings/key-vault.ts';
import { UndoList } from '../undo-list.ts';
import { Collections } from './collections.ts';

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
