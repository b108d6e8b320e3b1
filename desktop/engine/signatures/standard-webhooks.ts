/**
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, with symmetric signatures; also
 * as Svix sends them, under names of its own.
 */
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme, SignedRequest } from './scheme.ts';
import { checkTime, readSeconds, writeSeconds } from './time-window.ts';

const PREFIXES = ['webhook', 'svix'] as const;
const SECRET_PREFIX = /^whsec_/;

export const STANDARD_WEBHOOKS: SignatureScheme = {
  secretProblem: (secret) =>
    /^(?:whsec_)?(?:[A-Za-z\d+/]{4})+(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/.test(secret)
      ? undefined
      : 'The secret begins with whsec_, and the rest of it is Base64. Copy it again.',
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
    const isRight = secrets.some((secret) => isAmong(given, signature(secret, id, time, request.body)));
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign(request, secret, now) {
    const prefix = prefixOf(request) ?? PREFIXES[0];
    // It stays the same when a message is sent again.
    const id = request.field(`${prefix}-id`) ?? '';
    const time = writeSeconds(now);
    return {
      fields: [
        [`${prefix}-timestamp`, time],
        [`${prefix}-signature`, signature(secret, id, time, request.body)],
      ],
    };
  },
};

function prefixOf(request: SignedRequest): (typeof PREFIXES)[number] | undefined {
  return PREFIXES.find((prefix) => request.field(`${prefix}-signature`) !== undefined);
}

function signature(secret: string, id: string, time: string, body: Uint8Array): string {
  const key = Buffer.from(secret.replace(SECRET_PREFIX, ''), 'base64');
  return `v1,${hmac('sha256', key, `${id}.${time}.`, body).toString('base64')}`;
}
