import assert from 'node:assert/strict';
import { mkdirSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeOnPosix } from '../../../shared/testing/posix.ts';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { SPEC } from '../../testing/tunnel-spec.ts';
import { type Project, readProject, readProjectIn } from './project.ts';
import { checkOwners, locateFolders, ProjectFileError, trustedOwners } from './project-trust.ts';
import { FOLDER_RULE } from './tunnel-spec.ts';

const isRefusal = (words: RegExp) => (error: unknown) =>
  error instanceof ProjectFileError && words.test(error.message);

const portOf = ({ tunnels: [web] }: Project): unknown =>
  web !== undefined && 'port' in web.target && web.target.port;

describe('readProject', () => {
  let root: string;
  let inner: string;

  beforeEach(() => {
    root = temporaryDirectory();
    inner = join(root, 'src', 'deep');
    mkdirSync(inner, { recursive: true });
  });

  const write = (path: string, port: number): void =>
    writeFileSync(join(root, path), `tunnels:\n  web:\n    port: ${port}\n`);

  it('reads the nearest file above the working directory', () => {
    write('culvert.yml', 1);
    assert.equal(portOf(readProject(undefined, inner)), 1);
    write('src/culvert.yml', 2);
    assert.equal(portOf(readProject(undefined, inner)), 2);
    assert.equal(readProject(undefined, inner).path, join(root, 'src', 'culvert.yml'));
  });

  it('resolves a given path from the working directory', () => {
    write('culvert.yml', 1);
    write('src/other.yml', 2);
    assert.equal(portOf(readProject('../other.yml', inner)), 2);
  });

  it('reports the paths it searched', () => {
    assert.throws(
      () => readProject(undefined, inner),
      isRefusal(/no culvert\.yml in .*deep or in any folder above.*--config/),
    );
    assert.throws(() => readProject('gone.yml', inner), isRefusal(/gone\.yml cannot be read: ENOENT/));
  });

  it('reads only the file in that folder, and only if a trusted user owns it', () => {
    write('culvert.yml', 1);
    assert.throws(() => readProjectIn(inner, {}), isRefusal(/deep.culvert\.yml cannot be read: ENOENT/));
    assert.equal(portOf(readProjectIn(root, {})), 1);
    const others = new Set([statSync(join(root, 'culvert.yml')).uid + 1]);
    assert.throws(() => readProjectIn(root, {}, others), isRefusal(/belongs to another user/));
  });

  it('rejects a file of another user that it found by itself, but not one that is named', () => {
    write('culvert.yml', 1);
    const file = join(root, 'culvert.yml');
    const others = new Set([statSync(file).uid + 1]);
    assert.throws(
      () => readProject(undefined, inner, {}, others),
      isRefusal(
        /^.*culvert\.yml belongs to another user \(uid \d+\).*"culvert start --config .*culvert\.yml"/,
      ),
    );
    assert.equal(portOf(readProject('../../culvert.yml', inner, {}, others)), 1);
    assert.equal(portOf(readProject(undefined, inner, {}, undefined)), 1);
  });

  it('names what is wrong with the file itself', () => {
    const text = 'tunnels: {web: {port: 3000}}\n';
    const file = join(root, 'culvert.yml');
    const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
    for (const bytes of [utf16, utf16.subarray(2), Buffer.from(utf16).swap16()]) {
      writeFileSync(file, bytes);
      assert.throws(
        () => readProject(file, root),
        isRefusal(/yml cannot be read: it is encoded in UTF-16\. Save it as UTF-8\.$/),
      );
    }
    writeFileSync(file, `\ufeff${text}`);
    assert.equal(readProject(file, root).tunnels.length, 1);
    rmSync(file);
    write('culvert.yaml', 1);
    assert.throws(
      () => readProject(undefined, inner),
      isRefusal(
        /culvert\.yaml has the wrong name\. Rename it to culvert\.yml, or use "culvert start --config/,
      ),
    );
    assert.equal(readProject('culvert.yaml', root).tunnels.length, 1);
  });

  it('reads at most 64 KiB', () => {
    writeFileSync(join(root, 'culvert.yml'), '#'.repeat(64 * 1024 + 1));
    assert.throws(() => readProject(undefined, inner), /larger than 65536 bytes/);
  });
});

