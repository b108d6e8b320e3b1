/** https://shopify.dev/docs/apps/build/webhooks/subscribe/https#step-2-validate-the-origin-of-your-webhook-to-ensure-its-coming-from-shopify */
import { hmac, isAmong } from './hmac.ts';
import type { SignatureScheme } from './scheme.ts';
import { textSecretProblem } from './secret.ts';

const FIELD = 'x-shopify-hmac-sha256';

export const SHOPIFY: SignatureScheme = {
  secretProblem: textSecretProblem,
  check(request, secrets) {
    const given = request.field(FIELD) ?? '';
    if (!/^[A-Za-z\d+/]{43}=$/.test(given)) return 'malformed';
    return secrets.some((secret) => isAmong([given], signature(secret, request.body))) ? 'valid' : 'mismatch';
  },
  sign: ({ body }, secret) => ({ fields: [[FIELD, signature(secret, body)]] }),
};

function signature(secret: string, body: Uint8Array): string {
  return hmac('sha256', secret, body).toString('base64');
}
