import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, LoginItemSettings, SafeStorage, Settings } from 'electron';
import { toMessage } from '../../../client/messages.ts';
import { temporaryDirectory } from '../../../../shared/testing/temporary-directory.ts';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { askInDialog, isStartedAtLogin, loginItem, systemEncryption, xdgAutostart } from './platform.ts';

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

const QUESTION = toMessage('question.open', { port: 3000, access: toMessage('question.anyone') });

function answer(response: number, ended = new AbortController().signal): Promise<boolean | undefined> {
  const dialog = { showMessageBox: () => Promise.resolve({ response, checkboxChecked: false }) };
  return askInDialog(dialog)(QUESTION, ended);
}

describe('askInDialog', () => {
  it('agrees only by its button, and only in time', async () => {
    const answers = await Promise.all([answer(0), answer(1), answer(2), answer(1, AbortSignal.abort())]);
    assert.deepEqual(answers, [false, true, false, false]);
  });

  it('asks in the language of its user', async () => {
    const details: (string | undefined)[] = [];
    const dialog: Parameters<typeof askInDialog>[0] = {
      showMessageBox: (...given: unknown[]) => {
        details.push((given.at(-1) as { detail?: string }).detail);
        return Promise.resolve({ response: 0, checkboxChecked: false });
      },
    };
    const ask = askInDialog(dialog);
    await ask(QUESTION, new AbortController().signal);
    setLocale({ language: 'de', tag: 'de-DE' });
    try {
      await ask(QUESTION, new AbortController().signal);
    } finally {
      setLocale(DEFAULT_LOCALE);
    }
    assert.deepEqual(details, [
      'open a tunnel to port 3000, open to anyone',
      'einen Tunnel zu Port 3000 öffnen, offen für alle',
    ]);
  });
});
