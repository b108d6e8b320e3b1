import * as yup from 'yup';
import { API_ERRORS, ApiError, type ErrorValues, withValues } from './errors.ts';
import { described, type Field, listOf, MARK, object, optional, TEXT, TIME, type TypeOf } from './fields.ts';
import { parseNetwork } from './networks.ts';
import { hasUnprintable } from './unprintable.ts';
import type { ValueRule } from './value-rules.ts';

/** The access policy of a tunnel in the REST interface (protocol.md section 11). */

/**
 * Maximum number of addresses and networks in a tunnel's `allow` list.
 * @limit owner: Addresses and networks in `--allow` | 400 `invalid-access`
 */
export const ALLOW_MAX = 64;
/**
 * Maximum number of users in a tunnel's `basic` list.
 * @limit owner: Users of HTTP Basic | 400 `invalid-access`
 */
export const BASIC_USERS_MAX = 16;
/** Maximum length of a user name in `basic`. */
export const USER_MAX_LENGTH = 64;
/** Minimum length of a password in `basic`: shorter ones are guessed within the tries that an address has. */
export const PASSWORD_MIN_LENGTH = 4;
/** Maximum length of a password in `basic`: the upper bound keeps hashing cheap. */
export const PASSWORD_MAX_LENGTH = 128;

/**
 * Maximum number of tokens of a tunnel.
 * @limit owner: Tokens of a tunnel | 400 `invalid-access`
 */
export const TOKENS_MAX = 16;
/** Maximum length of a token's name. */
export const TOKEN_NAME_MAX_LENGTH = 32;
/** Minimum length of a token that the owner chooses: tokens are stored with a fast hash. */
export const TOKEN_MIN_LENGTH = 24;
/** Maximum length of a token. */
export const TOKEN_MAX_LENGTH = 256;
/** Maximum number of rules in a tunnel's `sign_in`. */
export const SIGN_IN_MAX = 32;
/** Maximum length of an e-mail address in a rule of `sign_in`. */
export const EMAIL_MAX_LENGTH = 254;
/** Maximum length of the name of a group in a rule of `sign_in`. */
export const GROUP_MAX_LENGTH = 128;
/** Prefix of the tokens that a relay makes. */
export const TOKEN_PREFIX = 'cvp_';

export interface BasicCredentials {
  readonly user: string;
  readonly password: string;
}

/** A secret that programs send as `Authorization: Bearer`. */
export interface AccessToken {
  readonly name: string;
  /** `undefined`: the tunnel's own token of that name, or a new one */
  readonly token: string | undefined;
}

/** What an owner sets. A field that is missing, empty or `false` asks nothing of visitors. */
export interface Access {
  /** addresses and networks, `192.0.2.7` or `10.0.0.0/8`; `[]` for any */
  readonly allow: readonly string[];
  readonly basic: readonly BasicCredentials[];
  readonly password: string | undefined;
  readonly links: boolean;
  readonly knock: boolean;
  readonly tokens: readonly AccessToken[];
  /** who may sign in at the relay's identity provider: `ann@example.com`, `*@example.com`, `group:NAME` or `*` */
  readonly sign_in: readonly string[];
  /** Whether agents (MCP clients) may be admitted by OAuth. */
  readonly oauth: boolean;
}

/** The same as the tunnel object shows it: without secrets, and only what is set. */
export const ACCESS_VIEW = described(
  object(
    {
      allow: optional(atMost(ALLOW_MAX, TEXT)),
      basic: optional(described(atMost(BASIC_USERS_MAX, TEXT), 'names of the users')),
      password: MARK,
      links: MARK,
      knock: MARK,
      tokens: optional(
        atMost(
          TOKENS_MAX,
          object(
            {
              name: TEXT,
              token: optional(
                described(TEXT, 'only in the response to the request for which the relay made it'),
              ),
              last_used_at: optional(TIME),
            },
            'TunnelToken',
          ),
        ),
      ),
      sign_in: optional(described(atMost(SIGN_IN_MAX, TEXT), 'who may sign in, as it was given')),
      oauth: MARK,
    },
    'TunnelAccess',
  ),
  'an empty object if the tunnel is open to anyone',
);
export type AccessView = TypeOf<typeof ACCESS_VIEW>;

/** @param max how many a client accepts */
function atMost<Item>(max: number, item: Field<Item>): Field<readonly Item[]> {
  return { ...listOf(item), accepts: yup.array(item.accepts).max(max).required() };
}

