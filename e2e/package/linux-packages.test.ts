/** Checks the packages that electron-builder writes for Debian and Fedora. Does not prove that they install. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApp } from '../../desktop/build/build.ts';
import { readRepository } from '../../release/repository.ts';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { VERSION } from '../../shared/version.ts';
import { packageForLinux } from './packaging.ts';

/** Stands in for `fpm`: writes its arguments, one per line, and the menu entry beside an empty package. */
const FPM = `#!/bin/sh
package=$(printf '%s\\n' "$@" | sed -n '/^--package$/{n;p}')
printf '%s\\n' "$@" >"$package.args"
for argument; do
  case $argument in *.desktop=*) cp "\${argument%%=*}" "$package.desktop" ;; esac
done
: >"$package"
`;

describeOnPosix('packages for Debian and Fedora', () => {
  let work: string;
  let output: string;

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'culvert-linux-'));
    await Promise.all([buildApp(), writeFile(join(work, 'fpm'), FPM, { mode: 0o755 })]);
    output = await packageForLinux(work, join(work, 'fpm'));
  });

  after(() => rm(work, { recursive: true, force: true }));

  for (const file of [`culvert-${VERSION}-linux-amd64.deb`, `culvert-${VERSION}-linux-x86_64.rpm`]) {
    it(`${file} declares its maintainer, dependencies and paths`, async () => {
      const args = (await readFile(join(output, `${file}.args`), 'utf8')).split('\n');
      const { address, author } = readRepository();
      assert.equal(valueOf(args, '--name'), 'culvert-desktop');
      assert.equal(valueOf(args, '--version'), VERSION);
      assert.equal(valueOf(args, '--maintainer'), `${author.name} <${author.email}>`);
      assert.equal(valueOf(args, '--url'), address);
      assert.equal(valueOf(args, '--license'), 'MIT');
      assert.ok(args.includes('-d'), 'it depends on nothing');
      assert.ok(args.some((arg) => arg.endsWith('=/opt/Culvert')));
    });

    it(`${file} has a menu entry that opens links, and recognizes its windows`, async () => {
      const lines = (await readFile(join(output, `${file}.desktop`), 'utf8')).split('\n');
      const expected = ['Name=Culvert', 'Exec=/opt/Culvert/culvert-desktop %U', 'Icon=culvert-desktop'];
      for (const line of [
        ...expected,
        'StartupWMClass=culvert-desktop',
        'MimeType=x-scheme-handler/culvert;',
      ]) {
        assert.ok(lines.includes(line), line);
      }
    });
  }

  it('are not found by the app as updates', async () => {
    assert.deepEqual(
      (await readdir(output)).filter((name) => name.startsWith('latest')),
      [],
    );
  });
});

function valueOf(args: readonly string[], name: string): string | undefined {
  return args[args.indexOf(name) + 1];
}
