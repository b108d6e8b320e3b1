import assert from 'node:assert/strict';
import type { App, LoginItemSettings, Settings } from 'electron';
import { isStartedAtLogin, loginItem } from './login-item.ts';

function system(says: Partial<LoginItemSettings> = {}) {
  const seen: (Settings | undefined)[] = [];
  const app = {
    getLoginItemSettings: () => says as LoginItemSettings,
    setLoginItemSettings: (settings) => void seen.push(settings),
  } satisfies Pick<App, 'getLoginItemSettings' | 'setLoginItemSettings'>;
  return { app, seen };
}

describe('loginItem', () => {
  it('starts hidden', async () => {
    const { app, seen } = system();
    await loginItem(app).set(true);
    assert.deepEqual(seen, [{ openAtLogin: true, args: ['--hidden'] }]);
  });

  it('says what the system will do, not what it was asked for', async () => {
    assert.equal(await loginItem(system({ openAtLogin: true }).app).isOn(), true);
    assert.equal(await loginItem(system({ openAtLogin: false }).app).isOn(), false);
    const switchedOff = { openAtLogin: true, executableWillLaunchAtLogin: false };
    assert.equal(await loginItem(system(switchedOff).app).isOn(), false);
  });
});

describe('isStartedAtLogin', () => {
  it('goes by the argument, and on macOS by what the system says', () => {
    const atLogin = system({ wasOpenedAtLogin: true }).app;
    assert.equal(isStartedAtLogin(atLogin, 'darwin', ['culvert']), true);
    assert.equal(isStartedAtLogin(atLogin, 'linux', ['culvert']), false);
    assert.equal(isStartedAtLogin(system().app, 'linux', ['culvert', '--hidden']), true);
    assert.equal(isStartedAtLogin(system({ wasOpenedAtLogin: false }).app, 'darwin', ['culvert']), false);
  });
});
