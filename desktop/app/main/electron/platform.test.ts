import assert from 'node:assert/strict';
import type { App, LoginItemSettings, SafeStorage, Settings } from 'electron';
import { isStartedAtLogin, loginItem, systemEncryption } from './platform.ts';

const storage = (isAvailable: boolean, backend: ReturnType<SafeStorage['getSelectedStorageBackend']>) =>
  ({
    isAsyncEncryptionAvailable: () => Promise.resolve(isAvailable),
    encryptStringAsync: (text) => Promise.resolve(Buffer.from(text)),
    decryptStringAsync: (bytes) => Promise.resolve({ shouldReEncrypt: false, result: bytes.toString() }),
    getSelectedStorageBackend: () => backend,
  }) satisfies Parameters<typeof systemEncryption>[0];

describe('systemEncryption', () => {
  const cases: [string, boolean, NodeJS.Platform, boolean, 'basic_text' | 'unknown' | 'kwallet6'][] = [
    ['is real with a wallet', true, 'linux', true, 'kwallet6'],
    ['does not count if everybody knows the key', false, 'linux', true, 'basic_text'],
    ['does not count if nobody knows what provides it', false, 'linux', true, 'unknown'],
    ['does not count if there is none', false, 'linux', false, 'kwallet6'],
    ['is real on macOS', true, 'darwin', true, 'unknown'],
    ['does not count on Windows if it is not available', false, 'win32', false, 'unknown'],
  ];
  for (const [title, isReal, platform, isAvailable, backend] of cases) {
    it(title, async () => {
      assert.equal(await systemEncryption(storage(isAvailable, backend), platform).isReal(), isReal);
    });
  }

  it('reads what it wrote', async () => {
    const encryption = systemEncryption(storage(true, 'kwallet6'), 'linux');
    assert.equal(await encryption.decrypt(await encryption.encrypt('key')), 'key');
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
