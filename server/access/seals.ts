/**
 * Sealed values: what the relay needs to know later, kept by the browser meanwhile. Nobody else can read, make or
 * change one, so every relay of a cluster accepts them and none has to remember them.
 */
import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import type { PassKeys } from './passes.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** What an opened value says. */
export interface Opened {
  readonly content: unknown;
  /** Whether it has ended. */
  readonly isLate: boolean;
}

export class Seals {
  readonly #keys: () => PassKeys;
  /** wall time in ms */
  readonly #now: () => number;

  constructor(keys: () => PassKeys, now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /**
   * @param purpose a value sealed for another one does not open
   * @param content anything that JSON can express
   * @returns a value for addresses and cookies, which needs no encoding
   */
  seal(purpose: string, content: unknown, seconds: number): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, keyOf(this.#keys().current), iv).setAAD(Buffer.from(purpose));
    const text = JSON.stringify([this.#now() + seconds * 1000, content]);
    const body = Buffer.concat([cipher.update(text), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64url');
  }

  /** @returns `undefined` for a value that this relay's keys have not sealed for the purpose */
  open(purpose: string, value: string): Opened | undefined {
    const bytes = Buffer.from(value, 'base64url');
    if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
    const { current, others } = this.#keys();
    for (const key of [current, ...others]) {
      const text = decrypted(bytes, keyOf(key), purpose);
      if (text === undefined) continue;
      const [end, content] = JSON.parse(text) as [number, unknown];
      return { content, isLate: end <= this.#now() };
    }
    return undefined;
  }
}

function keyOf(key: string): Buffer {
  return hash('sha256', `seal ${key}`, 'buffer');
}

function decrypted(bytes: Buffer, key: Buffer, purpose: string): string | undefined {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(purpose))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}

/** A digest of a secret, for places that may be read. */
export function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}
