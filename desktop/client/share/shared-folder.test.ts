import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describeOnPosix } from '../../../shared/testing/posix.ts';
import { type SharedFolder, shareFolder } from './shared-folder.ts';
import { findShared, isPublicName, openShared } from './shared-path.ts';

const SECRET = 'nobody shall read this';

describeOnPosix('shareFolder', () => {
  let above: string;
  let root: string;
  let shared: SharedFolder;

  before(async () => {
    above = mkdtempSync(join(tmpdir(), 'culvert-share-'));
    root = join(above, 'site');
    mkdirSync(join(root, 'sub', 'deep'), { recursive: true });
    mkdirSync(join(root, '.git'));
    mkdirSync(join(root, 'app'));
    mkdirSync(join(above, 'site-of-others'));
    writeFileSync(join(above, 'secret.txt'), SECRET);
    writeFileSync(join(above, 'site-of-others', 'a.txt'), SECRET);
    writeFileSync(join(root, '.env'), SECRET);
    writeFileSync(join(root, '.git', 'config'), SECRET);
    writeFileSync(join(root, 'digits.txt'), '0123456789');
    writeFileSync(join(root, 'empty.css'), '');
    writeFileSync(join(root, 'app', 'index.html'), '<h1>app</h1>');
    writeFileSync(join(root, 'sub', 'a b%c.txt'), 'odd');
    writeFileSync(join(root, 'sub', '<img src=x onerror=alert(1)>&"\'.txt'), 'hostile');
    writeFileSync(join(root, 'sub', 'javascript:alert(1)'), 'scheme');
    writeFileSync(join(root, 'sub', 'back\\slash'), SECRET);
    symlinkSync('../digits.txt', join(root, 'sub', 'inside'));
    symlinkSync('../.env', join(root, 'sub', 'to-dot'));
    symlinkSync('../../secret.txt', join(root, 'sub', 'outside'));
    symlinkSync(above, join(root, 'sub', 'up'));
    symlinkSync('../../site-of-others', join(root, 'sub', 'beside'));
    symlinkSync('circle', join(root, 'sub', 'circle'));
    execFileSync('mkfifo', [join(root, 'sub', 'pipe')]);
    writeFileSync(join(root, 'culvert.yml'), SECRET);
    writeFileSync(join(root, 'sub', 'Culvert.YAML'), SECRET);
    writeFileSync(join(root, 'sub', '#culvert.yml#'), SECRET);
    writeFileSync(join(root, 'tunnels.yml'), SECRET);
    mkdirSync(join(root, 'settings'));
    writeFileSync(join(root, 'settings', 'login.json'), SECRET);
    symlinkSync('../culvert.yml', join(root, 'sub', 'to-project'));
    symlinkSync('../settings', join(root, 'sub', 'to-settings'));
    shared = await shareFolder(root, { own: [join(root, 'tunnels.yml'), join(root, 'settings')] });
  });

  after(async () => {
    await shared.close();
    rmSync(above, { recursive: true });
  });

  async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const { port, host } = shared;
    const sent = request({ port, host: '127.0.0.1', path, method, headers: { host, ...headers } }).end();
    return new Promise<{ status: number; text: string; fields: Record<string, unknown> }>(
      (resolve, reject) => {
        sent.on('error', reject);
        sent.on('response', (response) => {
          buffer(response).then(
            (body) =>
              resolve({
                status: response.statusCode ?? 0,
                text: body.toString(),
                fields: response.headers,
              }),
            reject,
          );
        });
      },
    );
  }

  async function range(value: string, more: Record<string, string> = {}) {
    const { status, text, fields } = await get('/digits.txt', { range: value, ...more });
    return [status, text, fields['content-range']];
  }

  it('serves files with their types, including empty ones and those with odd names', async () => {
    const { status, text, fields } = await get('/digits.txt?x=1');
    assert.deepEqual([status, text], [200, '0123456789']);
    assert.equal(fields['content-type'], 'text/plain; charset=utf-8');
    assert.equal(fields['x-content-type-options'], 'nosniff');
    assert.equal(fields['cache-control'], 'no-cache');
    assert.equal((await get('/empty.css')).fields['content-type'], 'text/css; charset=utf-8');
    assert.equal((await get('/sub/a%20b%25c.txt')).text, 'odd');
    assert.equal((await get('//sub//inside')).text, '0123456789');
  });

  it('serves the index of a folder, and redirects to its address with a slash', async () => {
    assert.equal((await get('/app/')).text, '<h1>app</h1>');
    const { status, fields } = await get('/app?x=/y');
    assert.deepEqual([status, fields['location']], [301, './app/?x=/y']);
    assert.equal((await get('//app')).fields['location'], './app/');
    assert.equal((await get('/digits.txt/')).status, 404);
  });

  it('lists a folder without an index, escaped, with only what visitors can open', async () => {
    const { text, fields } = await get('/sub/');
    assert.equal(fields['content-security-policy'], "default-src 'none'");
    const shown = [...text.matchAll(/href="([^"]*)"/g)].map(([, href = '']) => href);
    assert.deepEqual(shown, [
      '../',
      './deep/',
      "./%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%26%22'.txt",
      './a%20b%25c.txt',
      './inside',
      './javascript%3Aalert(1)',
    ]);
    assert.ok(!text.includes('<img'));
    for (const href of shown.slice(2)) assert.equal((await get(`/sub/${href.slice(2)}`)).status, 200, href);
    assert.doesNotMatch((await get('/')).text, /\.env|\.git|\.\.\/|\.yml|settings/);
  });

  it('lists at most 1,000 names, and mentions that there are more', async () => {
    const many = join(root, 'many');
    mkdirSync(many);
    for (let count = 0; count < 1000; count += 1) writeFileSync(join(many, `f${count}`), '');
    const all = (await get('/many/')).text;
    assert.equal(all.match(/href="\.\/f/g)?.length, 1000);
    assert.ok(!all.includes('This list is incomplete'));
    writeFileSync(join(many, 'one more'), '');
    const { text } = await get('/many/');
    assert.equal(text.match(/href="\.\//g)?.length, 1000);
    assert.ok(text.includes('This list is incomplete: it shows only 1000 names.'));
  });

  for (const path of [
    '/../secret.txt',
    '/sub/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/sub/..%2F..%2Fsecret.txt',
    '/..%5csecret.txt',
    '/..\\secret.txt',
    '/sub/back%5cslash',
    '/sub/./inside',
    '/.env',
    '/%2eenv',
    '/.git/config',
    '/sub/..%2f.env',
    '/sub/to-dot',
    '/culvert.yml',
    '/%63ulvert.yml',
    '/CULVERT.yml',
    '/culvert.yml.',
    '/culvert.yml::$DATA',
    '/sub/Culvert.YAML',
    '/sub/%23culvert.yml%23',
    '/sub/to-project',
    '/sub/../culvert.yml',
    '/tunnels.yml',
    '/settings/',
    '/settings/login.json',
    '/sub/to-settings/login.json',
    '/sub/outside',
    '/sub/up/secret.txt',
    '/sub/up/site/digits.txt/../../../secret.txt',
    '/sub/beside/a.txt',
    '/sub/beside/',
    '/sub/circle',
    '/sub/pipe',
    '/%252e%252e/secret.txt',
    '/digits.txt%00.html',
    '/digits.txt%20',
    '/DIGITS.TXT',
    '/digits.txt::$DATA',
    '/con',
    '/sub/../digits.txt',
    '/app/%2e%2e/digits.txt',
    '/./digits.txt',
    `/${'a'.repeat(256)}`,
    `/${'a/'.repeat(4000)}`,
  ])
    it(`does not find ${path.slice(0, 60)}`, async () => {
      const { status, text } = await get(path);
      assert.deepEqual([status, text], [404, 'Not found\n']);
    });

  for (const path of [
    '/%',
    '/%zz',
    '/%c0%ae%c0%ae/secret.txt',
    '/%ff',
    'digits.txt',
    '*',
    'http://a.example/digits.txt',
  ])
    it(`rejects ${path}`, async () => {
      assert.equal((await get(path)).status, 400);
    });

  it('does not read an endless head', async () => {
    assert.equal((await get(`/${'a'.repeat(20_000)}`)).status, 431);
  });

  it('follows no link outside that is made after the start', async () => {
    const path = join(root, 'later.txt');
    writeFileSync(path, 'mine');
    assert.equal((await get('/later.txt')).text, 'mine');
    rmSync(path);
    symlinkSync(join(above, 'secret.txt'), path);
    assert.equal((await get('/later.txt')).status, 404);
    const index = join(root, 'sub', 'deep', 'index.html');
    symlinkSync(join(above, 'secret.txt'), index);
    const { status, text } = await get('/sub/deep/');
    assert.equal(status, 200);
    assert.ok(!text.includes(SECRET) && !text.includes('index.html'));
  });

  it('supports ranges (RFC 9110 section 14)', async () => {
    assert.deepEqual(await range('bytes=2-4'), [206, '234', 'bytes 2-4/10']);
    assert.deepEqual(await range('bytes=-3'), [206, '789', 'bytes 7-9/10']);
    assert.deepEqual(await range('bytes=8-99'), [206, '89', 'bytes 8-9/10']);
    assert.deepEqual(await range('bytes=10-'), [416, 'The file has no such range\n', 'bytes */10']);
    assert.deepEqual(await range('lines=1-2'), [200, '0123456789', undefined]);
    assert.deepEqual(await range('bytes=0-0,5-6'), [200, '0123456789', undefined]);
    assert.deepEqual(await range('bytes=2-4', { 'if-range': '"other"' }), [200, '0123456789', undefined]);
  });

  it('supports conditions (RFC 9110 section 13)', async () => {
    const { fields } = await get('/digits.txt');
    const etag = String(fields['etag']);
    const unchanged = await get('/digits.txt', { 'if-none-match': etag });
    assert.deepEqual([unchanged.status, unchanged.text], [304, '']);
    assert.equal((await get('/digits.txt', { 'if-none-match': '"other"' })).status, 200);
    const since = { 'if-modified-since': String(fields['last-modified']) };
    assert.equal((await get('/digits.txt', since)).status, 304);
    assert.equal((await get('/digits.txt', { 'if-match': '"other"' })).status, 412);
  });

  it('sends only the head for HEAD', async () => {
    for (const path of ['/digits.txt', '/', '/app/']) {
      const whole = await get(path);
      const { status, text, fields } = await get(path, {}, 'HEAD');
      assert.deepEqual([status, text], [200, '']);
      assert.equal(fields['content-length'], whole.fields['content-length']);
    }
  });

  it('rejects other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND']) {
      const { status, fields } = await get('/digits.txt', {}, method);
      assert.deepEqual([status, fields['allow']], [405, 'GET, HEAD']);
    }
  });

  it('accepts requests only through the tunnel', async () => {
    for (const host of [`127.0.0.1:${shared.port}`, 'localhost', ''])
      assert.equal((await get('/digits.txt', { host })).status, 403);
  });

  it('opens a file only if nothing has replaced it since it was found', async () => {
    const folder = join(root, 'changing');
    const path = join(folder, 'file.txt');
    const away = join(root, 'away');
    const changes: Record<string, () => void> = {
      link: () => symlinkSync(join(above, 'secret.txt'), path),
      'link within': () => symlinkSync(join(root, 'digits.txt'), path),
      pipe: () => void execFileSync('mkfifo', [path]),
      folder: () => mkdirSync(path),
      nothing: () => {},
    };
    for (const [what, change] of Object.entries(changes)) {
      mkdirSync(folder);
      writeFileSync(path, 'mine');
      const found = await findShared({ path: root }, ['changing', 'file.txt']);
      assert.ok(found !== undefined);
      const opened = await openShared(found);
      assert.equal(String(await opened?.file.readFile()), 'mine');
      await opened?.file.close();
      rmSync(path);
      change();
      assert.equal(await openShared(found), undefined, what);
      rmSync(folder, { recursive: true });
    }
    mkdirSync(folder);
    mkdirSync(away);
    writeFileSync(path, 'mine');
    writeFileSync(join(away, 'file.txt'), SECRET);
    const found = await findShared({ path: root }, ['changing', 'file.txt']);
    assert.ok(found !== undefined);
    rmSync(folder, { recursive: true });
    symlinkSync(away, folder);
    assert.equal(await openShared(found), undefined, 'a folder on the way');
  });

  it('rejects private names, and names with a special meaning on Windows', () => {
    const names = [
      'a.txt::$DATA',
      'a:b',
      'CON',
      'nul.txt',
      'com1',
      'LPT9.log',
      'aux .txt',
      'a.',
      'a ',
      'culvert.yml',
      'culvert.yml.',
      'CULVERT.YML ',
      'culvert.yaml~',
      'a?',
      'a*',
      '<',
    ];
    for (const name of names) assert.equal(isPublicName(name, 'win32'), false, name);
    for (const name of ['console', 'com10', 'a.b.c', 'nullable.ts', 'PROGRA~1'])
      assert.equal(isPublicName(name, 'win32'), true, name);
    assert.equal(isPublicName('a:b', 'linux'), true);
  });

  it('shares only folders', async () => {
    await assert.rejects(shareFolder(join(root, 'digits.txt')), /is not a folder/);
    await assert.rejects(shareFolder(join(root, 'nothing')), /cannot be read \(ENOENT\)/);
  });
});
