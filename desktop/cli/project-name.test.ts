import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { projectName } from './project-name.ts';

describe('projectName', () => {
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'culvert-name-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const branch = (name: string): void => write('.git/HEAD', `ref: refs/heads/${name}\n`);

  const names: readonly [pack: string, branch: string | undefined, name: string | undefined][] = [
    ['shop', 'main', 'shop'],
    ['shop', 'master', 'shop'],
    ['shop', undefined, 'shop'],
    ['shop', 'feature/Log_in', 'shop-feature-log-in'],
    ['@acme/shop.web', 'fix', 'shop-web-fix'],
    ['x', 'main', undefined],
    ['', 'fix', undefined],
    ['@acme/', 'fix', undefined],
    ['xn--shop', 'main', 'xn-shop'],
    ['a'.repeat(60), 'b-cde', `${'a'.repeat(60)}-b`],
    ['../../etc', '-', 'etc'],
  ];
  for (const [pack, head, name] of names) {
    it(`is ${name} for ${pack} on ${head}`, () => {
      write('package.json', JSON.stringify({ name: pack }));
      if (head !== undefined) branch(head);
      assert.equal(projectName(folder), name);
    });
  }

  it('looks in the folders above', () => {
    write('package.json', '{"name":"shop"}');
    branch('fix');
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    assert.equal(projectName(join(folder, 'a/b')), 'shop-fix');
  });

  it('has the branch of a worktree', () => {
    write('repository/.git/HEAD', 'ref: refs/heads/main\n');
    write('repository/.git/worktrees/two/HEAD', 'ref: refs/heads/two\n');
    write('two/.git', `gitdir: ${join(folder, 'repository/.git/worktrees/two')}\n`);
    write('two/package.json', '{"name":"shop"}');
    assert.equal(projectName(join(folder, 'two')), 'shop-two');
  });

  it('has no branch for a commit without one', () => {
    write('package.json', '{"name":"shop"}');
    write('.git/HEAD', `${'0'.repeat(40)}\n`);
    assert.equal(projectName(folder), 'shop');
  });

  it('is undefined without a package, or for one that is broken, nameless or huge', () => {
    // An outer folder could have one.
    write('package.json', 'no JSON');
    assert.equal(projectName(folder), undefined);
    for (const text of ['{}', '[]', 'null', '{"name":5}', `{"name":"a","b":"${'x'.repeat(1024 * 1024)}"}`]) {
      write('package.json', text);
      assert.equal(projectName(folder), undefined);
    }
  });
});
