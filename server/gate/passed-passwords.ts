/** Credentials that were found to be right lately: a hash takes 50 ms, and a browser sends them with every request. */
import { hash, randomBytes } from 'node:crypto';
import { PASSED_PASSWORDS_MAX } from '../limits.ts';
import type { Credentials } from './credentials.ts';

export class PassedPasswords {
  /** of this process: what is remembered says nothing about passwords to whoever reads it elsewhere */
  readonly #key = randomBytes(32).toString('base64url');
  /** oldest first */
  readonly #known = new Set<string>();

  /** @param version of the `access` that they were right for */
  add(version: string, credentials: Credentials): void {
    for (const oldest of this.#known) {
      if (this.#known.size < PASSED_PASSWORDS_MAX) break;
      this.#known.delete(oldest);
    }
    this.#known.add(this.#digest(version, credentials));
  }

  has(version: string, credentials: Credentials): boolean {
    return this.#known.size > 0 && this.#known.has(this.#digest(version, credentials));
  }

  #digest(version: string, { user, password }: Credentials): string {
    return hash('sha256', JSON.stringify([this.#key, version, user, password]), 'base64url');
  }
}
