import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import {
  fieldValues,
  recogniseWebhook,
  type RecordedMessage,
  type SignatureView,
  type Verdict,
  type WebhookProvider,
} from './records.ts';
import { readMessage } from './request-log.ts';

/**
 * Accepted difference between a signature's timestamp and the arrival of its request, as documented by Stripe,
 * Slack and Svix.
 */
export const SIGNATURE_TOLERANCE_SECONDS = 300;

/**
 * @param key a string is encoded as UTF-8
 * @param parts the signed data, concatenated
 */
export function hmac(
  algorithm: 'sha1' | 'sha256',
  key: string | Uint8Array,
  ...parts: readonly (string | Uint8Array)[]
): Buffer {
  const state = createHmac(algorithm, key);
  for (const part of parts) state.update(part);
  return state.digest();
}

/**
 * Whether one of the given signatures is the expected one. The time depends only on their lengths.
 *
 * @param given as sent, encoded like `expected`
 */
function isAmong(given: readonly string[], expected: string): boolean {
  const wanted = Buffer.from(expected);
  return given
    .map((text) => Buffer.from(text))
    .some((bytes) => bytes.length === wanted.length && timingSafeEqual(bytes, wanted));
}

/** For services whose secrets may be any text. @returns the problem with one that cannot be a secret */
function textSecretProblem(secret: string): string | undefined {
  return /^[\x21-\x7e]+$/.test(secret)
    ? undefined
    : 'A secret must contain only letters, digits and punctuation, without spaces.';
}

/** A time in whole seconds since 1970, as services write it; `undefined` for any other text. */
function readSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

/** @param now wall-clock ms */
function writeSeconds(now: number): string {
  return String(Math.floor(now / 1000));
}

/**
 * Whether a signature was made close enough to its arrival.
 *
 * @param signedAt seconds since 1970
 * @param now wall-clock ms
 */
function checkTime(signedAt: number, now: number): 'valid' | 'too-old' | 'too-new' {
  const age = Math.floor(now / 1000) - signedAt;
  if (age > SIGNATURE_TOLERANCE_SECONDS) return 'too-old';
  return age < -SIGNATURE_TOLERANCE_SECONDS ? 'too-new' : 'valid';
}

/* https://docs.stripe.com/webhooks#verify-manually */

const STRIPE_FIELD = 'stripe-signature';

const STRIPE: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets, now) {
    const pairs = (request.field(STRIPE_FIELD) ?? '').split(',').map((pair) => pair.trim().split('='));
    const [time, ...others] = valuesOf(pairs, 't');
    const given = valuesOf(pairs, 'v1');
    const signedAt = readSeconds(time);
    if (time === undefined || signedAt === undefined || others.length > 0 || given.length === 0)
      return 'malformed';
    const isRight = secrets.some((secret) => isAmong(given, stripeSignature(secret, time, request.body)));
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign({ body }, secret, now) {
    const time = writeSeconds(now);
    return { fields: [[STRIPE_FIELD, `t=${time},v1=${stripeSignature(secret, time, body)}`]] };
  },
};

function valuesOf(pairs: readonly string[][], name: string): string[] {
  return pairs.filter(([key]) => key === name).map(([, value = '']) => value);
}

function stripeSignature(secret: string, time: string, body: Uint8Array): string {
  return hmac('sha256', secret, `${time}.`, body).toString('hex');
}

/* https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */

const FIELD = 'x-hub-signature-256';
const PREFIX = 'sha256=';

const GITHUB: SignatureScheme = {
  // The user who sets up the webhook chooses the secret, which may be any text.
  secretProblem: () => undefined,
  check(request, secrets) {
    const given = request.field(FIELD);
    if (given === undefined) return 'unsigned';
    if (!/^sha256=[\da-f]{64}$/.test(given)) return 'malformed';
    return secrets.some((secret) => isAmong([given], signature(secret, request.body))) ? 'valid' : 'mismatch';
  },
  sign: ({ body }, secret) => ({ fields: [[FIELD, signature(secret, body)]] }),
};

function signature(secret: string, body: Uint8Array): string {
  return `${PREFIX}${hmac('sha256', secret, body).toString('hex')}`;
}

/* https://docs.slack.dev/authentication/verifying-requests-from-slack */

const SLACK_FIELD = 'x-slack-signature';
const TIME_FIELD = 'x-slack-request-timestamp';
const VERSION = 'v0';

const SLACK: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets, now) {
    const given = request.field(SLACK_FIELD) ?? '';
    const time = request.field(TIME_FIELD);
    const signedAt = readSeconds(time);
    if (time === undefined || signedAt === undefined || !/^v0=[\da-f]{64}$/.test(given)) return 'malformed';
    const isRight = secrets.some((secret) => isAmong([given], slackSignature(secret, time, request.body)));
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign({ body }, secret, now) {
    const time = writeSeconds(now);
    return {
      fields: [
        [TIME_FIELD, time],
        [SLACK_FIELD, slackSignature(secret, time, body)],
      ],
    };
  },
};

function slackSignature(secret: string, time: string, body: Uint8Array): string {
  return `${VERSION}=${hmac('sha256', secret, `${VERSION}:${time}:`, body).toString('hex')}`;
}

