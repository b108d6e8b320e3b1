/** Who may come into a tunnel, as the REST interface has it (docs/protocol.md section 11). */

/** @limit Addresses and networks in `allow`. */
export const ALLOW_MAX = 64;
/** @limit Users in `basic`. */
export const BASIC_USERS_MAX = 16;
/** @limit Characters of a user's name. */
export const USER_MAX_LENGTH = 64;
/** @limit Characters of a password: fewer are guessed within the tries that an address has. */
export const PASSWORD_MIN_LENGTH = 4;
/** @limit Characters of a password: the upper bound keeps hashing cheap. */
export const PASSWORD_MAX_LENGTH = 128;

export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** What an owner gives: a field that is missing, empty or `false` asks nothing of visitors. */
export interface Access {
  /** addresses and networks, `192.0.2.7` or `10.0.0.0/8`; `[]` for any */
  readonly allow: readonly string[];
  readonly basic: readonly BasicCredentials[];
  readonly password: string | undefined;
  readonly links: boolean;
  readonly knock: boolean;
}

/** The same as the tunnel object shows it: without secrets, and only what is set. */
export interface AccessView {
  allow?: readonly string[];
  /** their names */
  basic?: readonly string[];
  password?: true;
  links?: true;
  knock?: true;
}

/** A tunnel that is open to everybody. */
export const OPEN: Access = { allow: [], basic: [], password: undefined, links: false, knock: false };
