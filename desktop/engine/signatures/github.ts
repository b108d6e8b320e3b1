/** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme } from './scheme.ts';

const FIELD = 'x-hub-signature-256';
const PREFIX = 'sha256=';

export const GITHUB: SignatureScheme = {
  // Whoever sets up the webhook makes it up: even a sentence.
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
