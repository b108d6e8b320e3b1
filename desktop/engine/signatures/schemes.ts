import { GITHUB } from './github.ts';
import type { SignatureScheme } from './scheme.ts';
import { SHOPIFY } from './shopify.ts';
import { SLACK } from './slack.ts';
import { STANDARD_WEBHOOKS } from './standard-webhooks.ts';
import { STRIPE } from './stripe.ts';
import { TWILIO } from './twilio.ts';
import type { WebhookProvider } from '../webhooks/provider.ts';

/** How each service signs. */
export const SCHEMES: Readonly<Record<WebhookProvider, SignatureScheme>> = {
  stripe: STRIPE,
  github: GITHUB,
  slack: SLACK,
  shopify: SHOPIFY,
  twilio: TWILIO,
  standard: STANDARD_WEBHOOKS,
};
