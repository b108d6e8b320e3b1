/** Recognises the sender of a webhook by its signature or identifying field. Only the signature proves it. */

/** Senders by their ids, with their names for people. */
export const WEBHOOK_PROVIDERS = {
  stripe: 'Stripe',
  github: 'GitHub',
  slack: 'Slack',
  shopify: 'Shopify',
  twilio: 'Twilio',
  /** senders that sign according to https://www.standardwebhooks.com, or as Svix did before */
  standard: 'Standard Webhooks',
} as const;

export type WebhookProvider = keyof typeof WEBHOOK_PROVIDERS;

export const WEBHOOK_PROVIDER_IDS = Object.keys(WEBHOOK_PROVIDERS) as readonly WebhookProvider[];

/** By field name in lower case. If a request has several of them, the first decides. */
const PROVIDER_FIELDS: ReadonlyMap<string, WebhookProvider> = new Map([
  ['stripe-signature', 'stripe'],
  ['x-github-event', 'github'],
  ['x-slack-signature', 'slack'],
  ['x-shopify-hmac-sha256', 'shopify'],
  ['x-twilio-signature', 'twilio'],
  ['webhook-signature', 'standard'],
  ['svix-signature', 'standard'],
]);

/**
 * Recognises a webhook.
 *
 * @param fields of a request, names in any case
 * @returns the id of its sender; `undefined` for any other request
 */
export function recogniseWebhook(
  fields: Iterable<readonly [name: string, value: string]>,
): WebhookProvider | undefined {
  for (const [name] of fields) {
    const provider = PROVIDER_FIELDS.get(name.toLowerCase());
    if (provider !== undefined) return provider;
  }
  return undefined;
}

/* The result of checking a webhook's signature. */

/**
 * `mismatch`: made with another secret or for another body; most signatures do not show which. `too-old` and `too-new`:
 * valid, but made too long before or after the request arrived. `unsigned`: the sender has no secret. `body-cut`: the
 * body was not recorded completely.
 */
export type Verdict =
  | 'valid'
  | 'mismatch'
  | 'body-changed'
  | 'too-old'
  | 'too-new'
  | 'malformed'
  | 'unsigned'
  | 'no-secret'
  | 'body-cut';

export interface SignatureView {
  readonly provider: WebhookProvider;
  readonly verdict: Verdict;
}
