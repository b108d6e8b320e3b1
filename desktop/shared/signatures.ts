/** Signatures of webhooks, as the window shows them. */
import type { WebhookProvider } from '../engine/webhooks/provider.ts';
import type { SignatureView } from '../engine/webhooks/verdict.ts';

/** A secret that was set for a tunnel. The secret itself stays in main. */
export interface SecretView {
  readonly id: string;
  /** wall-clock ms */
  readonly addedAt: number;
}

/** What a signature says, and with which secrets it was checked. */
export interface SignatureCheck {
  readonly signature: SignatureView;
  /** of the service */
  readonly name: string;
  /** of the service, newest first */
  readonly secrets: readonly SecretView[];
  /** whether secrets are kept when the app quits */
  readonly isKept: boolean;
}

export interface NewSecret {
  readonly provider: WebhookProvider;
  readonly secret: string;
}
