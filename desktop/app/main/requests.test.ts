import assert from 'node:assert/strict';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import type { TunnelTarget } from '../../client/config/tunnel-spec.ts';
import { DurableFile } from '../../client/config/durable-file.ts';
import { EditRefused, ImportRefused, type RequestEdit } from '../../client/inspector/edit.ts';
import type { Har } from '../../client/inspector/har.ts';
import type { RequestDetail } from '../../client/inspector/records.ts';
import { ReplayRefused } from '../../client/inspector/replay.ts';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { localPort } from '../../client/local/local-service.ts';
import { toMessage } from '../../client/messages.ts';
import { failsWith, FORM, signedIn } from '../../testing/core-app.ts';
import { fakeServed } from '../../testing/served.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { DEFAULT_LOCALE, setLocale } from '../messages/translate.ts';
import { toCallError } from './failure.ts';
import type { FileToWrite } from './platform.ts';
import {
  editView,
  exportHar,
  importFile,
  importInto,
  readToImport,
  sendEdited,
  writeProblem,
  HAR_MAX_BYTES,
} from './requests.ts';
import { TunnelItem } from './tunnels/tunnel-item.ts';
import { IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../client/inspector/import-text.ts';

const EDITED = { method: 'PUT', target: '/x', fields: [['X', 'ü']] as const, body: 'ä', signs: false };

function recorded(request: string): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request, 'latin1'));
  return log.detail(1) ?? assert.fail('the request was not recorded');
}

function tunnelThat(answers: (edit: RequestEdit) => Promise<number>) {
  const replayer = {
    replay: () => assert.fail('it was repeated as it is'),
    replayEdited: (_id: number, edit: RequestEdit) => answers(edit),
  };
  return { key: 'k', name: undefined, log: { detail: () => undefined }, replayer };
}

const UNSIGNED = { replayEdited: () => assert.fail('it was signed') };

describe('a request edited in the window', () => {
  it('is shown as text, without secrets and without the fields that Culvert writes', () => {
    const view = editView(
      recorded(
        'POST /a?token=s3cret HTTP/1.1\r\nHost: x\r\nX-Name: \xc3\xbc\r\nCookie: a=s3cret\r\nContent-Length: 2\r\n\r\n\xc3\xa4',
      ),
      undefined,
    );
    assert.deepEqual(view, {
      method: 'POST',
      target: '/a?token=[redacted]',
      fields: [
        ['X-Name', 'ü'],
        ['Cookie', 'a=[redacted]'],
      ],
      body: 'ä',
      bodySize: 2,
      isLarge: false,
      isCut: false,
      signer: undefined,
    });
  });

  it('keeps a body that is too large to edit', () => {
    const log = new RequestLog(undefined, undefined, () => 1024 * 1024);
    log.open().toLocal(Buffer.from(`POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`));
    const detail = log.detail(1) ?? assert.fail();
    const { body, bodySize, isLarge, isCut } = editView(detail, undefined);
    assert.deepEqual([body, bodySize, isLarge, isCut], [undefined, 70_000, true, false]);
  });

  it('has no editable body if that is not text, or was truncated', () => {
    const binary = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\xff');
    assert.equal(editView(binary, undefined).body, undefined);
    const long = recorded(`POST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`);
    const cut = editView(long, undefined);
    assert.deepEqual([cut.body, cut.isCut], [undefined, true]);
  });

  it('is sent as UTF-8, or with its recorded body', async () => {
    const sent: RequestEdit[] = [];
    const tunnel = tunnelThat((edit) => Promise.resolve(sent.push(edit)));
    const result = await sendEdited(tunnel, 1, EDITED, UNSIGNED);
    assert.deepEqual(result, { sent: 1 });
    await sendEdited(tunnel, 1, { ...EDITED, body: null }, UNSIGNED);
    assert.deepEqual(
      sent.map(({ fields, body }) => [fields, body && [...body]]),
      [
        [[['X', '\xc3\xbc']], [0xc3, 0xa4]],
        [[['X', '\xc3\xbc']], undefined],
      ],
    );
  });

  it('can be signed if a secret of its service is set', async () => {
    const webhook = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx');
    const signature = { provider: 'stripe', verdict: 'too-old' } as const;
    const check = { signature, name: 'Stripe', secrets: [], isKept: true };
    assert.equal(editView(webhook, check).signer, undefined);
    assert.equal(editView(webhook, { ...check, secrets: [{ id: 's', addedAt: 0 }] }).signer, 'Stripe');
    const unsigned = tunnelThat(() => assert.fail('it was not signed'));
    const signing = { replayEdited: () => Promise.resolve(3) };
    const result = await sendEdited(unsigned, 1, { ...EDITED, signs: true }, signing);
    assert.deepEqual(result, { sent: 3 });
  });

  it('returns its problems, and fails for anything else', async () => {
    const refused = new EditRefused([{ part: 'method', said: toMessage('edit.connect') }]);
    const wrong = tunnelThat(() => Promise.reject(refused));
    setLocale({ language: 'de', tag: 'de-DE' });
    const text = 'Als Methode geht jede außer CONNECT, das für Proxys da ist.';
    assert.deepEqual(await sendEdited(wrong, 1, EDITED, UNSIGNED), { problems: [{ part: 'method', text }] });
    setLocale(DEFAULT_LOCALE);
    const gone = tunnelThat(() => Promise.reject(new ReplayRefused('local-refused', 'Nobody.')));
    await assert.rejects(sendEdited(gone, 1, EDITED, UNSIGNED), ReplayRefused);
  });
});

