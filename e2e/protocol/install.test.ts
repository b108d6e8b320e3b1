/** The script that installs the client, run as a person would, with a program that only says what it was asked for. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { notRun } from '../../shared/testing/posix.ts';
import { Child } from '../support/child.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { suiteScope } from '../support/scope.ts';

const SYSTEM = `linux-${process.arch}`;
const VERSION = 'culvert 1.2.3';
const PROGRAM = `#!/bin/sh
if [ "$1" = --version ]; then echo '${VERSION}'; else echo "called with $*"; fi
`;
const OLD_SYSTEM = `#!/bin/sh
echo "culvert: version 'GLIBC_2.28' not found" >&2
exit 1
`;

describe('install.sh', () => {
  const scope = suiteScope();
  let downloads: string;
  let relay: Relay;
  let home: string;

  before(async () => {
    downloads = temporaryDirectory(scope);
    relay = await Relay.start(scope, { CULVERT_DOWNLOADS: downloads });
  });

  beforeEach(() => {
    home = mkdtempSync(join(temporaryDirectory(scope), 'home-'));
    offer(PROGRAM);
  });

  function offer(program: string, { system = SYSTEM, digestOf = program } = {}): void {
    for (const file of readdirSync(downloads)) rmSync(join(downloads, file));
    writeFileSync(join(downloads, `culvert-${system}.gz`), gzipSync(program));
    const digest = createHash('sha256').update(digestOf).digest('hex');
    writeFileSync(join(downloads, `culvert-${system}.sha256`), `${digest}  culvert-${system}\n`);
  }

  /** Runs the line of the page. @param path the variable PATH */
  async function install({ invitation = '', shell = 'sh', path = process.env['PATH'] ?? '' } = {}) {
    const line = `curl -fsSL ${relay.url}/install.sh | ${shell}${invitation === '' ? '' : ` -s -- ${invitation}`}`;
    const child = new Child('/bin/sh', ['-c', line], { environment: { PATH: path, HOME: home } });
    const { code } = await child.exit();
    return { code, output: child.output };
  }

  function installed(): string[] {
    return readdirSync(join(home, '.local/bin'));
  }

  for (const shell of ['dash', 'bash', 'busybox sh'])
    it(`puts the program into the home directory, and shows what to run next (${shell})`, async () => {
      const { code, output } = await install({ shell });
      assert.equal(code, 0, output);
      const program = join(home, '.local/bin/culvert');
      assert.equal(readFileSync(program, 'utf8'), PROGRAM);
      assert.deepEqual(installed(), ['culvert']);
      assert.ok(output.includes(`Installed ${VERSION} as ${program}\n`), output);
      assert.match(output, /add this line to your ~\/\.profile: export PATH="\$HOME\/\.local\/bin:\$PATH"/);
      assert.ok(output.includes(`To sign in: ${program} login --relay ${relay.url}\n`), output);
      assert.ok(output.includes(`${program} http 3000\n`), output);
    });

  it('replaces an installed program, and calls it by its name where PATH has it', async () => {
    const folder = join(home, '.local/bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'culvert'), 'old');
    const { output } = await install({ path: `${folder}:${process.env['PATH']}` });
    assert.equal(readFileSync(join(folder, 'culvert'), 'utf8'), PROGRAM);
    assert.ok(output.endsWith('public address: culvert http 3000\n'), output);
    assert.doesNotMatch(output, /PATH/);
  });

  it('names another program that comes first', async () => {
    await install();
    const other = temporaryDirectory(scope);
    writeFileSync(join(other, 'culvert'), '#!/bin/sh\n', { mode: 0o755 });
    const { output } = await install({ path: `${other}:${home}/.local/bin:${process.env['PATH']}` });
    assert.ok(output.includes(`another culvert comes first in your PATH: ${other}/culvert\n`), output);
    assert.ok(output.endsWith(`public address: ${home}/.local/bin/culvert http 3000\n`), output);
  });

  for (const form of ['token', 'address'])
    it(`accepts an invitation by its ${form}`, async () => {
      const address = `${relay.url}/invite/abc-_1`;
      const { code, output } = await install({ invitation: form === 'token' ? 'abc-_1' : address });
      assert.equal(code, 0, output);
      assert.ok(output.includes(`called with login ${address}\n`), output);
      assert.doesNotMatch(output, /To sign in/);
    });

  it('needs no curl for the download', async () => {
    const tools = temporaryDirectory(scope);
    const names = 'wget uname mkdir rm cut chmod mv sha256sum cat sh'.split(' ');
    for (const name of names) symlinkSync(`/usr/bin/${name}`, join(tools, name));
    const script = await (await fetch(`${relay.url}/install.sh`)).text();
    const child = new Child('/bin/sh', [], { environment: { PATH: tools, HOME: home }, input: script });
    assert.equal((await child.exit()).code, 0, child.output);
    assert.deepEqual(installed(), ['culvert']);
  });

  const FAILURES: Readonly<Record<string, readonly [prepare: () => void, words: RegExp]>> = {
    'is not what its digest says': [
      () => offer(PROGRAM, { digestOf: 'another' }),
      /the download is not the program that the relay has/,
    ],
    'is not there for this system': [
      () => offer(PROGRAM, { system: 'windows-x64' }),
      /the relay does not have \S+\/download\/culvert-linux-\S+ at the moment/,
    ],
    'does not run on a system that is too old': [
      () => offer(OLD_SYSTEM),
      /needs a system with glibc 2\.28 or newer and libstdc\+\+, .*: culvert: version 'GLIBC_2\.28' not found/,
    ],
    'does not run on a system without glibc': [
      () => offer('#!/lib64/ld-of-glibc\n'),
      /needs a system with glibc 2\.28 or newer and libstdc\+\+, which Alpine lacks: .*not found/,
    ],
    'is incomplete': [
      () => writeFileSync(join(downloads, `culvert-${SYSTEM}.gz`), gzipSync(PROGRAM).subarray(0, 40)),
      /the download (?:broke off|is not the program)/,
    ],
  };
  for (const [what, [prepare, words]] of Object.entries(FAILURES))
    it(`changes nothing if the program ${what}`, async () => {
      await install();
      prepare();
      const { code, output } = await install();
      assert.equal(code, 1, output);
      assert.match(output, /^culvert was not installed: /m);
      assert.match(output, words);
      assert.deepEqual(installed(), ['culvert']);
      assert.equal(readFileSync(join(home, '.local/bin/culvert'), 'utf8'), PROGRAM);
    });

  it('names a folder that it may not write to', async () => {
    writeFileSync(join(home, '.local'), '');
    const { code, output } = await install();
    assert.equal(code, 1);
    assert.ok(output.endsWith(`culvert was not installed: ${home}/.local/bin cannot be written.\n`), output);
  });

  it('says that the disk is full, and leaves nothing there', async function () {
    const disk = smallDisk(scope);
    if (disk === undefined) notRun(this, 'only root may mount');
    home = disk;
    offer(`${PROGRAM}#${'x'.repeat(1 << 20)}`);
    mkdirSync(join(home, '.local/bin'), { recursive: true });
    const free = fillDisk(disk);
    const { code, output } = await install();
    assert.equal(code, 1);
    assert.match(output, /\.local\/bin could not be written\. Is there enough room\? culvert needs 120 MB\./);
    assert.deepEqual(installed(), []);
    free();
  });

  it('does nothing if it arrives incompletely', async () => {
    const script = await (await fetch(`${relay.url}/install.sh`)).text();
    for (const share of [0.3, 0.6, 0.95]) {
      const child = new Child('/bin/sh', [], {
        environment: { PATH: process.env['PATH'], HOME: home },
        input: script.slice(0, script.length * share),
      });
      await child.exit();
      assert.deepEqual(readdirSync(home), []);
    }
  });
});
