/** Where a secret, such as the API key, is stored between two starts. */
import * as yup from 'yup';
import type { KeyKept } from '../../ipc/snapshot.ts';
import type { JsonFile, Loaded } from '../settings/app-store.ts';

/** Encryption that the operating system offers. */
export interface Encryption {
  /** whether encrypted data is safe from other users and programs that read files; asked once the app is ready */
  isReal(): Promise<boolean>;
  encrypt(text: string): Promise<Buffer>;
  /** @throws if the system no longer has the key it encrypted with */
  decrypt(bytes: Buffer): Promise<string>;
}

/** The content of the vault's file: base64 of the encrypted key, or the key itself. */
export interface KeptKey {
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

export type KeyFile = Pick<JsonFile<KeptKey | undefined>, 'load' | 'save' | 'remove' | 'setAside'>;

/** Stores one key, or another text that is secret, the way the user has asked for, and never in a weaker way. */
export class KeyVault {
  readonly #encryption: Encryption;
  readonly #file: KeyFile;

  constructor(encryption: Encryption, file: KeyFile) {
    this.#encryption = encryption;
    this.#file = file;
  }

  /** The ways in which a key can be stored here, best first. */
  async keeps(): Promise<readonly KeyKept[]> {
    return (await this.#encryption.isReal()) ? ['system', 'session', 'file'] : ['session', 'file'];
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

  /** The stored key; `undefined` if there is none, or the system cannot read it any more. */
  async load(): Promise<{ key: string; kept: KeyKept } | undefined> {
    const { value: saved } = await this.#file.load();
    if (saved === undefined) return undefined;
    try {
      return { key: await this.#read(saved), kept: saved.kept };
    } catch {
      return undefined;
    }
  }

  /**
   * What was made of the stored text. It is for what nobody can give once more: a file that cannot be read is put aside.
   *
   * @param read throws for a text that it does not understand
   * @param initial where there is none, or none that can be read
   */
  async loadAs<T>(read: (text: string) => T, initial: T): Promise<Loaded<T>> {
    const { value: saved, asideAt } = await this.#file.load();
    if (saved === undefined) return { value: initial, asideAt };
    try {
      return { value: read(await this.#read(saved)), asideAt: undefined };
    } catch {
      return { value: initial, asideAt: await this.#file.setAside() };
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
