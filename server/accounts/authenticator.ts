/** Whose request it is: the `Authorization` field to a key and its account (spec.md section 5; contract.md, REST). */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { API_KEY_PATTERN } from '../../shared/tunnel.ts';
import { type KeyOwner, orUnavailable, type Store } from '../store/store.ts';
import { hashKey, sameHash } from './api-key.ts';

/** The scheme in any case, one or more spaces, the key (RFC 9110 section 11.4). */
const BEARER = /^bearer +(\S.*)$/i;
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

export class Authenticator {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * The store is asked each time, so that a key is worth nothing from the moment it is revoked.
   *
   * @param authorization value of the `Authorization` field
   * @throws ApiError 401 for a missing or unknown key, 503 when the store cannot tell
   */
  async authenticate(authorization: string | undefined): Promise<KeyOwner> {
    const hash = this.hashOf(authorization);
    // Found by its hash: how long that takes depends on bits that nobody can choose, not on how much of a key is right.
    const owner = await orUnavailable(this.#store.findKeyOwner(hash));
    if (owner === undefined || !sameHash(owner.hash, hash)) {
      throw new ApiError(API_ERRORS.invalidKey, CHALLENGE);
    }
    return owner;
  }

  /**
   * The hash of the key that is presented, which may be anybody's or nobody's.
   *
   * @param authorization value of the `Authorization` field
   * @throws ApiError 401 for a missing or malformed key
   */
  hashOf(authorization: string | undefined): string {
    const key = BEARER.exec(authorization?.trim() ?? '')?.[1];
    if (key === undefined) throw new ApiError(API_ERRORS.missingKey, CHALLENGE);
    // A malformed key never reaches the store.
    if (!API_KEY_PATTERN.test(key)) throw new ApiError(API_ERRORS.invalidKey, CHALLENGE);
    return hashKey(key);
  }
}
