/** The relay and the key that `culvert login` stores, in one file that only its owner can read. */
import { chmodSync, closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, posix, win32 } from 'node:path';
import * as yup from 'yup';
import { API_KEY_PATTERN } from '../../../shared/value-rules.ts';
import { parseRelayAddress, type RelayAddress } from '../relay/relay-address.ts';
import { DurableFile, hasModes, isMissing, OWNER_ONLY, CONFIG_FILE_MAX_BYTES } from './durable-file.ts';

export interface Login {
  readonly relay: RelayAddress;
  /** API key; valid only for this relay */
  readonly key: string;
  /** certificates (PEM) of authorities trusted for this relay in addition to the usual ones */
  readonly ca?: string | undefined;
}

/** Thrown for a file that exists but cannot be used. The message says what to do. */
export class StoredLoginError extends Error {}

const OTHERS = 0o077;

const schema = yup
  .object({
    relay: yup.string().required(),
    key: yup.string().matches(API_KEY_PATTERN).required(),
    ca: yup.string(),
  })
  .strict();

export class StoredLogin {
  readonly #file: DurableFile;
  readonly #warn: (text: string) => void;

  /**
   * @param folder the folder for configuration; created when something is stored
   * @param warn called with a sentence for the user
   */
  constructor(folder: string, warn: (text: string) => void) {
    this.#warn = warn;
    this.#file = new DurableFile(join(folder, 'login.json'));
  }

  get path(): string {
    return this.#file.path;
  }

  /**
   * @returns `undefined` when nobody has signed in
   * @throws StoredLoginError
   */
  read(): Login | undefined {
    let text: string | undefined;
    try {
      text = this.#readText();
    } catch (error) {
      throw this.#failure('read', error);
    }
    if (text === undefined) return undefined;
    try {
      const { relay, key, ca } = schema.validateSync(JSON.parse(text));
      return { relay: parseRelayAddress(relay), key, ...(ca === undefined ? {} : { ca }) };
    } catch (error) {
      // The cause could quote the key.
      throw new StoredLoginError(`${this.path} is damaged: run "culvert login" to create a new one.`, {
        cause: error,
      });
    }
  }

  /**
   * Stores a login, replacing the previous one.
   *
   * @throws StoredLoginError also for too many authorities to store
   */
  async write({ relay, key, ca }: Login): Promise<void> {
    const text = `${JSON.stringify({ relay: relay.origin, key, ca })}\n`;
    if (text.length > CONFIG_FILE_MAX_BYTES)
      throw new StoredLoginError(
        `${this.path} would be larger than ${CONFIG_FILE_MAX_BYTES} bytes: use a --ca file that contains only the certificate of the relay's certificate authority.`,
      );
    try {
      await this.#file.write(text);
    } catch (error) {
      throw this.#failure('written', error);
    }
  }

  /** @returns whether a login was stored @throws StoredLoginError */
  async remove(): Promise<boolean> {
    try {
      return await this.#file.remove();
    } catch (error) {
      throw this.#failure('removed', error);
    }
  }

  #failure(what: 'read' | 'written' | 'removed', cause: unknown): StoredLoginError {
    const { code, message } = cause as NodeJS.ErrnoException;
    const folder = dirname(this.path);
    const why =
      code === 'EACCES' || code === 'EPERM'
        ? ` by this user, for example because "sudo culvert login" created it. Run: sudo chown -R "$USER" '${folder}'`
        : ` (${message}).`;
    return new StoredLoginError(`${this.path} cannot be ${what}${why}`, { cause });
  }

  #readText(): string | undefined {
    let file: number;
    try {
      file = openSync(this.path, 'r');
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    try {
      const { mode, size } = fstatSync(file);
      if (size > CONFIG_FILE_MAX_BYTES) throw new Error(`it is larger than ${CONFIG_FILE_MAX_BYTES} bytes`);
      if (hasModes && (mode & OTHERS) !== 0) this.#close();
      return readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  }

  /** Other users could read the key. */
  #close(): void {
    try {
      chmodSync(this.path, OWNER_ONLY);
    } catch {
      this.#warn(
        `Other users of this machine can read the API key in ${this.path}. Only its owner can change that.`,
      );
      return;
    }
    this.#warn(
      `Until now, other users of this machine could read ${this.path}. ` +
        'If someone may have read it, revoke the key in it and sign in with a new one.',
    );
  }
}

/* Where `culvert` stores the user's files. */

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** the user's home folder */
  readonly home: string;
}

/** The folder for configuration: XDG's on Linux, Application Support on macOS, %APPDATA% on Windows. */
export function configFolder({ platform, env, home }: Machine): string {
  if (platform === 'win32') {
    return win32.join(env['APPDATA'] || win32.join(home, 'AppData', 'Roaming'), 'Culvert');
  }
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support', 'Culvert');
  // A relative path must be ignored (XDG Base Directory Specification).
  const base = env['XDG_CONFIG_HOME'] ?? '';
  return posix.join(posix.isAbsolute(base) ? base : posix.join(home, '.config'), 'culvert');
}

/** The folder of the app's files, which Electron names after the product. */
export function appDataFolder(machine: Machine): string {
  const folder = configFolder(machine);
  return machine.platform === 'linux' ? join(dirname(folder), 'Culvert') : folder;
}
