/** https://docs.stripe.com/webhooks#verify-manually */
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme } from './scheme.ts';
import { textSecretProblem } from './secret.ts';
import { checkTime, readSeconds, writeSeconds } from './time-window.ts';

const FIELD = 'stripe-signature';

export const STRIPE: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets, now) {
    const pairs = (request.field(FIELD) ?? '').split(',').map((pair) => pair.trim().split('='));
    const [time, ...others] = valuesOf(pairs, 't');
    const given = valuesOf(pairs, 'v1');
    const signedAt = readSeconds(time);
    if (time === undefined || signedAt === undefined || others.length > 0 || given.length === 0)
      return 'malformed';
    const isRight = secrets.some((secret) => isAmong(given, signature(secret, time, request.body)));
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign({ body }, secret, now) {
    const time = writeSeconds(now);
    return { fields: [[FIELD, `t=${time},v1=${signature(secret, time, body)}`]] };
  },
};

function valuesOf(pairs: readonly string[][], name: string): string[] {
  return pairs.filter(([key]) => key === name).map(([, value = '']) => value);
}

function signature(secret: string, time: string, body: Uint8Array): string {
  return hmac('sha256', secret, `${time}.`, body).toString('hex');
}
