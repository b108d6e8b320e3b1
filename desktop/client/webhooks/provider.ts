/** Who sent a webhook, by the field with which its sender signs or names it. Whether that is true, only its signature says. */

/** Senders by their ids, with their names for people. */
export const WEBHOOK_PROVIDERS = {
  stripe: 'Stripe',
  github: 'GitHub',
  slack: 'Slack',
  shopify: 'Shopify',
  twilio: 'Twilio',
  /** whoever signs as https://www.standardwebhooks.com says, or as Svix did before */
  standard: 'Standard Webhooks',
} as const;

export type WebhookProvider = keyof typeof WEBHOOK_PROVIDERS;

export const WEBHOOK_PROVIDER_IDS = Object.keys(WEBHOOK_PROVIDERS) as readonly WebhookProvider[];

/** By name of a field, in lower case. A sender who sets several of them is found by the first that comes. */
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

/* What the signature of a webhook says. */

/**
 * `mismatch`: made with another secret or for another body; which of the two, most signatures do not tell. `too-old` and
 * `too-new`: right, but made too long before or after the request came. `unsigned`: its sender was given no secret.
 * `body-cut`: not all of the body was kept.
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
