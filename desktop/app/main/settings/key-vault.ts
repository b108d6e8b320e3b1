/** Stores secrets, such as the API key, between two starts. */
import * as yup from 'yup';
import type { KeyKept } from '../../ipc/snapshot.ts';
import type { Platform } from '../platform.ts';
import type { TunnelPasswords } from '../tunnels/access.ts';
import type { ValueFile } from './app-store.ts';

/** The content of the vault's file: base64 of the encrypted key, or the key itself. */
interface KeptKey {
  readonly kept: 'system' | 'file';
  readonly value: string;
}

export const KEY_FILE_VERSION = 1;

const keptKey = yup
  .object({
    kept: yup
      .string()
      .oneOf(['system', 'file'] as const)
      .required(),
    value: yup.string().required(),
  })
  .strict();

/** @throws for what no vault has written */
export function readKeptKey(value: unknown): KeptKey {
  return keptKey.validateSync(value);
}

export type KeyFile = ValueFile<KeptKey | undefined>;

/** Available ways of storing a key, best first. */
export async function keepsOf(encryption: Platform['encryption']): Promise<readonly KeyKept[]> {
  return (await encryption.isReal()) ? ['system', 'session', 'file'] : ['session', 'file'];
}

/** Stores one key or another secret text the way the user has asked for, and never in a weaker way. */
export class KeyVault {
  readonly #encryption: Platform['encryption'];
  readonly #file: KeyFile;

  constructor(encryption: Platform['encryption'], file: KeyFile) {
    this.#encryption = encryption;
    this.#file = file;
  }

  /** see {@link keepsOf} */
  keeps(): Promise<readonly KeyKept[]> {
    return keepsOf(this.#encryption);
  }

  /**
   * @param wish how to store it; `system` becomes `session` if the system has no encryption
   * @returns how it is stored
   */
  async keep(key: string, wish: KeyKept): Promise<KeyKept> {
    if (wish === 'file') {
      await this.#file.save({ kept: 'file', value: key });
      return 'file';
    }
    if (wish === 'system' && (await this.#encryption.isReal())) {
      const value = (await this.#encryption.encrypt(key)).toString('base64');
      await this.#file.save({ kept: 'system', value });
      return 'system';
    }
    await this.#file.remove();
    return 'session';
  }

  /** The stored key; `undefined` if there is none or the system can no longer read it. */
  async load(): Promise<{ key: string; kept: KeyKept } | undefined> {
    const { value: saved } = await this.#file.load();
    if (saved === undefined) return undefined;
    try {
      return { key: await this.#read(saved), kept: saved.kept };
    } catch {
      return undefined;
    }
  }

  forget(): Promise<void> {
    return this.#file.remove();
  }

  /** @throws if the system no longer has the key it encrypted with */
  async #read({ kept, value }: KeptKey): Promise<string> {
    return kept === 'file' ? value : this.#encryption.decrypt(Buffer.from(value, 'base64'));
  }
}

/* The passwords of this app's tunnels, which the relay never reveals. They are stored the way the API key is. */

const passwordsSchema = yup.array(yup.array(yup.string().required()).length(2).required()).required();

export class PasswordStore {
  readonly #vault: Pick<KeyVault, 'load' | 'keep' | 'forget'>;
  #kept: KeyKept;
  /** the stored data, as text */
  #text: string;

  private constructor(vault: Pick<KeyVault, 'load' | 'keep' | 'forget'>, kept: KeyKept, text: string) {
    this.#vault = vault;
    this.#kept = kept;
    this.#text = text;
  }

  /** @returns the store with its passwords; without those that cannot be read */
  static async open(
    vault: Pick<KeyVault, 'load' | 'keep' | 'forget'>,
  ): Promise<{ store: PasswordStore; passwords: TunnelPasswords }> {
    const saved = await vault.load();
    const passwords = read(saved?.key ?? '[]');
    return { store: new PasswordStore(vault, saved?.kept ?? 'session', write(passwords)), passwords };
  }

  /**
   * Stores exactly these; resolves when they are on disk.
   *
   * @param wish where to store the API key; `undefined` while signed out, for no change
   */
  async keep(passwords: TunnelPasswords, wish: KeyKept | undefined): Promise<void> {
    const kept = wish ?? this.#kept;
    const text = write(passwords);
    if (text === this.#text && kept === this.#kept) return;
    if (passwords.size === 0) await this.#vault.forget();
    else await this.#vault.keep(text, kept);
    this.#kept = kept;
    this.#text = text;
  }
}

function read(text: string): TunnelPasswords {
  try {
    return new Map(passwordsSchema.validateSync(JSON.parse(text)) as [string, string][]);
  } catch {
    return new Map();
  }
}

function write(passwords: TunnelPasswords): string {
  return JSON.stringify([...passwords]);
}
