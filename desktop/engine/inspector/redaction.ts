/**
 * Which values of a recorded request are secrets, and what is shown in their place. Bodies are shown as they are.
 * docs/inspector.md has these lists for users.
 */

/** What is shown in place of a secret. */
export const REDACTED = '[redacted]';

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

/** The address with the values of secret parameters replaced, in its query and in its fragment. */
export function redactTarget(target: string): string {
  return target.replace(/([?&;#])([^=&;#]*)=([^&;#\s]+)/g, (whole, before: string, name: string) =>
    isSecretParameter(name) ? `${before}${name}=${REDACTED}` : whole,
  );
}

/**
 * The value of a field with its secrets replaced.
 *
 * @param name in any case
 */
export function redactField(name: string, value: string): string {
  const lower = name.toLowerCase();
  if (SECRET_FIELDS.has(lower)) return redactCredentials(value);
  if (lower === 'cookie') return value.split(';').map(redactPair).join(';');
  // Name and attributes tell what a cookie is for; only its value is a secret.
  if (lower === 'set-cookie') return value.replace(/^[^;]*/, redactPair);
  return ADDRESS_FIELDS.has(lower) ? redactTarget(value) : value;
}

function redactCredentials(value: string): string {
  const scheme = SCHEME.exec(value)?.[0];
  return scheme === undefined ? REDACTED : `${scheme} ${REDACTED}`;
}

function redactPair(pair: string): string {
  const at = pair.indexOf('=');
  return at === -1 ? REDACTED : `${pair.slice(0, at)}=${REDACTED}`;
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
