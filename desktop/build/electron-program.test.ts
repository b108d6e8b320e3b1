import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findElectron, getElectron } from './electron-program.ts';

const PROGRAMS: readonly [NodeJS.Platform, string][] = [
  ['linux', 'electron'],
  ['win32', 'electron.exe'],
  ['darwin', 'Electron.app/Contents/MacOS/Electron'],
];

describe("Electron's program", () => {
  let work: string;
  beforeEach(() => (work = mkdtempSync(join(tmpdir(), 'culvert-electron-'))));
  afterEach(() => rmSync(work, { recursive: true, force: true }));

  function place(directory: string, name: string): { directory: string; program: string } {
    const program = join(work, directory, name);
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '');
    return { directory: join(work, directory), program };
  }

  for (const [platform, name] of PROGRAMS) {
    it(`is found in the package of ${platform}`, () => {
      const { directory, program } = place('installed', name);
      assert.equal(findElectron({ env: {}, platform, installed: directory }), program);
    });
  }

  it('is used from the directory in ELECTRON_OVERRIDE_DIST_PATH, if set', () => {
    const { directory, program } = place('override', 'electron');
    const env = { ELECTRON_OVERRIDE_DIST_PATH: directory };
    const installed = place('installed', 'electron').directory;
    assert.equal(findElectron({ env, platform: 'linux', installed }), program);
  });

  it('is not found if nothing is installed', () => {
    const env = { ELECTRON_OVERRIDE_DIST_PATH: '' };
    assert.equal(findElectron({ env, platform: 'linux', installed: work }), undefined);
  });

  it('is named in the error if the directory in ELECTRON_OVERRIDE_DIST_PATH does not have it', () => {
    const env = { ELECTRON_OVERRIDE_DIST_PATH: work };
    const { directory: installed } = place('installed', 'electron');
    assert.throws(
      () => findElectron({ env, platform: 'linux', installed }),
      (error: Error) =>
        error.message.includes('names a directory without Electron: there is no') &&
        error.message.includes(join(work, 'electron')),
    );
  });

  it('is downloaded only if it is missing', () => {
    const missing = { env: {}, platform: 'linux', installed: join(work, 'installed') } as const;
    const program = join(work, 'installed', 'electron');
    assert.equal(
      getElectron(missing, () => existsSync(place('installed', 'electron').program)),
      program,
    );
    assert.equal(
      getElectron(missing, () => assert.fail('it is here')),
      program,
    );
  });

  it('causes an error with advice if it cannot be downloaded', () => {
    const missing = { env: {}, platform: 'linux', installed: work } as const;
    assert.throws(() => getElectron(missing, () => false), /ELECTRON_OVERRIDE_DIST_PATH names the directory/);
  });
});