/* https://shopify.dev/docs/apps/build/webhooks/subscribe/https#step-2-validate-the-origin-of-your-webhook-to-ensure-its-coming-from-shopify */

const SHOPIFY_FIELD = 'x-shopify-hmac-sha256';

const SHOPIFY: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets) {
    const given = request.field(SHOPIFY_FIELD) ?? '';
    if (!/^[A-Za-z\d+/]{43}=$/.test(given)) return 'malformed';
    return secrets.some((secret) => isAmong([given], shopifySignature(secret, request.body)))
      ? 'valid'
      : 'mismatch';
  },
  sign: ({ body }, secret) => ({ fields: [[SHOPIFY_FIELD, shopifySignature(secret, body)]] }),
};

function shopifySignature(secret: string, body: Uint8Array): string {
  return hmac('sha256', secret, body).toString('base64');
}

/* https://www.twilio.com/docs/usage/security#validating-requests */

const TWILIO_FIELD = 'x-twilio-signature';
const BODY_HASH = /([?&]bodySHA256=)([^&]*)/;
const FORM = /^application\/x-www-form-urlencoded\b/i;

/** Signs forms with their fields, and other bodies through a hash in the address. */
const TWILIO: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets) {
    const given = request.field(TWILIO_FIELD) ?? '';
    if (!/^[A-Za-z\d+/]{27}=$/.test(given)) return 'malformed';
    const isRight = secrets.some((secret) =>
      writings(request.url).some((url) => isAmong([given], twilioSignature(secret, url, request))),
    );
    if (!isRight) return 'mismatch';
    const hash = BODY_HASH.exec(request.url)?.[2];
    return hash === undefined || isAmong([hash.toLowerCase()], bodyHash(request)) ? 'valid' : 'body-changed';
  },
  sign(request, secret) {
    const url = request.url.replace(BODY_HASH, (_all, name: string) => `${name}${bodyHash(request)}`);
    return { fields: [[TWILIO_FIELD, twilioSignature(secret, url, request)]], url };
  },
};

function twilioSignature(secret: string, url: string, request: SignedRequest): string {
  return hmac('sha1', secret, url, formText(request)).toString('base64');
}

function bodyHash({ body }: SignedRequest): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Names and values of a form, sorted and concatenated. A repeated pair counts once. */
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

