/** Credentials that were found to be right lately: a hash takes 50 ms, and a browser sends them with every request. */
import { hash, randomBytes } from 'node:crypto';
import { PASSED_PASSWORDS_MAX } from '../limits.ts';
import { TenantCache } from '../tenant-cache.ts';
import type { Credentials } from './credentials.ts';

export class PassedPasswords {
  /** of this process: what is remembered says nothing about passwords to whoever reads it elsewhere */
  readonly #key = randomBytes(32).toString('base64url');
  readonly #known = new TenantCache<true>(PASSED_PASSWORDS_MAX);

  /**
   * @param account whose tunnel it is
   * @param version of the `access` that they were right for
   */
  add(account: string, version: string, credentials: Credentials): void {
    this.#known.set(account, this.#digest(version, credentials), true);
  }

  has(version: string, credentials: Credentials): boolean {
    return this.#known.size > 0 && this.#known.get(this.#digest(version, credentials)) === true;
  }

  #digest(version: string, { user, password }: Credentials): string {
    return hash('sha256', JSON.stringify([this.#key, version, user, password]), 'base64url');
  }
}
