/** Locks as the app offers them, and `access` as the relay has it (docs/protocol.md section 11). */
import * as yup from 'yup';
import { type Access, type AccessView, OPEN } from '../../../../shared/access.ts';
import type { KeyKept } from '../../ipc/snapshot.ts';
import type { TunnelAccess, AccessPart, TunnelAccessView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';
import { CallFailure } from '../failure.ts';

/** What is asked of the relay for a lock. */
export function accessOf(lock: TunnelAccess): Access {
  switch (lock.kind) {
    case 'anyone':
      return OPEN;
    case 'password':
      return { ...OPEN, password: lock.password };
    case 'links':
      return { ...OPEN, links: true };
    case 'addresses':
      return { ...OPEN, allow: lock.allow };
    case 'knock':
      return { ...OPEN, knock: true };
  }
}

/** Access as the relay would show it. */
export function shownAccess({ allow, basic, password, links, knock }: Access): AccessView {
  return {
    ...(allow.length > 0 ? { allow } : {}),
    ...(basic.length > 0 ? { basic: basic.map(({ user }) => user) } : {}),
    ...(password === undefined ? {} : { password: true }),
    ...(links ? { links } : {}),
    ...(knock ? { knock } : {}),
  };
}

/** The password of a lock that has one. */
export function passwordOf(lock: TunnelAccess): string | undefined {
  return lock.kind === 'password' ? lock.password : undefined;
}

/**
 * What a tunnel asks of its visitors.
 *
 * @param password the one that was set here, if any
 */
export function accessView(access: AccessView, password: string | undefined): TunnelAccessView {
  const parts = partsOf(access);
  const [kind = 'anyone'] = parts;
  if (parts.length > 1 || kind === 'users')
    return { kind: 'other', parts, password: access.password === true ? password : undefined };
  switch (kind) {
    case 'addresses':
      return { kind, allow: access.allow ?? [] };
    case 'password':
      return { kind, password };
    case 'anyone':
    case 'links':
    case 'knock':
      return { kind };
  }
}

/**
 * What is asked of the relay when a tunnel that had this `access` is started again: never less than before.
 *
 * @param password the one that was set here, or another one in place of one that nobody here knows
 * @throws CallFailure if it has users, whose passwords the relay does not show
 */
export function accessAgain(access: AccessView, password: () => string): Access {
  if (access.basic !== undefined) {
    throw new CallFailure({
      code: 'lock-unknown',
      text: t('problem.usersElsewhere'),
    });
  }
  return {
    allow: access.allow ?? [],
    basic: [],
    password: access.password === true ? password() : undefined,
    links: access.links === true,
    knock: access.knock === true,
  };
}

function partsOf({ allow, basic, password, links, knock }: AccessView): AccessPart[] {
  const parts: AccessPart[] = [];
  if (allow !== undefined) parts.push('addresses');
  if (basic !== undefined) parts.push('users');
  if (password === true) parts.push('password');
  if (links === true) parts.push('links');
  if (knock === true) parts.push('knock');
  return parts;
}

/* The passwords of this app's tunnels, which the relay shows to nobody: kept the way the API key is. */

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
