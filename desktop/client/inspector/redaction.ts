/**
 * Decides which values of a recorded request are secrets, and what replaces them. Bodies are shown unchanged.
 * docs/guides/inspecting-requests.md has these lists for users.
 */
import { REDACTED } from '../../../shared/version.ts';

/** Fields whose value is a secret. A scheme such as `Bearer` in front of it is shown. */
export const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-auth',
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

/**
 * Words in the name of a field whose value is a secret: `signature` includes `stripe-signature` and
 * `x-slack-signature`.
 */
export const SECRET_FIELD_WORDS: ReadonlySet<string> = new Set([
  'signature',
  'sig',
  'hmac',
  'hmacsha256',
  'token',
  'accesstoken',
  'secret',
  'password',
  'authorization',
  'apikey',
  'jwt',
  'assertion',
  'session',
  'sessionid',
  'sid',
]);

/** Words in the name of a parameter whose value is a secret: `token` includes `refresh_token` and `idToken`. */
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
  'bearer',
  'code',
  'credential',
  'credentials',
  'jwt',
  'assertion',
  'samlresponse',
  'session',
  'sessionid',
  'jsessionid',
  'phpsessid',
  'sessid',
  'sid',
  'sig',
  'signature',
  'otp',
]);

const SCHEME = /^(?:Basic|Bearer|Digest|DPoP|Negotiate|NTLM|Token|AWS4-HMAC-SHA256|ApiKey)(?= )/i;
/**
 * A token in a field of any name. WebSocket clients write `bearer, abc` and
 * `base64url.bearer.authorization.k8s.io.abc`.
 */
const BEARER = /\bBearer[ \t,:.=]+/gi;
const BASIC = /\bBasic[ \t]+/gi;
/** Challenges are shown: `Bearer realm="x"` contains no secret. */
const CHALLENGE_FIELDS: ReadonlySet<string> = new Set(['www-authenticate', 'proxy-authenticate']);

/**
 * Returns the replacement of a secret.
 *
 * @param key the scheme, or the name of the cookie or parameter, that the secret belongs to in its field or address
 */
type WriteSecret = (key: string, secret: string) => string;

const redacted: WriteSecret = () => REDACTED;

/** The position of a secret in a text. */
interface Secret {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces the secrets of an address: values of secret parameters in its query and fragment, user information, and JSON
 * Web Tokens anywhere.
 */
export function redactTarget(target: string, write = redacted): string {
  return replaceSecrets(
    target,
    [...parameters(target), ...userInformation(target), ...webTokens(target)],
    write,
  );
}

/**
 * Replaces the secrets in the value of a field.
 *
 * @param name in any case
 */
export function redactField(name: string, value: string, write = redacted): string {
  const lower = name.toLowerCase();
  if (CHALLENGE_FIELDS.has(lower)) return redactTarget(value, write);
  if (SECRET_FIELDS.has(lower) || hasWord(lower, SECRET_FIELD_WORDS)) return redactCredentials(value, write);
  const redactPair = (pair: string): string => redactCookie(pair, write);
  if (lower === 'cookie') return value.split(';').map(redactPair).join(';');
  // Only the value of a cookie is a secret; its name and attributes explain it.
  if (lower === 'set-cookie') return value.replace(/^[^;]*/, redactPair);
  if (SCHEME.test(value)) return redactCredentials(value, write);
  // Many fields contain addresses (`Link`, `Referer`, `X-Original-URL`), including custom ones.
  const secrets = [
    ...parameters(value),
    ...userInformation(value),
    ...tokensAfter(BEARER, value),
    ...tokensAfter(BASIC, value),
    ...webTokens(value),
  ];
  return replaceSecrets(value, secrets, write);
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

/**
 * Of overlapping secrets, the one that begins first is replaced up to the end of the longest; of those that begin
 * together, the first one given. So `[redacted]` is later recognised as the same kind of secret.
 */
function replaceSecrets(text: string, secrets: readonly Secret[], write: WriteSecret): string {
  let shown = '';
  let from = 0;
  const sorted = secrets.toSorted((one, other) => one.start - other.start);
  for (let index = 0; index < sorted.length;) {
    const { key, start, end: own } = sorted[index] as Secret;
    let end = own;
    for (index += 1; index < sorted.length && (sorted[index] as Secret).start < end; index += 1)
      end = Math.max(end, (sorted[index] as Secret).end);
    shown += text.slice(from, start) + write(key, text.slice(start, end));
    from = end;
  }
  return shown + text.slice(from);
}

/**
 * The values of secret parameters. Reads each character at most twice, because visitors control the number of
 * parameters.
 */
function* parameters(text: string): Generator<Secret> {
  let name = -1;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string;
    if (STARTS_PARAMETER.has(character)) name = at + 1;
    else if (character === '=' && name !== -1) {
      const key = text.slice(name, at);
      name = -1;
      if (!hasWord(decodeName(key), SECRET_WORDS)) continue;
      const end = valueEnd(text, at + 1);
      if (end > at + 1) yield { key, start: at + 1, end };
      at = end - 1;
    }
  }
}

const STARTS_PARAMETER: ReadonlySet<string> = new Set(['?', '&', ';', '#']);
const ENDS_VALUE = /[&;#\s]|$/g;

function valueEnd(text: string, start: number): number {
  if (text[start] === '"') {
    const quote = text.indexOf('"', start + 1);
    if (quote !== -1) return quote + 1;
  }
  return indexFrom(ENDS_VALUE, text, start);
}

/** Names and passwords before a host, as in `https://ann:secret@example.com` (RFC 3986 section 3.2.1). */
function* userInformation(text: string): Generator<Secret> {
  for (let at = text.indexOf('//'); at !== -1;) {
    const start = at + 2;
    const end = indexFrom(ENDS_AUTHORITY, text, start);
    const host = text.slice(start, end).lastIndexOf('@');
    if (host > 0) yield { key: '@', start, end: start + host };
    at = text.indexOf('//', end);
  }
}

const ENDS_AUTHORITY = /[/?#\s"'<>\\]|$/g;

/** JSON Web Tokens (RFC 7519 section 3), which begin with `{"` in base64url, and their placeholders. */
function* webTokens(text: string): Generator<Secret> {
  for (let at = text.indexOf(REDACTED); at !== -1; at = text.indexOf(REDACTED, at + REDACTED.length))
    yield { key: 'jwt', start: at, end: at + REDACTED.length };
  for (let start = text.indexOf('eyJ'); start !== -1;) {
    const end = indexFrom(ENDS_WEB_TOKEN, text, start);
    if (text.slice(start, end).split('.', 3).length === 3) yield { key: 'jwt', start, end };
    start = text.indexOf('eyJ', end);
  }
}

const ENDS_WEB_TOKEN = /[^\w.-]|$/g;

function* tokensAfter(scheme: RegExp, text: string): Generator<Secret> {
  for (const { 0: written, index } of text.matchAll(scheme)) {
    const start = index + written.length;
    const end = indexFrom(ENDS_TOKEN, text, start);
    if (end > start) yield { key: written.slice(0, 6), start, end };
  }
}

const ENDS_TOKEN = /[\s,;"']|$/g;

/**
 * @returns the first position of a match from `start` on; the pattern must be global, and match at the end of the text
 */
function indexFrom(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.exec(text)?.index ?? text.length;
}

/** Whether the value of a form's field is a secret, by its name: `password`, `user[api_key]`. */
export function isSecretName(name: string): boolean {
  return hasWord(name, SECRET_WORDS);
}

function hasWord(name: string, secret: ReadonlySet<string>): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some((word) => secret.has(word));
}

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}
