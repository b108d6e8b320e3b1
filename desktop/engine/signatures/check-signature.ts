import type { RecordedMessage } from '../inspector/records.ts';
import { recogniseWebhook, type WebhookProvider } from '../webhooks/provider.ts';
import type { SignatureView } from '../webhooks/verdict.ts';
import { hasWholeBody, signedRequest } from './recorded.ts';
import { SCHEMES } from './schemes.ts';

/**
 * What the signature of a recorded webhook says; `undefined` for any other request.
 *
 * @param request with the values of its secrets
 * @param arrivedAt when it came, wall-clock ms: what its time is compared with
 * @param secretsOf the secrets that were set for a service
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
