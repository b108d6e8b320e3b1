import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnPosix } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { EditRefused, ImportRefused } from '../../client/inspector/edit.ts';
import type { Har } from '../../client/inspector/har.ts';
import { IMPORT_MAX_BYTES, IMPORTED_REQUESTS_MAX } from '../../client/inspector/import-text.ts';
import { findTunnels, Inspector } from '../../client/inspector/inspector.ts';
import { startInspector } from '../../client/inspector/inspector-server.ts';
import type { RequestDetail } from '../../client/inspector/records.ts';
import { RequestLog } from '../../client/inspector/request-log.ts';
import { runtimeFolder } from '../../client/inspector/runtime-folder.ts';
import { toMessage } from '../../client/messages.ts';
import { CallRefused } from '../../client/methods/method.ts';
import { failsWith, FORM, signedIn } from '../../testing/core-app.ts';
import { fakeSystem } from '../../testing/fake-platform.ts';
import { closeServers, startHttp } from '../../testing/servers.ts';
import { DEFAULT_LOCALE, setLocale } from '../messages/translate.ts';
import { toCallError } from './failure.ts';
import { editView, writeProblem } from './requests.ts';

function recorded(request: string): RequestDetail {
  const log = new RequestLog();
  log.open().toLocal(Buffer.from(request, 'latin1'));
  return log.detail(1) ?? assert.fail('the request was not recorded');
}

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
    log
      .open()
      .toLocal(Buffer.from(`POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`));
    const detail = log.detail(1) ?? assert.fail();
    const { body, bodySize, isLarge, isCut } = editView(detail, undefined);
    assert.deepEqual([body, bodySize, isLarge, isCut], [undefined, 300_000, true, false]);
  });

  it('has no editable body if that is not text, or was truncated', () => {
    const binary = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n\xff');
    assert.equal(editView(binary, undefined).body, undefined);
    const long = recorded(`POST / HTTP/1.1\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`);
    const cut = editView(long, undefined);
    assert.deepEqual([cut.body, cut.isCut], [undefined, true]);
  });

  it('can be signed if a secret of its service is set', () => {
    const webhook = recorded('POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx');
    const signature = { provider: 'stripe', verdict: 'too-old' } as const;
    const check = { signature, name: 'Stripe', secrets: [], isKept: true };
    assert.equal(editView(webhook, check).signer, undefined);
    assert.equal(editView(webhook, { ...check, secrets: [{ id: 's', addedAt: 0 }] }).signer, 'Stripe');
  });

  it("is refused with the problem of each part, in the user's language", () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const { code, problems } =
      toCallError(new EditRefused([{ part: 'method', said: toMessage('edit.connect') }])) ?? {};
    setLocale(DEFAULT_LOCALE);
    const text = 'Als Methode geht jede außer CONNECT, das für Proxys da ist.';
    assert.deepEqual([code, problems], ['edit-refused', [{ part: 'method', text }]]);
  });
});

/** An app with a tunnel whose requests were these. */
async function appWith(...requests: readonly string[]) {
  const app = await signedIn();
  const { key } = await app.call('tunnel:create', FORM);
  const { log } = app.core.chosen.tunnelList.find(key);
  for (const request of requests) log.open().toLocal(Buffer.from(request));
  return { app, key, log };
}

const read = (path: string): Har => JSON.parse(readFileSync(path, 'utf8')) as Har;

