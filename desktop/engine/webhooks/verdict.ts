/** What the signature of a webhook says. */
import type { WebhookProvider } from './provider.ts';

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