const TUNNEL = { slug: '../Shop-1', public_url: 'https://shop.example/' };

/** A log with these requests. */
function logOf(...requests: readonly string[]) {
  const log = new RequestLog();
  for (const request of requests) log.open().toLocal(Buffer.from(request));
  return { detail: (id: number, reveal: boolean) => log.detail(id, { reveal }) };
}

/** Where the user saves a file. */
function toFile(name: string) {
  const offered: string[] = [];
  const path = join(temporaryDirectory(), name);
  const chooseFileToWrite = (text: string): Promise<FileToWrite> => {
    offered.push(text);
    return Promise.resolve({ path, write: (content) => new DurableFile(path).write(content) });
  };
  const read = (): Har => JSON.parse(readFileSync(path, 'utf8')) as Har;
  return { offered, path, read, chooseFileToWrite };
}

describe('an exported HAR', () => {
  const SECRET = 'GET /b?token=s3cret HTTP/1.1\r\nHost: x\r\n\r\n';

  it('contains the chosen requests, oldest first, in a file that only its owner can read', async () => {
    const log = logOf('GET /a HTTP/1.1\r\nHost: x\r\n\r\n', SECRET, 'GET /c HTTP/1.1\r\nHost: x\r\n\r\n');
    const file = toFile('some.har');
    const written = await exportHar({ log, tunnel: TUNNEL }, [7, 2, 1], false, file);
    assert.deepEqual(written, { path: file.path, count: 2, missing: 1, hidesSecrets: true });
    assert.deepEqual(
      file.read().log.entries.map(({ request }) => request.url),
      ['https://shop.example/a', 'https://shop.example/b?token=[redacted]'],
    );
    assert.deepEqual(file.offered, ['hop-1.har']);
    if (process.platform !== 'win32') assert.equal(statSync(file.path).mode & 0o777, 0o600);
  });

  it('contains secrets once they are shown, and is not written without a file or a request', async () => {
    const exported = { log: logOf(SECRET), tunnel: TUNNEL };
    const file = toFile('one.har');
    const written = await exportHar(exported, [1], true, file);
    assert.equal(written?.hidesSecrets, false);
    assert.equal(file.read().log.entries[0]?.request.url, 'https://shop.example/b?token=s3cret');
    const never = { chooseFileToWrite: () => Promise.resolve(undefined) };
    assert.equal(await exportHar(exported, [1], false, never), undefined);
    const nowhere = toFile('');
    await assert.rejects(exportHar(exported, [1], false, nowhere), failsWith('not-written'));
    await assert.rejects(exportHar(exported, [9], false, nowhere), failsWith('no-such-request'));
    assert.equal(nowhere.offered.length, 1);
  });

  it('is limited to 32 MiB', async () => {
    const detail = logOf(SECRET).detail(1, true) ?? assert.fail('the request was not recorded');
    const body = new Uint8Array(1024 * 1024).fill(0x61);
    const log = { detail: (id: number) => ({ ...detail, id, request: { ...detail.request, body } }) };
    const file = toFile('large.har');
    const ids = Array.from({ length: HAR_MAX_BYTES / body.length }, (_, index) => index + 1);
    const exported = { log, tunnel: TUNNEL };
    await assert.rejects(exportHar(exported, ids, false, file), /at most 32 MiB, and only the first 31/);
    assert.equal((await exportHar(exported, ids.slice(1), false, file))?.count, 31);
  });
});

