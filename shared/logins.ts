/** Keys for people who sign in at the relay's identity provider, as both ends know them (protocol.md section 13.1). */
import { ADDRESS, COUNT, described, object, TEXT, type TypeOf } from './fields.ts';

/** What `POST /v1/logins` returns. */
export const LOGIN = object(
  {
    url: described(ADDRESS, 'page where the person signs in and approves'),
    provider: described(TEXT, 'name of the identity provider'),
    expires_in: described(COUNT, 'seconds that the person has to approve'),
  },
  'Login',
);
export type Login = TypeOf<typeof LOGIN>;

/** SHA-256 in hex of the token that only the program knows. */
export const LOGIN_DIGEST = /^[\da-f]{64}$/;

/** Neither vowels nor letters that look like another: no code is a word, and each can be read aloud. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';

/**
 * The code that the program and the page show, so that a person can tell that they belong together: `BDWP-HQPK`.
 *
 * @param digest see {@link LOGIN_DIGEST}
 */
export function loginCode(digest: string): string {
  const letters = (digest.slice(0, 16).match(/../g) ?? []).map((byte) =>
    LETTERS.charAt(Number.parseInt(byte, 16) % LETTERS.length),
  );
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`;
}
