/** https://docs.slack.dev/authentication/verifying-requests-from-slack */
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme } from './scheme.ts';
import { textSecretProblem } from './secret.ts';
import { checkTime, readSeconds, writeSeconds } from './time-window.ts';

const FIELD = 'x-slack-signature';
const TIME_FIELD = 'x-slack-request-timestamp';
const VERSION = 'v0';

export const SLACK: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets, now) {
    const given = request.field(FIELD) ?? '';
    const time = request.field(TIME_FIELD);
    const signedAt = readSeconds(time);
    if (time === undefined || signedAt === undefined || !/^v0=[\da-f]{64}$/.test(given)) return 'malformed';
    const isRight = secrets.some((secret) => isAmong([given], signature(secret, time, request.body)));
    return isRight ? checkTime(signedAt, now) : 'mismatch';
  },
  sign({ body }, secret, now) {
    const time = writeSeconds(now);
    return {
      fields: [
        [TIME_FIELD, time],
        [FIELD, signature(secret, time, body)],
      ],
    };
  },
};

function signature(secret: string, time: string, body: Uint8Array): string {
  return `${VERSION}=${hmac('sha256', secret, `${VERSION}:${time}:`, body).toString('hex')}`;
}
