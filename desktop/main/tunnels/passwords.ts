/** The passwords of this app's tunnels, which the relay shows to nobody: kept the way the API key is. */
import * as yup from 'yup';
import type { KeyKept } from '../../shared/snapshot.ts';

const passwordsSchema = yup.array(yup.array(yup.string().required()).length(2).required()).required();

/** Where one text that is secret is kept between two starts. */
export interface SecretVault {
  load(): Promise<{ readonly key: string; readonly kept: KeyKept } | undefined>;
  /** @returns how it is kept */
  keep(text: string, wish: KeyKept): Promise<KeyKept>;
  forget(): Promise<void>;
}

/** By key of the tunnel. */
export type TunnelPasswords = ReadonlyMap<string, string>;

export class PasswordStore {
  readonly #vault: SecretVault;
  #kept: KeyKept;
  /** what is stored, as text */
  #text: string;

  private constructor(vault: SecretVault, kept: KeyKept, text: string) {
    this.#vault = vault;
    this.#kept = kept;
    this.#text = text;
  }

  /** @returns the store, and what it has kept; nothing of what cannot be read */
  static async open(vault: SecretVault): Promise<{ store: PasswordStore; passwords: TunnelPasswords }> {
    const saved = await vault.load();
    const passwords = read(saved?.key ?? '[]');
    return { store: new PasswordStore(vault, saved?.kept ?? 'session', write(passwords)), passwords };
  }

  /**
   * Keeps these and no others; resolves when they are on disk.
   *
   * @param wish where the API key is kept now; `undefined` while nobody is signed in, which changes nothing about it
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