/** A tunnel that is open to anyone. */
export const OPEN: Access = {
  allow: [],
  basic: [],
  password: undefined,
  links: false,
  knock: false,
  tokens: [],
  sign_in: [],
  oauth: false,
};

/* What the values of a tunnel's `access` may be, wherever they come from (protocol.md section 11.1). */

/** RFC 7617 section 2: control characters are in neither, and a colon ends the user. Half a character is not text. */
const USER = /^[^\p{Cc}\p{Cs}:]+$/u;
const PASSWORD = /^[^\p{Cc}\p{Cs}]+$/u;

const TOKEN_NAME = new RegExp(`^[a-z\\d-]{1,${TOKEN_NAME_MAX_LENGTH}}$`);
const TOKEN = new RegExp(`^[!-~]{${TOKEN_MIN_LENGTH},${TOKEN_MAX_LENGTH}}$`);

/** One of `allow`. */
export const NETWORK_RULE: ValueRule = {
  code: 'network',
  accepts: (value) => typeof value === 'string' && parseNetwork(value) !== undefined,
  accepted: 'an address or a range, such as 192.0.2.7 or 10.0.0.0/8',
};

/** A user of `basic`. */
export const USER_RULE: ValueRule = {
  code: 'user',
  // Clients accept no text from a relay that could move a cursor, or hide or reverse others.
  accepts: (value) =>
    typeof value === 'string' && isText(value, USER, 1, USER_MAX_LENGTH) && !hasUnprintable(value),
  accepted: `1 to ${USER_MAX_LENGTH} characters without a colon`,
};

/** The password of such a user. */
export const USER_PASSWORD_RULE: ValueRule = {
  code: 'userPassword',
  accepts: (value) => isText(value, PASSWORD, 1, PASSWORD_MAX_LENGTH),
  accepted: `1 to ${PASSWORD_MAX_LENGTH} characters`,
};

/** `password`, which visitors type into a page. */
export const PASSWORD_RULE: ValueRule = {
  code: 'password',
  accepts: (value) => isText(value, PASSWORD, PASSWORD_MIN_LENGTH, PASSWORD_MAX_LENGTH),
  accepted: `${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`,
};

/** The name of a token. */
export const TOKEN_NAME_RULE: ValueRule = {
  code: 'tokenName',
  accepts: (value) => typeof value === 'string' && TOKEN_NAME.test(value),
  accepted: `1 to ${TOKEN_NAME_MAX_LENGTH} lowercase letters, digits and hyphens`,
};

/** A token that the owner chooses. */
export const TOKEN_RULE: ValueRule = {
  code: 'token',
  accepts: (value) => typeof value === 'string' && TOKEN.test(value),
  accepted: `${TOKEN_MIN_LENGTH} to ${TOKEN_MAX_LENGTH} visible ASCII characters without blanks`,
};

/** One e-mail address of visible ASCII characters, with `*` for any user of a domain. */
const EMAIL = /^(?:\*|[!-)+-?A-~]+)@[!-)+-?A-~]+$/;
const GROUP = new RegExp(`^group:[^\\p{Cc}\\p{Cs}]{1,${GROUP_MAX_LENGTH}}$`, 'u');

/** One of `sign_in`. */
export const SIGN_IN_RULE: ValueRule = {
  code: 'signIn',
  accepts: (value) =>
    typeof value === 'string' &&
    (value === '*' || isGroup(value) || (value.length <= EMAIL_MAX_LENGTH && EMAIL.test(value))),
  accepted: 'ann@example.com, *@example.com, group:NAME or *',
};

/** See {@link USER_RULE} for what clients accept. */
function isGroup(value: string): boolean {
  return GROUP.test(value) && !hasUnprintable(value);
}

/** Lengths are in characters as people count them, not UTF-16 units. */
function isText(value: unknown, pattern: RegExp, min: number, max: number): boolean {
  if (typeof value !== 'string' || !pattern.test(value)) return false;
  const { length } = Array.from(value);
  return length >= min && length <= max;
}

/* The `access` of a create or access request, as the REST interface takes it (protocol.md section 11.1). */