describe('an exported HAR', () => {
  const SECRET = 'GET /b?token=s3cret HTTP/1.1\r\nHost: x\r\n\r\n';

  it('contains the chosen requests, oldest first, in a file that only its owner can read', async () => {
    const { app, key } = await appWith(
      'GET /a HTTP/1.1\r\nHost: x\r\n\r\n',
      SECRET,
      'GET /c HTTP/1.1\r\nHost: x\r\n\r\n',
    );
    const path = join(temporaryDirectory(), 'some.har');
    app.answers.fileToWrite = path;
    const written = await app.call('log:export', { key, ids: [7, 2, 1], reveal: false });
    assert.deepEqual(written, { path, count: 2, missing: 1, hidesSecrets: true });
    assert.deepEqual(
      read(path).log.entries.map(({ request }) => request.url),
      ['http://slug-1.tunnels.test:8080/a', 'http://slug-1.tunnels.test:8080/b?token=[redacted]'],
    );
    assert.deepEqual(app.seen.filesOffered, ['slug-1.har']);
    if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('contains secrets once they are shown, and is not written without a file or a request', async () => {
    const { app, key } = await appWith(SECRET);
    assert.equal(await app.call('log:export', { key, ids: [1], reveal: false }), undefined);
    const path = join(temporaryDirectory(), 'one.har');
    app.answers.fileToWrite = path;
    assert.equal((await app.call('log:export', { key, ids: [1], reveal: true }))?.hidesSecrets, false);
    assert.equal(read(path).log.entries[0]?.request.url, 'http://slug-1.tunnels.test:8080/b?token=s3cret');
    app.answers.fileToWrite = temporaryDirectory();
    await assert.rejects(app.call('log:export', { key, ids: [1], reveal: false }), failsWith('not-written'));
    await assert.rejects(app.call('log:export', { key, ids: [9], reveal: false }), CallRefused);
    assert.equal(app.seen.filesOffered.length, 3);
  });

  it('is offered under a name that the relay cannot turn into a path', async () => {
    const { app, key } = await appWith(SECRET);
    app.api.tunnels = app.api.tunnels.map((tunnel) => ({ ...tunnel, slug: '../Shop-1' }));
    await app.core.chosen.tunnelList.refresh();
    await app.call('log:export', { key, ids: [1], reveal: false });
    assert.deepEqual(app.seen.filesOffered, ['hop-1.har']);
  });
});

function har(count: number, header = 'a'): string {
  const entries = Array.from({ length: count }, (_, index) => ({
    request: { method: 'GET', url: `https://x.example/${index}`, headers: [{ name: 'X', value: header }] },
  }));
  return JSON.stringify({ log: { entries } });
}

const refused = (reason: RegExp) => (error: unknown) =>
  error instanceof ImportRefused && reason.test(error.message);

describe('imported requests', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('are added to the log as the local service would get them', async () => {
    const { app, key, log } = await appWith();
    const text = "curl -d 'a=1' -H 'Cookie: a=[redacted]' https://elsewhere.example/hook";
    assert.deepEqual(await app.call('import:text', { key, text }), {
      ids: [1],
      leftOut: [],
      hasRedacted: true,
    });
    const detail = log.detail(1);
    assert.deepEqual([detail?.method, detail?.target, detail?.isImported], ['POST', '/hook', true]);
    assert.deepEqual(detail?.request.fields[0], ['Host', 'slug-1.tunnels.test:8080']);
    const local = await app.call('tunnel:create', { ...FORM, hostHeader: 'local' });
    await app.call('import:text', { ...local, text: 'curl https://elsewhere.example/' });
    const [host] = app.core.chosen.tunnelList.find(local.key).log.detail(1)?.request.fields ?? [];
    assert.deepEqual(host, ['Host', 'localhost:3000']);
  });

  it('come from a file that the user chooses, at most 100 at a time', async () => {
    const { app, key, log } = await appWith();
    await assert.rejects(
      app.call('import:text', { key, text: har(IMPORTED_REQUESTS_MAX + 1) }),
      refused(/The file has more than 100 requests/),
    );
    assert.equal(await app.call('import:file', { key }), undefined);
    const path = join(temporaryDirectory(), 'a.har');
    writeFileSync(path, har(IMPORTED_REQUESTS_MAX));
    app.answers.harToRead = path;
    assert.equal((await app.call('import:file', { key }))?.ids.length, IMPORTED_REQUESTS_MAX);
    const targets = log.list().map(({ target }) => target);
    assert.deepEqual([targets.length, targets.at(0), targets.at(-1)], [100, '/99', '/0']);
  });

  it("report in the user's language what was left out or refused", async () => {
    const { app, key } = await appWith();
    const text = har(1, 'a\r\nb');
    const { leftOut, ids } = await app.call('import:text', { key, text });
    assert.deepEqual(leftOut, ['Request 1 was left out: The value of X cannot contain a line break.']);
    assert.deepEqual(ids, []);
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.deepEqual((await app.call('import:text', { key, text })).leftOut, [
      'Anfrage 1 ist ausgelassen: Der Wert von X darf keinen Zeilenumbruch enthalten.',
    ]);
    const error = await app.call('import:text', { key, text: 'curl -F a=b x.example' }).catch(toCallError);
    assert.deepEqual(error, {
      code: 'not-imported',
      text: 'Die curl-Option -F wird nicht unterstützt. Geben Sie den Body mit --data-raw an.',
    });
  });

  it('are refused with the reason', async () => {
    const { app, key, log } = await appWith();
    await assert.rejects(app.call('import:text', { key, text: 'wget x' }), ImportRefused);
    const directory = temporaryDirectory();
    const large = join(directory, 'large.har');
    writeFileSync(large, '');
    truncateSync(large, IMPORT_MAX_BYTES + 1);
    for (const [path, reason] of [
      [directory, /is not a file/],
      [join(directory, 'no.har'), /cannot read .*no\.har/],
      [large, /is 33 MiB, but the limit is 32 MiB/],
    ] as const) {
      app.answers.harToRead = path;
      await assert.rejects(app.call('import:file', { key }), refused(reason));
    }
    assert.deepEqual(log.list(), []);
  });

  it('do not change the known state of the local service', async () => {
    const { app, key } = await appWith();
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

describeOnPosix('tunnels of the app, for other programs of its user', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  });
  afterEach(() => {
    closeServers();
    rmSync(base, { recursive: true, force: true });
  });

  it("are inspected as a command's are, until the app ends", async () => {
    const env = { XDG_RUNTIME_DIR: base, TMPDIR: base };
    const system = fakeSystem();
    const startHere = () => startInspector(env, (error) => assert.fail(String(error)));
    const app = await signedIn({ ...system, platform: { ...system.platform, startInspector: startHere } });
    const { port } = await startHttp((_request, response) => response.end('hello'));
    const { key } = await app.call('tunnel:create', { ...FORM, port });
    const { log } = app.core.chosen.tunnelList.find(key);
    for (let n = 0; n < 2; n += 1)
      log.open().toLocal(Buffer.from('GET /?token=s3cret HTTP/1.1\r\nHost: x\r\n\r\n'));
    const [found] = await findTunnels(runtimeFolder(env));
    assert.equal(found?.slug, 'slug-1');
    const inspector = new Inspector(found);
    assert.deepEqual((await inspector.call('log:detail', { id: 1 })).target, '/?token=[redacted]');
    assert.equal(await inspector.call('log:replay', { id: 1 }), 3);
    await app.call('log:clear', { key });
    assert.deepEqual(await inspector.call('log:list', {}), []);
    await app.call('undo:take', { id: app.core.undos.views[0]?.id ?? '' });
    assert.deepEqual(
      (await inspector.call('log:list', { reveal: true })).map(({ id, status, target }) => [
        id,
        status,
        target,
      ]),
      [
        [3, 200, '/?token=s3cret'],
        [2, undefined, '/?token=s3cret'],
        [1, undefined, '/?token=s3cret'],
      ],
    );
    app.core.close();
    assert.deepEqual(await findTunnels(runtimeFolder(env)), []);
  });
});
