import assert from 'node:assert/strict';
import type { SafeStorage } from 'electron';
import { systemEncryption } from './platform.ts';

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