describe('trustedOwners', () => {
  it('are the current user, and with sudo also the user who called it', () => {
    assert.deepEqual(trustedOwners({}, 1000), new Set([1000]));
    assert.deepEqual(trustedOwners({ SUDO_UID: '1000' }, 0), new Set([0, 1000]));
    assert.deepEqual(trustedOwners({ SUDO_UID: '1001' }, 1000), new Set([1000]));
    for (const SUDO_UID of ['', 'x', '-1', '1e3'])
      assert.deepEqual(trustedOwners({ SUDO_UID }, 0), new Set([0]));
  });

  it('are unknown on Windows, which has no user numbers', () => {
    assert.equal(trustedOwners({}, undefined), undefined);
  });
});

describe('checkOwners', () => {
  it('accepts your own file, unless the link to it belongs to another user', () => {
    checkOwners('culvert.yml', [1000, 1000], new Set([1000]));
    for (const uids of [
      [1001, 1000],
      [1000, 0],
    ])
      assert.throws(() => checkOwners('culvert.yml', uids, new Set([1000])), isRefusal(/another user/));
  });
});

describeOnPosix('the folder of a tunnel in culvert.yml', () => {
  let above: string;
  let own: string;
  let file: string;

  before(() => {
    above = realpathSync(temporaryDirectory());
    own = join(above, 'project');
    file = join(own, 'culvert.yml');
    mkdirSync(join(own, 'public', 'docs'), { recursive: true });
    mkdirSync(join(own, '..hidden'));
    mkdirSync(join(above, 'project-of-others'));
    symlinkSync('public/docs', join(own, 'docs'));
    symlinkSync(above, join(own, 'up'));
    symlinkSync('../project-of-others', join(own, 'beside'));
    symlinkSync('project', join(above, 'link'));
  });

  const locate = (folder: string, path = file): string | undefined => {
    const [located] = locateFolders(path, [{ ...SPEC, label: 'web', target: { folder } }]);
    return located !== undefined && 'folder' in located.target ? located.target.folder : undefined;
  };

  it("is resolved from the file's folder, through links within that folder", () => {
    const port = { ...SPEC, label: 'web' };
    assert.deepEqual(locateFolders(file, [port]), [port]);
    assert.equal(locate('.'), own);
    assert.equal(locate('./public/'), join(own, 'public'));
    assert.equal(locate('docs'), join(own, 'public', 'docs'));
    assert.equal(locate('..hidden'), join(own, '..hidden'));
    assert.equal(locate('public', join(above, 'link', 'culvert.yml')), join(own, 'public'));
  });

  it('must be within the folder of the file, after following links', () => {
    for (const folder of ['up', 'up/project-of-others', 'beside'])
      assert.throws(() => locate(folder), {
        message:
          `${file}: tunnels.web.share: "${folder}" is outside the folder that contains the file. ` +
          'Only folders inside it can be shared. To share any other folder, use "culvert share".',
      });
  });

  it('must exist, and its name is escaped for the terminal', () => {
    assert.throws(() => locate('gone\n\u{1B}[2J'), /"gone\\x0a\\x1b\[2J" cannot be read/);
    assert.throws(() => locate('gone'), {
      message: `${file}: tunnels.web.share: "gone" cannot be read (ENOENT).`,
    });
  });

  it('is a path below that folder', () => {
    for (const path of ['.', './public', 'a/b', 'a b', '..hidden'])
      assert.ok(FOLDER_RULE.accepts(path), path);
    const outside = '|/|/etc|..|../x|a/../../b|a\\..\\b|C:\\x|\\\\x|a\0b'.split('|');
    for (const path of [...outside, 7, true, null]) assert.ok(!FOLDER_RULE.accepts(path), String(path));
  });
});
