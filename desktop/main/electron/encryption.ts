import type { SafeStorage } from 'electron';
import type { Encryption } from '../session/key-vault.ts';

/**
 * The key store of the operating system. On Linux without one, Electron encrypts with a key that everybody knows
 * (`basic_text`), which does not count as encryption.
 */
export function systemEncryption(
  safeStorage: Pick<
    SafeStorage,
    'isAsyncEncryptionAvailable' | 'encryptStringAsync' | 'decryptStringAsync' | 'getSelectedStorageBackend'
  >,
  platform: NodeJS.Platform,
): Encryption {
  return {
    async isReal() {
      if (!(await safeStorage.isAsyncEncryptionAvailable())) return false;
      if (platform !== 'linux') return true;
      const backend = safeStorage.getSelectedStorageBackend();
      return backend !== 'basic_text' && backend !== 'unknown';
    },
    encrypt: (text) => safeStorage.encryptStringAsync(text),
    async decrypt(bytes) {
      return (await safeStorage.decryptStringAsync(bytes)).result;
    },
  };
}
