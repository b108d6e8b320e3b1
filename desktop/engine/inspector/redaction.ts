/**
 * Which values of a recorded request are secrets, and what is shown in their place. Bodies are shown as they are.
 * docs/inspector.md has these lists for users.
 */

import { REDACTED } from '../../../shared/redacted.ts';

/** Fields whose value is a secret; a scheme such as `Bearer` in front of it is shown. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-auth-token',
  'x-access-token',
  'x-csrf-token',
  'x-xsrf-token',
  'x-amz-security-token',
  'x-goog-iap-jwt-assertion',
  'x-vault-token',
  'x-gitlab-token',
  'x-hub-signature',
  'x-hub-signature-256',
  'cf-access-jwt-assertion',
  'cf-access-client-secret',
  'authentication-info',
  'proxy-authentication-info',
]);

/** Words in the name of a field whose value is a secret: `signature`, and so `stripe-signature` and `x-slack-signature`. */
export const SECRET_FIELD_WORDS: ReadonlySet<string> = new Set([
  'signature',
  'sig',
  'hmac',
  'hmacsha256',
  'token',
  'secret',
  'password',
]);

/** Words in the name of a parameter whose value is a secret: `token`, and so `refresh_token` and `idToken`. */
export const SECRET_WORDS: ReadonlySet<string> = new Set([
  'token',
  'accesstoken',
  'refreshtoken',
  'secret',
  'password',
  'passwd',
  'pwd',
  'pass',
  'key',
  'apikey',
  'auth',
  'authorization',
  'code',
  'credential',
  'credentials',
  'jwt',
  'session',
  'sessionid',
  'sid',
  'sig',
  'signature',
  'otp',
]);

/** Fields that contain an address. */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set(['referer', 'location', 'content-location', 'refresh']);
const SCHEME = /^(?:Basic|Bearer|Digest|Negotiate|NTLM|Token|AWS4-HMAC-SHA256|ApiKey)(?= )/i;

/**
 * Says what to write in place of a secret.
 *
 * @param key what the secret belongs to within its field or address: a scheme, or the name of a cookie or parameter
 */
export type WriteSecret = (key: string, secret: string) => string;

const redacted: WriteSecret = () => REDACTED;

/** The address with the values of secret parameters replaced, in its query and in its fragment. */
export function redactTarget(target: string, write = redacted): string {
  return target.replace(
    /([?&;#])([^=&;#]*)=([^&;#\s]+)/g,
    (whole, before: string, name: string, value: string) =>
      isSecretParameter(name) ? `${before}${name}=${write(name, value)}` : whole,
  );
}

/**
 * The value of a field with its secrets replaced.
 *
 * @param name in any case
 */
export function redactField(name: string, value: string, write = redacted): string {
  const lower = name.toLowerCase();
  if (SECRET_FIELDS.has(lower) || lower.split('-').some((word) => SECRET_FIELD_WORDS.has(word)))
    return redactCredentials(value, write);
  const redactPair = (pair: string): string => redactCookie(pair, write);
  if (lower === 'cookie') return value.split(';').map(redactPair).join(';');
  // Name and attributes tell what a cookie is for; only its value is a secret.
  if (lower === 'set-cookie') return value.replace(/^[^;]*/, redactPair);
  return ADDRESS_FIELDS.has(lower) ? redactTarget(value, write) : value;
}

function redactCredentials(value: string, write: WriteSecret): string {
  const scheme = SCHEME.exec(value)?.[0];
  return scheme === undefined
    ? write('', value)
    : `${scheme} ${write(scheme, value.slice(scheme.length + 1))}`;
}

function redactCookie(pair: string, write: WriteSecret): string {
  const at = pair.indexOf('=');
  return at === -1 ? write('', pair) : `${pair.slice(0, at)}=${write(pair.slice(0, at), pair.slice(at + 1))}`;
}

function isSecretParameter(name: string): boolean {
  const words = decodeName(name)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => SECRET_WORDS.has(word));
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}
