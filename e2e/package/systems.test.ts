/**
 * Checks what electron-builder makes of the app for Windows and macOS; any system can do that, except for installers and
 * signing.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { notRun } from '../../shared/testing/posix.ts';
import { APP_ID } from '../../desktop/app/main/deep-link.ts';
import { buildApp } from '../../desktop/build/build.ts';
import { VERSION } from '../../shared/version.ts';
import { enabledFuses, FUSES_ON, packageApp } from './packaging.ts';

describe('the package for other systems', () => {
  let work: string;

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'culvert-systems-'));
    await buildApp();
  });

  after(() => rm(work, { recursive: true, force: true }));

  it('has a program for Windows with name, icon, checksum of the app and fuses', async () => {
    const app = await packageApp('win', work);
    const program = join(app, 'Culvert.exe');
    const file = await readFile(program);
    for (const text of ['Culvert', VERSION, 'The Culvert developers']) {
      assert.ok(file.includes(Buffer.from(text, 'utf16le')), text);
    }
    assert.match(
      file.toString('latin1'),
      /\[\{"file":"resources\\\\app\.asar","alg":"SHA256","value":"[0-9a-f]{64}"\}\]/,
    );
    assert.ok(file.includes(Buffer.from('\x89PNG', 'latin1')), 'it has no icon');
    assert.deepEqual(await enabledFuses(program), FUSES_ON);
    assert.ok((await readdir(join(app, 'resources'))).includes('app.asar'));
  });

  it('is a tray app for macOS with name, links, icon, checksum of the app, helpers and fuses', async function () {
    if (process.platform === 'win32') notRun(this, "Electron's packaging tools do not run on Windows");
    const app = join(await packageApp('mac', work), 'Culvert.app');
    const plist = await readFile(join(app, 'Contents/Info.plist'), 'utf8');
    assert.equal(stringOf(plist, 'CFBundleIdentifier'), APP_ID);
    assert.equal(stringOf(plist, 'CFBundleShortVersionString'), VERSION);
    assert.equal(stringOf(plist, 'CFBundleIconFile'), 'icon.icns');
    assert.match(plist, /<key>LSUIElement<\/key>\s*<true\/>/);
    assert.match(plist, /<key>CFBundleURLSchemes<\/key>\s*<array>\s*<string>culvert<\/string>/);
    assert.match(plist, /<key>ElectronAsarIntegrity<\/key>\s*<dict>\s*<key>Resources\/app\.asar<\/key>/);
    const helpers = await readdir(join(app, 'Contents/Frameworks'));
    assert.ok(helpers.includes('Culvert Helper (Renderer).app'), helpers.join());
    assert.deepEqual(await enabledFuses(app), FUSES_ON);
  });
});

function stringOf(plist: string, key: string): string | undefined {
  return new RegExp(`<key>${key}</key>\\s*<string>([^<]*)</string>`).exec(plist)?.[1];
}
