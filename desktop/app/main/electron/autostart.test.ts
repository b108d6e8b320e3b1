import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, LoginItemSettings, Settings } from 'electron';
import { isStartedAtLogin, loginItem, xdgAutostart } from './autostart.ts';
import { temporaryDirectory } from '../../../testing/temporary-directory.ts';

describe('loginItem', () => {
  it('starts hidden', async () => {
    const { app, seen } = system();
    await loginItem(app).set(true);
    assert.deepEqual(seen, [{ openAtLogin: true, args: ['--hidden'] }]);
  });

  it('reports what the system will do, not what was set', async () => {
    assert.equal(await loginItem(system({ openAtLogin: true }).app).isOn(), true);
    assert.equal(await loginItem(system({ openAtLogin: false }).app).isOn(), false);
    const switchedOff = { openAtLogin: true, executableWillLaunchAtLogin: false };
    assert.equal(await loginItem(system(switchedOff).app).isOn(), false);
  });
});

describe('isStartedAtLogin', () => {
  it('depends on the argument, and on macOS on what the system reports', () => {
    const atLogin = system({ wasOpenedAtLogin: true }).app;
    assert.equal(isStartedAtLogin(atLogin, 'darwin', ['culvert']), true);
    assert.equal(isStartedAtLogin(atLogin, 'linux', ['culvert']), false);
    assert.equal(isStartedAtLogin(system().app, 'linux', ['culvert', '--hidden']), true);
    assert.equal(isStartedAtLogin(system({ wasOpenedAtLogin: false }).app, 'darwin', ['culvert']), false);
  });
});

describe('xdgAutostart', () => {
  it('writes an entry that starts the app hidden, and removes it', async () => {
    const directory = temporaryDirectory();
    const autostart = xdgAutostart(directory, '/opt/My "Apps"/50%/culvert$');
    const path = join(directory, 'autostart/culvert.desktop');
    assert.equal(await autostart.isOn(), false);
    await autostart.set(true);
    assert.equal(await autostart.isOn(), true);
    assert.match(
      readFileSync(path, 'utf8'),
      /^Exec="\/opt\/My \\\\"Apps\\\\"\/50%%\/culvert\\\\\$" --hidden$/m,
    );
    const entry = readFileSync(path, 'utf8');
    writeFileSync(path, entry.replace('X-GNOME-Autostart-enabled=true', 'X-GNOME-Autostart-enabled=false'));
    assert.equal(await autostart.isOn(), false, 'switched off by the desktop');
    await autostart.set(false);
    await autostart.set(false);
    assert.equal(existsSync(path), false);
  });
});

function system(says: Partial<LoginItemSettings> = {}) {
  const seen: (Settings | undefined)[] = [];
  const app = {
    getLoginItemSettings: () => says as LoginItemSettings,
    setLoginItemSettings: (settings) => void seen.push(settings),
  } satisfies Pick<App, 'getLoginItemSettings' | 'setLoginItemSettings'>;
  return { app, seen };
}
