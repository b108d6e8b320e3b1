import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as consumers from 'node:stream/consumers';
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
    for (const folder of ['sub/deep', '.git', 'app', 'settings', '../site-of-others'])
      mkdirSync(join(root, folder), { recursive: true });
    for (const [path, content] of Object.entries({
      'digits.txt': '0123456789',
      'empty.css': '',
      'app/index.html': '<h1>app</h1>',
      'sub/a b%c.txt': 'odd',
      'sub/<img src=x onerror=alert(1)>&"\'.txt': 'hostile',
      'sub/javascript:alert(1)': 'scheme',
    }))
      writeFileSync(join(root, path), content);
    for (const path of [
      '../secret.txt',
      '../site-of-others/a.txt',
      '.env',
      '.git/config',
      'sub/back\\slash',
      'culvert.yml',
      'sub/Culvert.YAML',
      'sub/#culvert.yml#',
      'tunnels.yml',
      'settings/login.json',
    ])
      writeFileSync(join(root, path), SECRET);
    for (const [path, target] of Object.entries({
      inside: '../digits.txt',
      'to-dot': '../.env',
      outside: '../../secret.txt',
      up: above,
      beside: '../../site-of-others',
      circle: 'circle',
      'to-project': '../culvert.yml',
      'to-settings': '../settings',
    }))
      symlinkSync(target, join(root, 'sub', path));
    execFileSync('mkfifo', [join(root, 'sub', 'pipe')]);
    shared = await shareFolder(root, { own: [join(root, 'tunnels.yml'), join(root, 'settings')] });
  });

  after(async () => {
    await shared.close();
    rmSync(above, { recursive: true });
  });

  async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const { port, host } = shared;
    // A connection that is kept could be closed by the server while the test is busy.
    const to = { port, host: '127.0.0.1', agent: false };
    const sent = request({ ...to, path, method, headers: { host, ...headers } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, text: await consumers.text(response), fields: response.headers };
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
    assert.match(
      String(fields['content-security-policy']),
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'$/,
    );
    const shown = [...text.matchAll(/<a href="([^"]*)"/g)].map(([, href = '']) => href);
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

  it('shows the name of the share, sizes, days, and how much is in each folder', async () => {
    const folder = join(root, 'facts');
    mkdirSync(join(folder, 'pics'), { recursive: true });
    mkdirSync(join(folder, 'void'));
    for (const name of ['a.png', 'b.png', '.hidden']) writeFileSync(join(folder, 'pics', name), '');
    symlinkSync(join(above, 'secret.txt'), join(folder, 'pics', 'outside'));
    for (const [name, size] of Object.entries({ '10.txt': 1, '2.txt': 999, 'café.bin': 30_000 }))
      writeFileSync(join(folder, name), Buffer.alloc(size));
    utimesSync(join(folder, '2.txt'), 0, new Date(2019, 10, 24, 12));
    utimesSync(join(folder, '10.txt'), 0, new Date(new Date().getFullYear(), 0, 2, 12));
    const { text } = await get('/facts/');
    assert.match(text, /<title>site \/ facts<\/title>/);
    assert.match(text, /<h1><a href="\.\.\/"><bdi>site<\/bdi><\/a> \/ <bdi>facts<\/bdi> <small>5 items</);
    const rows = text.split('<li>').slice(1);
    const facts = rows.map((row) => /<bdi>(.*?)<\/bdi><\/a><small>(.*?) </.exec(row)?.slice(1));
    assert.deepEqual(facts, [
      ['pics', '2 items'],
      ['void', '0 items'],
      ['2.txt', '999 B'],
      ['10.txt', '1 B'],
      ['café.bin', '29.3 KiB'],
    ]);
    assert.match(rows[2] ?? '', /<time datetime="2019-11-24T[^"]+">24 Nov 2019<\/time>/);
    assert.match(rows[3] ?? '', />2 Jan<\/time>/);
    assert.match((await get('/facts/void/')).text, /0 items.*This folder is empty\./s);
    assert.match(
      (await get('//facts//pics//')).text,
      /<a href="\.\.\/\.\.\/\.\.\/\.\.\/\.\.\/"><bdi>site<.*<a href="\.\.\/\.\.\/\.\.\/"><bdi>facts<.*<bdi>pics<\/bdi> </,
    );
    assert.match(
      (await get('/facts%2Fpics/')).text,
      /<a href="\.\.\/"><bdi>site<.* \/ <bdi>facts\/pics<\/bdi> </,
    );
  });

  it('counts what is in folders only up to a limit', async () => {
    const folder = join(root, 'counted');
    for (const [name, count] of Object.entries({ a: 150, b: 51, c: 1 })) {
      mkdirSync(join(folder, name), { recursive: true });
      for (let index = 0; index < count; index += 1) writeFileSync(join(folder, name, `f${index}`), '');
    }
    const { text } = await get('/counted/');
    assert.deepEqual(text.match(/<small>[^<]* </g), ['<small>150 items <', '<small> <', '<small> <']);
    rmSync(folder, { recursive: true });
  });

  it('shows hostile names as text, in the list and above it', async () => {
    const names: Record<string, string> = {
      'new\nline.txt': 'new\\x0aline.txt',
      'tab\there\x1b[2J': 'tab\\x09here\\x1b[2J',
      'photo\u202Egpj.exe': 'photo\\u{202e}gpj.exe',
      'iso\u2066late\u200E': 'iso\\u{2066}late\\u{200e}',
      'עברית.txt': 'עברית.txt',
      '<bdi><a><script>alert(1)<script>': '&lt;bdi&gt;&lt;a&gt;&lt;script&gt;alert(1)&lt;script&gt;',
      '"onmouseover="alert(1)': '&quot;onmouseover=&quot;alert(1)',
      "'onmouseover='alert(1)": "'onmouseover='alert(1)",
      '&lt;b&gt;': '&amp;lt;b&amp;gt;',
      '?query#hash%2e%2e': '?query#hash%2e%2e',
      [`${'W'.repeat(251)}.txt`]: `${'W'.repeat(251)}.txt`,
    };
    const folder = join(root, 'hostile');
    for (const name of Object.keys(names)) {
      mkdirSync(join(folder, 'folders', name), { recursive: true });
      writeFileSync(join(folder, name), name);
    }
    const { text } = await get('/hostile/');
    for (const [name, shown] of Object.entries(names)) {
      assert.ok(text.includes(`<a href="./${encodeURIComponent(name)}"><bdi>${shown}</bdi></a>`), name);
      assert.equal((await get(`/hostile/${encodeURIComponent(name)}`)).text, name);
      const inside = (await get(`/hostile/folders/${encodeURIComponent(name)}/`)).text;
      assert.ok(inside.includes(`<bdi>${shown}</bdi> <small>0 items`), name);
      assert.ok(inside.includes(`<title>site / hostile / folders / ${shown}</title>`), name);
      for (const page of [text, inside]) assert.doesNotMatch(page, /<script|<b>|\son\w+=/);
    }
  });

  it('shows people a page with a link to the folder if there is nothing at an address', async () => {
    const html = { accept: 'text/html,*/*;q=0.8' };
    for (const [path, href] of [
      ['/nothing', './'],
      ['/sub/nothing?q=/a/b', './../'],
      ['/sub/deep/nothing/', './../../../'],
      ['/nothing"><script>', './'],
      ['/.env', './'],
    ] as const) {
      const { status, text, fields } = await get(path, html);
      assert.deepEqual([status, fields['vary']], [404, 'Accept']);
      assert.equal(fields['content-type'], 'text/html; charset=utf-8');
      assert.match(String(fields['content-security-policy']), /^default-src 'none'; style-src 'sha256-/);
      assert.match(text, /There is no file or folder at this address\./);
      assert.deepEqual(text.match(/href="[^"]*"/g), [`href="${href}"`], path);
      assert.doesNotMatch(text, /script|nothing/);
    }
    const head = await get('/nothing', html, 'HEAD');
    assert.deepEqual([head.status, head.text], [404, '']);
    assert.ok(Number(head.fields['content-length']) > 1000);
    const bad = await get('/%zz', html);
    assert.deepEqual([bad.status, /<h1>Bad request/.test(bad.text)], [400, true]);
    assert.equal((await get('/app', html)).text, 'Moved\n');
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

  const hidden = [
    '/../secret.txt /sub/../../secret.txt /%2e%2e/secret.txt /..%2fsecret.txt /sub/..%2F..%2Fsecret.txt',
    '/..%5csecret.txt /..\\secret.txt /sub/back%5cslash /sub/./inside /.env /%2eenv /.git/config /sub/..%2f.env',
    '/sub/to-dot /culvert.yml /%63ulvert.yml /CULVERT.yml /culvert.yml. /culvert.yml::$DATA /sub/Culvert.YAML',
    '/sub/%23culvert.yml%23 /sub/to-project /sub/../culvert.yml /tunnels.yml /settings/ /settings/login.json',
    '/sub/to-settings/login.json /sub/outside /sub/up/secret.txt /sub/up/site/digits.txt/../../../secret.txt',
    '/sub/beside/a.txt /sub/beside/ /sub/circle /sub/pipe /%252e%252e/secret.txt /digits.txt%00.html /digits.txt%20',
    '/DIGITS.TXT /digits.txt::$DATA /con /sub/../digits.txt /app/%2e%2e/digits.txt /./digits.txt',
    `/${'a'.repeat(256)} /${'a/'.repeat(4000)}`,
  ].flatMap((paths) => paths.split(' '));
  for (const path of hidden)
    it(`does not find ${path.slice(0, 60)}`, async () => {
      const { status, text } = await get(path);
      assert.deepEqual([status, text], [404, 'Not found\n']);
    });

  it('rejects malformed targets', async () => {
    for (const path of '/% /%zz /%c0%ae%c0%ae/secret.txt /%ff digits.txt * http://a.example/digits.txt'.split(
      ' ',
    ))
      assert.equal((await get(path)).status, 400, path);
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
    const names =
      'a.txt::$DATA|a:b|CON|nul.txt|com1|LPT9.log|aux .txt|a.|a |culvert.yml|culvert.yml.|CULVERT.YML |culvert.yaml~|a?|a*|<';
    for (const name of names.split('|')) assert.equal(isPublicName(name, 'win32'), false, name);
    for (const name of ['console', 'com10', 'a.b.c', 'nullable.ts', 'PROGRA~1'])
      assert.equal(isPublicName(name, 'win32'), true, name);
    assert.equal(isPublicName('a:b', 'linux'), true);
  });

  it('shares only folders', async () => {
    await assert.rejects(shareFolder(join(root, 'digits.txt')), /is not a folder/);
    await assert.rejects(shareFolder(join(root, 'nothing')), /cannot be read \(ENOENT\)/);
  });
});