function bench(target: TunnelTarget = localPort(3000)) {
  const { served } = fakeServed({ settings: { ...SPEC, target } });
  return { log: served.log, tunnel: new TunnelItem(served) };
}

function har(count: number, header = 'a'): string {
  const entries = Array.from({ length: count }, (_, index) => ({
    request: { method: 'GET', url: `https://x.example/${index}`, headers: [{ name: 'X', value: header }] },
  }));
  return JSON.stringify({ log: { entries } });
}

const refused = (reason: RegExp) => (error: unknown) =>
  error instanceof ImportRefused && reason.test(error.message);

const chosen = (path: string | undefined) => ({
  chooseHarToRead: async () => (path === undefined ? undefined : readToImport(path)),
});

describe('imported requests', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('are added to the log as the local service would get them', async () => {
    const { log, tunnel } = bench();
    const imported = await importInto(
      tunnel,
      "curl -d 'a=1' -H 'Cookie: a=[redacted]' https://elsewhere.example/hook",
    );
    assert.deepEqual(imported, { ids: [1], leftOut: [], hasRedacted: true });
    const detail = log.detail(1);
    assert.deepEqual([detail?.method, detail?.target, detail?.isImported], ['POST', '/hook', true]);
    assert.deepEqual(detail?.request.fields[0], ['Host', 'my-app.demo.localhost:8080']);
    const local = bench({ ...localPort(3000), hostHeader: 'local' });
    await importInto(local.tunnel, 'curl https://elsewhere.example/');
    assert.deepEqual(local.log.detail(1)?.request.fields[0], ['Host', 'localhost:3000']);
  });

  it('come from a file that the user chooses, at most 100 at a time', async () => {
    const { log, tunnel } = bench();
    await assert.rejects(
      importInto(tunnel, har(IMPORTED_REQUESTS_MAX + 1)),
      refused(/The file has more than 100 requests/),
    );
    const path = join(temporaryDirectory(), 'a.har');
    writeFileSync(path, har(IMPORTED_REQUESTS_MAX));
    assert.equal(await importFile(tunnel, chosen(undefined)), undefined);
    assert.equal((await importFile(tunnel, chosen(path)))?.ids.length, IMPORTED_REQUESTS_MAX);
    const targets = log.list().map(({ target }) => target);
    assert.deepEqual([targets.length, targets.at(0), targets.at(-1)], [100, '/99', '/0']);
  });

  it("report in the user's language what was left out or refused", async () => {
    const { leftOut, ids } = await importInto(bench().tunnel, har(1, 'a\r\nb'));
    assert.deepEqual(leftOut, ['Request 1 was left out: The value of X cannot contain a line break.']);
    assert.deepEqual(ids, []);
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.deepEqual((await importInto(bench().tunnel, har(1, 'a\r\nb'))).leftOut, [
      'Anfrage 1 ist ausgelassen: Der Wert von X darf keinen Zeilenumbruch enthalten.',
    ]);
    const error = await importInto(bench().tunnel, 'curl -F a=b x.example').catch(toCallError);
    assert.deepEqual(error, {
      code: 'not-imported',
      text: 'Die curl-Option -F wird nicht unterstützt. Geben Sie den Body mit --data-raw an.',
    });
  });

  it('are refused with the reason', async () => {
    const { tunnel, log } = bench();
    const directory = temporaryDirectory();
    await assert.rejects(importInto(tunnel, 'wget x'), ImportRefused);
    await assert.rejects(importInto(bench({ folder: '/x' }).tunnel, har(1)), refused(/shares a folder/));
    await assert.rejects(importFile(tunnel, chosen(directory)), refused(/is not a file/));
    await assert.rejects(
      importFile(tunnel, chosen(join(directory, 'no.har'))),
      refused(/cannot read .*no\.har/),
    );
    const large = join(directory, 'large.har');
    writeFileSync(large, '');
    truncateSync(large, IMPORT_MAX_BYTES + 1);
    await assert.rejects(importFile(tunnel, chosen(large)), refused(/is 33 MiB, but the limit is 32 MiB/));
    assert.deepEqual(log.list(), []);
  });

  it('do not change the known state of the local service', async () => {
    const app = await signedIn();
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

describe('a file that cannot be written', () => {
  it('is reported in our own words, or in those of the system', () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    assert.equal(writeProblem(full), 'there is no space left');
    assert.equal(writeProblem(new Error('the moon is full')), 'the moon is full');
  });
});
