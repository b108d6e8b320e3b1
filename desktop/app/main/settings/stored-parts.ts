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

/** Secrets of one sign-in, in files of their own. */
export interface StoredSecrets {
  /** the API key */
  readonly vault: KeyVault;
  readonly passwordStore: PasswordStore;
  /** of the stored tunnels */
  readonly passwords: TunnelPasswords;
  /** secrets of webhooks */
  readonly secretsVault: KeyVault;
}

/** @param slot of the sign-in. @throws if the files cannot be read at all */
export async function openSecrets(platform: Platform, slot: number): Promise<StoredSecrets> {
  const suffix = slot === 0 ? '' : `-${slot}`;
  const { store: passwordStore, passwords } = await PasswordStore.open(
    await openVault(platform, `passwords${suffix}.json`),
  );
  return {
    vault: new KeyVault(platform.encryption, secretFile(platform, `key${suffix}.json`)),
    passwordStore,
    passwords,
    secretsVault: await openVault(platform, `signing-secrets${suffix}.json`),
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

/** @throws if the app's own file cannot be read at all */
export async function openStore(platform: Platform): Promise<AppStore> {
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