const ALLOW_TEXT = `allow must be up to ${ALLOW_MAX} addresses or ranges, such as 192.0.2.7 or 10.0.0.0/8`;
const BASIC_TEXT =
  `basic must be up to ${BASIC_USERS_MAX} objects with user (1 to ${USER_MAX_LENGTH} characters without a colon, each once) ` +
  `and password (1 to ${PASSWORD_MAX_LENGTH} characters)`;
const TOKENS_TEXT =
  `tokens must be up to ${TOKENS_MAX} objects with name (${TOKEN_NAME_RULE.accepted}, each once) ` +
  `and, unless the relay is to make it, token (${TOKEN_RULE.accepted})`;
const SIGN_IN_TEXT = `sign_in must be up to ${SIGN_IN_MAX} of ${SIGN_IN_RULE.accepted}`;
const FIELDS: ReadonlySet<string> = new Set(Object.keys(OPEN));

/**
 * @param given parsed JSON; `undefined` and `null` are an open tunnel, as `{}` is
 * @throws ApiError that names the field and the accepted values
 */
export function readAccess(given: unknown): Access {
  if (given === undefined || given === null) return OPEN;
  if (!isObject(given)) throw invalidAccess('object', 'access must be an object');
  for (const name of Object.keys(given)) {
    // A mistyped field must not leave the tunnel open.
    if (!FIELDS.has(name))
      throw invalidAccess('unknown_field', `access has no field ${JSON.stringify(name)}`, { field: name });
  }
  return {
    allow: readAllow(given['allow']),
    basic: readBasic(given['basic']),
    password: readPassword(given['password']),
    links: readFlag('links', given['links']),
    knock: readFlag('knock', given['knock']),
    tokens: readTokens(given['tokens']),
    sign_in: readSignIn(given['sign_in']),
    oauth: readFlag('oauth', given['oauth']),
  };
}

/** The error for an invalid `access`. @param code of the reason */
export function invalidAccess(code: string, text: string, values: ErrorValues = {}): ApiError {
  return new ApiError(withValues(API_ERRORS.invalidAccess, { reason: { code, text, values } }));
}

function readAllow(given: unknown): string[] {
  const list = given ?? [];
  const isValid =
    Array.isArray(list) && list.length <= ALLOW_MAX && list.every((item) => NETWORK_RULE.accepts(item));
  if (!isValid) throw invalidAccess('allow', ALLOW_TEXT);
  return list;
}

function readBasic(given: unknown): BasicCredentials[] {
  const list = given ?? [];
  const isValid = Array.isArray(list) && list.length <= BASIC_USERS_MAX && list.every(isCredentials);
  if (!isValid || new Set(list.map(({ user }) => user)).size < list.length)
    throw invalidAccess('basic', BASIC_TEXT);
  return list.map(({ user, password }) => ({ user, password }));
}

function readTokens(given: unknown): AccessToken[] {
  const list = given ?? [];
  const isValid = Array.isArray(list) && list.length <= TOKENS_MAX && list.every(isToken);
  if (!isValid || new Set(list.map(({ name }) => name)).size < list.length)
    throw invalidAccess('tokens', TOKENS_TEXT);
  return list.map(({ name, token }) => ({ name, token: token ?? undefined }));
}

/** @returns each rule once, in the order given */
function readSignIn(given: unknown): string[] {
  const list = given ?? [];
  const isValid =
    Array.isArray(list) && list.length <= SIGN_IN_MAX && list.every((rule) => SIGN_IN_RULE.accepts(rule));
  if (!isValid) throw invalidAccess('sign_in', SIGN_IN_TEXT);
  return [...new Set<string>(list)];
}

function readPassword(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'string' || !PASSWORD_RULE.accepts(given))
    throw invalidAccess('password', `password must be ${PASSWORD_RULE.accepted}`);
  return given;
}

function readFlag(name: string, given: unknown): boolean {
  if (given !== undefined && given !== null && typeof given !== 'boolean')
    throw invalidAccess('flag', `${name} must be true or false`, { field: name });
  return given ?? false;
}

function isCredentials(given: unknown): given is BasicCredentials {
  return isObject(given) && USER_RULE.accepts(given['user']) && USER_PASSWORD_RULE.accepts(given['password']);
}

function isToken(given: unknown): given is { readonly name: string; readonly token?: string | null } {
  if (!isObject(given) || !TOKEN_NAME_RULE.accepts(given['name'])) return false;
  return given['token'] === undefined || given['token'] === null || TOKEN_RULE.accepts(given['token']);
}

function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}
