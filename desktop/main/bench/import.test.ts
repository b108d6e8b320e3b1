import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RequestLog } from '../../engine/inspector/request-log.ts';
import { addImported } from '../../engine/inspector/transfer/add-imported.ts';
import { DEFAULT_LOCALE } from '../../i18n/locale.ts';
import { setLocale } from '../../i18n/translate.ts';
import { toCallError } from '../failure.ts';
import { ImportRefused } from '../../engine/inspector/transfer/imported.ts';
import { IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../engine/limits.ts';
import { FORM, signedIn } from '../../testing/core-app.ts';
import { fakeSystem } from '../../testing/fake-platform.ts';
import { createEngineLog } from '../tunnels/engine-log.ts';
import { importFile, importInto } from './import.ts';

function bench(form: { folder?: string; hostHeader?: string } = {}) {
  const log = new RequestLog();
  const tunnel = {
    form: { ...FORM, ...form },
    tunnel: { public_url: 'https://shop.example/' },
    log: { add: (...added: DropFirst<Parameters<typeof addImported>>) => addImported(log, ...added) },
  };
  return { log, tunnel };
}

type DropFirst<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

function har(count: number, header = 'a'): string {
  const entries = Array.from({ length: count }, (_, index) => ({
    request: { method: 'GET', url: `https://x.example/${index}`, headers: [{ name: 'X', value: header }] },
  }));
  return JSON.stringify({ log: { entries } });
}

const refused = (reason: RegExp) => (error: unknown) =>
  error instanceof ImportRefused && reason.test(error.message);

const chosen = (path: string | undefined) => ({ chooseHarToRead: () => Promise.resolve(path) });

describe('requests that the window imports', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'culvert-import-'));
  });

  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('are in the log as the local service would get them', async () => {
    const { log, tunnel } = bench();
    const imported = await importInto(
      tunnel,
      "curl -d 'a=1' -H 'Cookie: a=[redacted]' https://elsewhere.example/hook",
    );
    assert.deepEqual(imported, { ids: [1], leftOut: [], hasRedacted: true });
    const detail = log.detail(1);
    assert.deepEqual([detail?.method, detail?.target, detail?.isImported], ['POST', '/hook', true]);
    assert.deepEqual(detail?.request.fields[0], ['Host', 'shop.example']);
    const local = bench({ hostHeader: 'local' });
    await importInto(local.tunnel, 'curl https://elsewhere.example/');
    assert.deepEqual(local.log.detail(1)?.request.fields[0], ['Host', 'localhost:3000']);
  });

  it('come from a file that the user names, or from none', async () => {
    const { log, tunnel } = bench();
    const path = join(directory, 'a.har');
    writeFileSync(path, har(2));
    assert.equal(await importFile(tunnel, chosen(undefined)), undefined);
    assert.deepEqual((await importFile(tunnel, chosen(path)))?.ids, [1, 2]);
    assert.deepEqual(
      log.list().map(({ target }) => target),
      ['/1', '/0'],
    );
  });

  it('are 100 at a time, and none if there are more', async () => {
    const { log, tunnel } = bench();
    await assert.rejects(
      importInto(tunnel, har(IMPORTED_REQUESTS_MAX + 1)),
      refused(/There are more than 100 requests/),
    );
    assert.deepEqual(log.list(), []);
    assert.equal((await importInto(tunnel, har(IMPORTED_REQUESTS_MAX))).ids.length, IMPORTED_REQUESTS_MAX);
  });

  it('are told of when they are left out', async () => {
    const { leftOut, ids } = await importInto(bench().tunnel, har(1, 'a\r\nb'));
    assert.deepEqual(leftOut, ['Request 1 is left out: The value of X takes no line break.']);
    assert.deepEqual(ids, []);
  });

  it('are told of in the language of the user', async () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const { leftOut } = await importInto(bench().tunnel, har(1, 'a\r\nb'));
    assert.deepEqual(leftOut, [
      'Anfrage 1 ist ausgelassen: Der Wert von X darf keinen Zeilenumbruch enthalten.',
    ]);
    const error = await importInto(bench().tunnel, 'curl -F a=b x.example').catch(toCallError);
    assert.deepEqual(error, {
      code: 'not-imported',
      text: '-F von curl geht hier nicht: Geben Sie den Body mit --data-raw an.',
    });
  });

  it('are refused with the reason', async () => {
    const { tunnel, log } = bench();
    await assert.rejects(importInto(tunnel, 'wget x'), ImportRefused);
    await assert.rejects(importInto(bench({ folder: '/x' }).tunnel, har(1)), refused(/leads to a folder/));
    await assert.rejects(importFile(tunnel, chosen(directory)), refused(/is not a file/));
    await assert.rejects(
      importFile(tunnel, chosen(join(directory, 'no.har'))),
      refused(/cannot read .*no\.har/),
    );
    const large = join(directory, 'large.har');
    writeFileSync(large, '');
    truncateSync(large, IMPORT_MAX_BYTES + 1);
    await assert.rejects(importFile(tunnel, chosen(large)), refused(/has 33 MiB, and 32 MiB are taken/));
    assert.deepEqual(log.list(), []);
  });

  it('say nothing of the local service', async () => {
    const system = fakeSystem();
    const app = await signedIn({ ...system, platform: { ...system.platform, createLog: createEngineLog } });
    const { key } = await app.call('tunnel:create', FORM);
    app.serve.last.onProblem({ code: 'local-refused', text: 'Nobody is there.' });
    const response = { status: 200, headers: [] };
    const request = { method: 'GET', url: 'https://x.example/', headers: [] };
    const text = JSON.stringify({ log: { entries: [{ request, response }] } });
    assert.deepEqual((await app.call('import:text', { key, text })).ids, [1]);
    const [tunnel] = app.core.snapshots.make().tunnels;
    assert.equal(tunnel?.recent[0]?.status, 200);
    assert.equal(tunnel.localProblem?.code, 'local-refused');
    assert.deepEqual(tunnel.pulse, []);
  });
});
