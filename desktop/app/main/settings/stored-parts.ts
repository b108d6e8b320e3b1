/** Opens what the app remembers: in files of its own, or in memory for the window of a command. */
import { join } from 'node:path';
import { t } from '../../messages/translate.ts';
import type { Platform } from '../platform.ts';
import type { TunnelPasswords } from '../tunnels/access.ts';
import {
  APP_DATA_VERSION,
  AppStore,
  INITIAL_APP_DATA,
  JsonFile,
  type JsonFileOptions,
  MemoryFile,
  readAppData,
  type ValueFile,
} from './app-store.ts';
import { KEY_FILE_VERSION, type KeyFile, KeyVault, PasswordStore, readKeptKey } from './key-vault.ts';

export interface StoredParts {
  readonly store: AppStore;
  /** the API key */
  readonly vault: KeyVault;
  readonly passwordStore: PasswordStore;
  /** of the stored tunnels */
  readonly passwords: TunnelPasswords;
  /** secrets of webhooks */
  readonly secretsVault: KeyVault;
}

/** @throws if the app's own files cannot be read at all */
export async function openStoredParts(platform: Platform): Promise<StoredParts> {
  const store = await openStore(platform);
  const { store: passwordStore, passwords } = await PasswordStore.open(
    await openVault(platform, 'passwords.json'),
  );
  return {
    store,
    vault: new KeyVault(platform.encryption, secretFile(platform, 'key.json')),
    passwordStore,
    passwords,
    secretsVault: await openVault(platform, 'signing-secrets.json'),
  };
}

/** A file of its own for a secret. */
function secretFile(platform: Platform, name: string): KeyFile {
  return fileOf(platform, name, { version: KEY_FILE_VERSION, read: readKeptKey, initial: undefined });
}

function fileOf<T>(
  { dataDirectory }: Platform,
  name: string,
  options: Omit<JsonFileOptions<T>, 'path'>,
): ValueFile<T> {
  if (dataDirectory === undefined) return new MemoryFile(options.initial);
  return new JsonFile({ path: join(dataDirectory, name), ...options });
}

/**
 * Secrets that only the system's key store can decrypt stay where they are while this process cannot use it, as in a
 * browser: it keeps its own beside them. The API key is different, because signing in replaces it.
 */
async function openVault(platform: Platform, name: string): Promise<KeyVault> {
  const { encryption } = platform;
  const file = secretFile(platform, name);
  if (await encryption.isReal()) return new KeyVault(encryption, file);
  const { value } = await file.load();
  return new KeyVault(encryption, value?.kept === 'system' ? secretFile(platform, `plain-${name}`) : file);
}

async function openStore(platform: Platform): Promise<AppStore> {
  const file = fileOf(platform, 'culvert.json', {
    version: APP_DATA_VERSION,
    read: readAppData,
    initial: INITIAL_APP_DATA,
  });
  const { value, asideAt } = await file.load();
  if (asideAt !== undefined) {
    platform.tell({
      code: 'settings-bad',
      text: t('session.settingsUnreadable', { path: asideAt }),
    });
  }
  return new AppStore(file, value);
}
