import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { OPEN } from '../../shared/access.ts';
import { locateFolders } from './project-folders.ts';
import { FOLDER_RULE, SPEC_DEFAULTS } from './tunnel-spec.ts';

const tunnel = (folder: string | undefined) => ({
  ...SPEC_DEFAULTS,
  label: 'web',
  port: 0,
  name: undefined,
  domain: undefined,
  ttl: undefined,
  access: OPEN,
  folder,
});
describeOnPosix('the folder of a tunnel in culvert.yml', () => {
  let above: string;
  let own: string;
  let file: string;

  before(() => {
    above = realpathSync(mkdtempSync(join(tmpdir(), 'culvert-folders-')));
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

  after(() => rmSync(above, { recursive: true }));

  const locate = (folder: string | undefined, path = file) =>
    locateFolders(path, [tunnel(folder)])[0]?.folder;

  it('is found from where the file is, through links within its folder', () => {
    assert.equal(locate(undefined), undefined);
    assert.equal(locate('.'), own);
    assert.equal(locate('./public/'), join(own, 'public'));
    assert.equal(locate('docs'), join(own, 'public', 'docs'));
    assert.equal(locate('..hidden'), join(own, '..hidden'));
    assert.equal(locate('public', join(above, 'link', 'culvert.yml')), join(own, 'public'));
  });

  it('is within the folder of the file, wherever links lead', () => {
    for (const folder of ['up', 'up/project-of-others', 'beside'])
      assert.throws(() => locate(folder), {
        message:
          `${file}: tunnels.web.share: "${folder}" leads out of the folder of the file, ` +
          'which shares what is in it only: "culvert share" takes any folder.',
      });
  });

  it('has to be there, and writes nothing of its own to the terminal', () => {
    assert.throws(() => locate('gone\n\u{1B}[2J'), /"gone\\x0a\\x1b\[2J" cannot be read/);
    assert.throws(() => locate('gone'), {
      message: `${file}: tunnels.web.share: "gone" cannot be read (ENOENT).`,
    });
  });

  it('is a path below it', () => {
    for (const path of ['.', './public', 'a/b', 'a b', '..hidden'])
      assert.ok(FOLDER_RULE.accepts(path), path);
    for (const path of [
      '',
      '/',
      '/etc',
      '..',
      '../x',
      'a/../../b',
      'a\\..\\b',
      'C:\\x',
      '\\\\x',
      'a\0b',
      7,
      true,
      null,
    ])
      assert.ok(!FOLDER_RULE.accepts(path), String(path));
  });
});
