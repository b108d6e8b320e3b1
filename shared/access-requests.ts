/** The `access` of a create or access request, as the REST interface takes it (docs/protocol.md section 11.1). */
import {
  type Access,
  ALLOW_MAX,
  BASIC_USERS_MAX,
  type BasicCredentials,
  OPEN,
  PASSWORD_MAX_LENGTH,
  PASSWORD_MIN_LENGTH,
  USER_MAX_LENGTH,
} from './access.ts';
import { ApiError, invalidAccess } from './errors.ts';
import { parseNetwork } from './networks.ts';

const ALLOW_RULE = `allow must be up to ${ALLOW_MAX} addresses or networks, such as 192.0.2.7 or 10.0.0.0/8`;
const BASIC_RULE =
  `basic must be up to ${BASIC_USERS_MAX} objects with user (1 to ${USER_MAX_LENGTH} characters without a colon, each once) ` +
  `and password (1 to ${PASSWORD_MAX_LENGTH} characters)`;
const PASSWORD_RULE = `password must be ${PASSWORD_MIN_LENGTH} to ${PASSWORD_MAX_LENGTH} characters`;
const FIELDS: ReadonlySet<string> = new Set(Object.keys(OPEN));

/** RFC 7617 section 2: control characters are in neither, and a colon ends the user. Half a character is not text. */
const USER = /^[^\p{Cc}\p{Cs}:]+$/u;
const PASSWORD = /^[^\p{Cc}\p{Cs}]+$/u;

/**
 * @param given parsed JSON; `undefined` and `null` are an open tunnel, as `{}` is
 * @throws ApiError that names the field and what it takes
 */
export function readAccess(given: unknown): Access {
  if (given === undefined || given === null) return OPEN;
  if (!isObject(given)) throw new ApiError(invalidAccess('access must be an object'));
  for (const name of Object.keys(given)) {
    // Who mistypes a lock must not leave the door open.
    if (!FIELDS.has(name)) throw new ApiError(invalidAccess(`access has no field ${JSON.stringify(name)}`));
  }
  return {
    allow: readAllow(given['allow']),
    basic: readBasic(given['basic']),
    password: readPassword(given['password']),
    links: readFlag('links', given['links']),
    knock: readFlag('knock', given['knock']),
  };
}

function readAllow(given: unknown): string[] {
  const list = given ?? [];
  const isValid =
    Array.isArray(list) &&
    list.length <= ALLOW_MAX &&
    list.every((item) => typeof item === 'string' && parseNetwork(item) !== undefined);
  if (!isValid) throw new ApiError(invalidAccess(ALLOW_RULE));
  return list;
}

function readBasic(given: unknown): BasicCredentials[] {
  const list = given ?? [];
  const isValid = Array.isArray(list) && list.length <= BASIC_USERS_MAX && list.every(isCredentials);
  if (!isValid || new Set(list.map(({ user }) => user)).size < list.length)
    throw new ApiError(invalidAccess(BASIC_RULE));
  return list.map(({ user, password }) => ({ user, password }));
}

function readPassword(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isText(given, PASSWORD, PASSWORD_MAX_LENGTH) || lengthOf(given) < PASSWORD_MIN_LENGTH)
    throw new ApiError(invalidAccess(PASSWORD_RULE));
  return given;
}

function readFlag(name: string, given: unknown): boolean {
  if (given !== undefined && given !== null && typeof given !== 'boolean')
    throw new ApiError(invalidAccess(`${name} must be true or false`));
  return given ?? false;
}

function isCredentials(given: unknown): given is BasicCredentials {
  return (
    isObject(given) &&
    isText(given['user'], USER, USER_MAX_LENGTH) &&
    isText(given['password'], PASSWORD, PASSWORD_MAX_LENGTH)
  );
}

function isText(given: unknown, pattern: RegExp, max: number): given is string {
  return typeof given === 'string' && lengthOf(given) <= max && pattern.test(given);
}

/** Characters as people count them, not UTF-16 units. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}

function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}
