/** The `access` of a create or access request, as the REST interface takes it (docs/protocol.md section 11.1). */
import {
  type Access,
  ALLOW_MAX,
  BASIC_USERS_MAX,
  type BasicCredentials,
  OPEN,
  PASSWORD_MAX_LENGTH,
  USER_MAX_LENGTH,
} from './access.ts';
import { NETWORK_RULE, PASSWORD_RULE, USER_PASSWORD_RULE, USER_RULE } from './access-rules.ts';
import { ApiError, invalidAccess } from './errors.ts';

const ALLOW_TEXT = `allow must be up to ${ALLOW_MAX} addresses or networks, such as 192.0.2.7 or 10.0.0.0/8`;
const BASIC_TEXT =
  `basic must be up to ${BASIC_USERS_MAX} objects with user (1 to ${USER_MAX_LENGTH} characters without a colon, each once) ` +
  `and password (1 to ${PASSWORD_MAX_LENGTH} characters)`;
const FIELDS: ReadonlySet<string> = new Set(Object.keys(OPEN));

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
    Array.isArray(list) && list.length <= ALLOW_MAX && list.every((item) => NETWORK_RULE.accepts(item));
  if (!isValid) throw new ApiError(invalidAccess(ALLOW_TEXT));
  return list;
}

function readBasic(given: unknown): BasicCredentials[] {
  const list = given ?? [];
  const isValid = Array.isArray(list) && list.length <= BASIC_USERS_MAX && list.every(isCredentials);
  if (!isValid || new Set(list.map(({ user }) => user)).size < list.length)
    throw new ApiError(invalidAccess(BASIC_TEXT));
  return list.map(({ user, password }) => ({ user, password }));
}

function readPassword(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'string' || !PASSWORD_RULE.accepts(given))
    throw new ApiError(invalidAccess(`password must be ${PASSWORD_RULE.accepted}`));
  return given;
}

function readFlag(name: string, given: unknown): boolean {
  if (given !== undefined && given !== null && typeof given !== 'boolean')
    throw new ApiError(invalidAccess(`${name} must be true or false`));
  return given ?? false;
}

function isCredentials(given: unknown): given is BasicCredentials {
  return isObject(given) && USER_RULE.accepts(given['user']) && USER_PASSWORD_RULE.accepts(given['password']);
}

function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}
