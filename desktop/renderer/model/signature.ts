/** What the signature of a webhook says, in words. */
import type { WebhookProvider } from '../../engine/webhooks/provider.ts';
import type { SignatureView, Verdict } from '../../engine/webhooks/verdict.ts';

/** How it is shown besides its words. */
export type SignatureTone = 'good' | 'bad' | 'open';

const TONES: Readonly<Record<Verdict, SignatureTone>> = {
  valid: 'good',
  mismatch: 'bad',
  'body-changed': 'bad',
  'too-old': 'bad',
  'too-new': 'bad',
  malformed: 'bad',
  unsigned: 'bad',
  'no-secret': 'open',
  'body-cut': 'open',
};

/** On a line of the log; nothing where nothing could be checked. */
const MARKS: Readonly<Partial<Record<Verdict, string>>> = {
  valid: 'valid',
  mismatch: 'invalid',
  'body-changed': 'changed',
  'too-old': 'too old',
  'too-new': 'too new',
  malformed: 'unreadable',
  unsigned: 'unsigned',
};

/** Where people find the secret; what it is called there. */
const SECRETS: Readonly<Record<WebhookProvider, { label: string; hint: string }>> = {
  stripe: {
    label: 'Signing secret',
    hint: 'In the Stripe dashboard, at the endpoint; it begins with whsec_.',
  },
  github: { label: 'Secret', hint: 'What was entered as Secret when the webhook was set up on GitHub.' },
  slack: { label: 'Signing secret', hint: 'In the settings of the Slack app, among Basic Information.' },
  shopify: {
    label: 'Client secret',
    hint: "Of the Shopify app; for a shop's own webhooks, below their list.",
  },
  twilio: { label: 'Auth token', hint: 'Of the Twilio account or subaccount.' },
  standard: { label: 'Signing secret', hint: 'From whoever sends the webhook; it begins with whsec_.' },
};

export function signatureTone({ verdict }: SignatureView): SignatureTone {
  return TONES[verdict];
}

/** A word or two for the log; `undefined` where nothing could be checked. */
export function signatureMark({ verdict }: SignatureView): string | undefined {
  return MARKS[verdict];
}

export function secretWords({ provider }: SignatureView): { label: string; hint: string } {
  return SECRETS[provider];
}

/** All there is to say about it. */
export function signatureWords({ verdict }: SignatureView): string {
  switch (verdict) {
    case 'valid':
      return 'Valid: made with the secret, for this body.';
    case 'mismatch':
      return 'It does not fit: it was made with another secret, or for another body.';
    case 'body-changed':
      return 'The body was changed: the signature fits the address, but not the body.';
    case 'too-old':
      return 'Too old: it fits, but was made more than 5 minutes before the request came. Receivers refuse that.';
    case 'too-new':
      return "Too new: it fits, but says a time more than 5 minutes after the request came. Check this computer's clock.";
    case 'malformed':
      return 'It is not complete, or not written as its service writes it.';
    case 'unsigned':
      return 'There is none: no secret was set where the webhook was.';
    case 'no-secret':
      return 'Not checked: Culvert does not know the secret.';
    case 'body-cut':
      return 'Not checked: only the beginning of the body is there.';
  }
}