/** Twilio signs the address with or without the port, whichever was called. */
function writings(url: string): readonly string[] {
  const [, origin = '', port, rest = ''] =
    /^(https?:\/\/[^/:?#]+|https?:\/\/\[[^\]]*\])(:\d+)?(.*)$/s.exec(url) ?? [];
  const standard = url.startsWith('https:') ? ':443' : ':80';
  return [`${origin}${rest}`, `${origin}${port ?? standard}${rest}`];
}

/*
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, with symmetric
 * signatures; also as sent by Svix, under its own field names.
 */

const PREFIXES = ['webhook', 'svix'] as const;
const SECRET_PREFIX = /^whsec_/;

const STANDARD_WEBHOOKS: SignatureScheme = {
  secretProblem: (secret) =>
    /^(?:whsec_)?(?:[A-Za-z\d+/]{4})+(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(secret)
      ? undefined
      : 'The secret must begin with whsec_, followed by Base64 text. Copy it again.',
  check(request, secrets, now) {
    const prefix = prefixOf(request);
    const id = request.field(`${prefix}-id`);
    const time = request.field(`${prefix}-timestamp`);
    const signedAt = readSeconds(time);
    const given = (request.field(`${prefix}-signature`) ?? '')
      .split(' ')
      .filter((text) => text.startsWith('v1,'));
    if (id === undefined || time === undefined || signedAt === undefined || given.length === 0)
      return 'malformed';
    const isRight = secrets.some((secret) =>
      isAmong(given, standardWebhooksSignature(secret, id, time, request.body)),
    );
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign(request, secret, now) {
    const prefix = prefixOf(request) ?? PREFIXES[0];
    // The id stays the same when a message is sent again.
    const id = request.field(`${prefix}-id`) ?? '';
    const time = writeSeconds(now);
    return {
      fields: [
        [`${prefix}-timestamp`, time],
        [`${prefix}-signature`, standardWebhooksSignature(secret, id, time, request.body)],
      ],
    };
  },
};

function prefixOf(request: SignedRequest): (typeof PREFIXES)[number] | undefined {
  return PREFIXES.find((prefix) => request.field(`${prefix}-signature`) !== undefined);
}

function standardWebhooksSignature(secret: string, id: string, time: string, body: Uint8Array): string {
  const key = Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64');
  return `v1,${hmac('sha256', key, `${id}.${time}.`, body).toString('base64')}`;
}

/** The signature scheme of each service. */
export const SCHEMES: Readonly<Record<WebhookProvider, SignatureScheme>> = {
  stripe: STRIPE,
  github: GITHUB,
  slack: SLACK,
  shopify: SHOPIFY,
  twilio: TWILIO,
  standard: STANDARD_WEBHOOKS,
};

/* How a service signs its webhooks, with one interface for all of them. */

/** The signed parts of a request. */
export type SignedRequest = Readonly<ReturnType<typeof signedRequest>>;

/** Possible results of a check with a secret and a complete body. */
type SignatureResult = Exclude<Verdict, 'no-secret' | 'body-cut'>;

/** The changes to a request that give it a new signature. */
interface NewSignature {
  /** name, in lower case, and value of each signature field */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** the new address, if the address carries part of the signature */
  readonly url?: string;
}

/** For requests that are webhooks of the service. */
interface SignatureScheme {
  /** The problem with a text that cannot be a secret of this service; `undefined` if it can. */
  secretProblem(secret: string): string | undefined;
  /**
   * @param secrets at least one; any of them may make the signature valid
   * @param now arrival time of the request, in wall-clock ms
   */
  check(request: SignedRequest, secrets: readonly string[], now: number): SignatureResult;
  /** @param now wall-clock ms */
  sign(request: SignedRequest, secret: string, now: number): NewSignature;
}

/**
 * The result of checking a recorded webhook's signature; `undefined` for any other request.
 *
 * @param request with the real values of its secrets
 * @param arrivedAt arrival time that its timestamp is compared with, in wall-clock ms
 * @param secretsOf the secrets set for a service
 */
export function checkSignature(
  request: RecordedMessage,
  arrivedAt: number,
  secretsOf: (provider: WebhookProvider) => readonly string[],
): SignatureView | undefined {
  const provider = recogniseWebhook(request.fields);
  if (provider === undefined) return undefined;
  const secrets = secretsOf(provider);
  if (secrets.length === 0) return { provider, verdict: 'no-secret' };
  if (!hasWholeBody(request)) return { provider, verdict: 'body-cut' };
  return { provider, verdict: SCHEMES[provider].check(signedRequest(request), secrets, arrivedAt) };
}

/** A recorded request as its sender signed it. @param message with the real values of its secrets */
function signedRequest(message: RecordedMessage) {
  /** The value of a field; `undefined` if missing. @param name in lower case */
  const field = (name: string): string | undefined => fieldValues(message, name)[0];
  const [, target = ''] = message.startLine.split(' ');
  // The relay reports the visited address; of several proxies, the first was nearest to the visitor.
  const scheme = field('x-forwarded-proto')?.split(',')[0]?.trim() ?? 'http';
  const host = field('x-forwarded-host')?.split(',')[0]?.trim() ?? field('host') ?? '';
  return {
    /** the address that the sender called, exactly as it wrote it */
    url: `${scheme}://${host}${field('x-forwarded-prefix') ?? ''}${target}`,
    field,
    /** as sent: with its content coding, but without chunked coding */
    body: message.body,
  };
}

/** Whether the body is complete: not cut, and fully received. */
function hasWholeBody(message: RecordedMessage): boolean {
  const [length] = fieldValues(message, 'content-length');
  return !message.isTruncated && (length === undefined || Number(length) === message.body.length);
}

const LINE_END = '\r\n';
const HEAD_END = `${LINE_END}${LINE_END}`;

/**
 * A webhook with a new signature that its receiver accepts now. Every other byte stays the same.
 *
 * @param request a complete request, head and body
 * @param secretOf the secret that a service signs with; `undefined` if none is set
 * @param now wall-clock ms
 * @returns `undefined` if the request is not a webhook, or without a secret
 */
export function signAgain(
  request: Buffer,
  secretOf: (provider: WebhookProvider) => string | undefined,
  now: number,
): Buffer | undefined {
  const message = readMessage(request, request.length, { reveal: true });
  const headEnd = request.indexOf(HEAD_END);
  if (message === undefined || headEnd === -1) return undefined;
  const provider = recogniseWebhook(message.fields);
  const secret = provider && secretOf(provider);
  if (provider === undefined || secret === undefined) return undefined;
  const signed = signedRequest(message);
  const { fields, url } = SCHEMES[provider].sign(signed, secret, now);
  const [startLine = '', ...lines] = request.toString('latin1', 0, headEnd).split(LINE_END);
  const head = [retargeted(startLine, signed, url), ...replaced(lines, fields)].join(LINE_END);
  return Buffer.concat([Buffer.from(head, 'latin1'), request.subarray(headEnd)]);
}

function retargeted(startLine: string, { url: before }: SignedRequest, after = before): string {
  const [method = '', target = '', version = ''] = startLine.split(' ');
  // Scheme, host and prefix are the same in both.
  return `${method} ${after.slice(before.length - target.length)} ${version}`;
}

/** A repeated field is written once, with the new value at the place of the first. */
function replaced(
  lines: readonly string[],
  fields: readonly (readonly [name: string, value: string])[],
): string[] {
  const left = new Map(fields);
  const names = new Set(left.keys());
  const kept = lines.flatMap((line) => {
    const name = line.slice(0, line.indexOf(':'));
    const lower = name.toLowerCase();
    if (!names.has(lower)) return [line];
    const value = left.get(lower);
    left.delete(lower);
    return value === undefined ? [] : [`${name}: ${value}`];
  });
  return [...kept, ...[...left].map(([name, value]) => `${name}: ${value}`)];
}
