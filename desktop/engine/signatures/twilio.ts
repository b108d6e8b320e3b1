/** https://www.twilio.com/docs/usage/security#validating-requests */
import { createHash } from 'node:crypto';
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme, SignedRequest } from './scheme.ts';
import { textSecretProblem } from './secret.ts';

const FIELD = 'x-twilio-signature';
const BODY_HASH = /([?&]bodySHA256=)([^&]*)/;
const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Forms are signed with their fields, other bodies by a hash of them in the address. */
export const TWILIO: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets) {
    const given = request.field(FIELD) ?? '';
    if (!/^[A-Za-z\d+/]{27}=$/.test(given)) return 'malformed';
    const isRight = secrets.some((secret) =>
      writings(request.url).some((url) => isAmong([given], signature(secret, url, request))),
    );
    if (!isRight) return 'mismatch';
    const hash = BODY_HASH.exec(request.url)?.[2];
    return hash === undefined || isAmong([hash.toLowerCase()], bodyHash(request)) ? 'valid' : 'body-changed';
  },
  sign(request, secret) {
    const url = request.url.replace(BODY_HASH, (_all, name: string) => `${name}${bodyHash(request)}`);
    return { fields: [[FIELD, signature(secret, url, request)]], url };
  },
};

function signature(secret: string, url: string, request: SignedRequest): string {
  return hmac('sha1', secret, url, formText(request)).toString('base64');
}

function bodyHash({ body }: SignedRequest): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Names and values of a form, sorted, without anything between them; a pair that is there twice counts once. */
function formText(request: SignedRequest): string {
  if (!FORM.test(request.field('content-type') ?? '')) return '';
  const pairs = [...new URLSearchParams(Buffer.from(request.body).toString())];
  const texts = pairs.toSorted(byNameThenValue).map((pair) => pair.join(''));
  return [...new Set(texts)].join('');
}

function byNameThenValue([name, value]: [string, string], [otherName, otherValue]: [string, string]): number {
  return compare(name, otherName) || compare(value, otherValue);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

/** Twilio signs an address sometimes with the port and sometimes without it, whatever was called. */
function writings(url: string): readonly string[] {
  const [, origin = '', port, rest = ''] =
    /^(https?:\/\/[^/:?#]+|https?:\/\/\[[^\]]*\])(:\d+)?(.*)$/s.exec(url) ?? [];
  const standard = url.startsWith('https:') ? ':443' : ':80';
  return [`${origin}${rest}`, `${origin}${port ?? standard}${rest}`];
}
