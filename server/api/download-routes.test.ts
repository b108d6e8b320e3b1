import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { buffer, text } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { anAccount, ApiFixture } from '../testing/fixtures.ts';
import { ADDRESS_DOWNLOADS_MAX } from './download-routes.ts';

const DIGEST = 'a'.repeat(64);
/** More than the system buffers for a visitor that reads nothing. */
const PROGRAM = Buffer.from(Array.from({ length: 8 << 20 }, () => Math.random() * 256));

describe('programs to install', () => {
  const team = anAccount({ plan: 'team' });
  let api: ApiFixture;

  beforeEach(async () => (api = await ApiFixture.start(team)));
  afterEach(async () => {
    await api.stop();
    rmSync(api.downloads, { recursive: true, force: true });
  });

  function offer(...systems: string[]): void {
    mkdirSync(api.downloads, { recursive: true });
    for (const system of systems) {
      writeFileSync(`${api.downloads}/culvert-${system}.gz`, gzipSync(PROGRAM, { level: 0 }));
      writeFileSync(`${api.downloads}/culvert-${system}.sha256`, `${DIGEST}  culvert-${system}\n`);
    }
  }

  function ask(path: string, headers: Readonly<Record<string, string>> = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      get({ port: api.port, path, headers, agent: false }, resolve).on('error', reject);
    });
  }

  async function read(path: string, headers?: Readonly<Record<string, string>>): Promise<string> {
    const response = await ask(path, headers);
    return `${response.statusCode} ${await text(response)}`;
  }

  it('do not exist in an empty folder', async () => {
    for (const path of ['/install', '/install.sh', '/install.ps1', '/download/culvert-linux-x64'])
      assert.match(await read(path), /^404 /, path);
  });

  for (const name of [
    'linux-x64.gz',
    'linux-mips',
    'constructor',
    '..%2Flinux-x64',
    'linux-x64.sha256.sha256',
  ])
    it(`are found only by the name of a system, not by ${name}`, async () => {
      offer('linux-x64');
      assert.match(await read(`/download/culvert-${name}`), /^404 /);
    });

  it('are installed by a line for each kind of system that there are programs for', async () => {
    offer('linux-arm64');
    const unix = 'curl -fsSL http://localhost:8080/install.sh | sh';
    assert.equal(await read('/install'), `200 ${unix}\n`);
    offer('windows-x64');
    assert.equal(await read('/install'), `200 ${unix}\nirm http://localhost:8080/install.ps1 | iex\n`);
    const page = await read('/install', { accept: 'text/html' });
    for (const part of [unix, '/download/culvert-windows-x64"', '>Linux (ARM)<'])
      assert.ok(page.includes(part), page);
  });

  for (const script of ['/install.sh', '/install.ps1'])
    it(`come from the relay's own address in ${script}, whatever the request says`, async () => {
      offer('linux-x64');
      const headers = { host: "evil.example'; rm -rf /", 'x-forwarded-host': 'evil.example' };
      const sent = await read(script, headers);
      assert.match(sent, /'http:\/\/localhost:8080'/);
      assert.doesNotMatch(sent, /evil/);
    });

  it('are sent compressed to programs that accept that, and unchanged to others', async () => {
    offer('linux-x64');
    const path = '/download/culvert-linux-x64';
    const packed = await ask(path, { 'accept-encoding': 'gzip' });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    const bytes = await buffer(packed);
    assert.equal(bytes.length, Number(packed.headers['content-length']));
    assert.deepEqual(gunzipSync(bytes), PROGRAM);
    const plain = await ask(path);
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.deepEqual(await buffer(plain), PROGRAM);
    assert.equal(await read(`${path}.sha256`), `200 ${DIGEST}  culvert-linux-x64\n`);
  });

  it('are sent to each address only a few at a time, and to the next once one has gone', async () => {
    offer('linux-x64');
    const path = '/download/culvert-linux-x64';
    const headers = { 'accept-encoding': 'gzip', 'x-forwarded-for': '2001:db8::1' };
    const unread = [];
    for (let each = 0; each < ADDRESS_DOWNLOADS_MAX; each += 1) unread.push(await ask(path, headers));
    const refused = await ask(path, { ...headers, 'x-forwarded-for': '2001:db8::2' });
    assert.equal(refused.statusCode, 429);
    assert.equal(refused.headers['retry-after'], '10');
    assert.match(await text(refused), /"rate-limited"/);
    const other = await ask(path, { ...headers, 'x-forwarded-for': '192.0.2.1' });
    assert.equal(other.statusCode, 200);
    for (const response of [...unread, other]) response.destroy();
    let later = await ask(path, headers);
    while (later.statusCode === 429) {
      later.destroy();
      later = await ask(path, headers);
    }
    assert.equal(later.statusCode, 200);
    later.destroy();
  });

  it('are part of the page of an invitation', async () => {
    offer('linux-x64', 'windows-x64');
    const owner = await api.keyOf(team, { scope: { kind: 'owner' } });
    const { body } = await api.call('POST', '/v1/team/invites', owner, { labels: ['ann'] });
    const token = /invite\/([\w-]+)/.exec(JSON.stringify(body))?.[1] ?? assert.fail();
    const page = await read(`/invite/${token}`, { accept: 'text/html' });
    assert.ok(page.includes(`curl -fsSL http://localhost:8080/install.sh | sh -s -- ${token}<`), page);
    assert.ok(page.includes(`((irm http://localhost:8080/install.ps1))) ${token}<`), page);
    rmSync(api.downloads, { recursive: true });
    assert.match(await read(`/invite/${token}`, { accept: 'text/html' }), /Ask the person who sent you/);
  });
});
