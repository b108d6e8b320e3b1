import type { SignatureView, WebhookProvider } from '../../client/inspector/records.ts';

/** A request that is edited in the window. Its secrets stay in main: `[redacted]` stands for them here. */

/** A recorded request as it is before it is edited. */
export interface EditView {
  readonly method: string;
  readonly target: string;
  /** values as text */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** `undefined`: it is not text */
  readonly body: string | undefined;
  /** bytes of the body */
  readonly bodySize: number;
  /** whether its body is too large to edit, even if it is text */
  readonly isLarge: boolean;
  /** the body was longer than the recorded part, so it can only be replaced */
  readonly isCut: boolean;
  /**
   * name of the service whose signature can be renewed; `undefined` for anything but a webhook, and without its secret
   */
  readonly signer: string | undefined;
}

/** What of a log is shown. */
export interface LogView {
  /** id of a chip */
  readonly part: string;
  /** text in the search field */
  readonly search: string;
}

/** All of it. */
export const WHOLE_LOG: LogView = { part: 'all', search: '' };

/* Exporting requests of a log as a file, and importing them. */

export interface WrittenHar {
  /** of the file */
  readonly path: string;
  /** how many requests are in it */
  readonly count: number;
  /** number of requests left out because their recording is no longer available */
  readonly missing: number;
  /** secrets were left out */
  readonly hidesSecrets: boolean;
}

export interface Imported {
  /** numbers of the requests in the log, in their order */
  readonly ids: readonly number[];
  /** a sentence for each that cannot be sent */
  readonly leftOut: readonly string[];
  /** whether some have placeholders instead of secrets, which were never known here */
  readonly hasRedacted: boolean;
}

/* Signatures of webhooks, as the window shows them. */

/** A secret that was set for a tunnel. The secret itself stays in main. */
export interface SecretView {
  readonly id: string;
  /** wall-clock ms */
  readonly addedAt: number;
}

/** Result of a signature check, and the secrets it was checked with. */
export interface SignatureCheck {
  readonly signature: SignatureView;
  /** of the service */
  readonly name: string;
  /** of the service, newest first */
  readonly secrets: readonly SecretView[];
  /** whether secrets survive a quit of the app */
  readonly isKept: boolean;
}

export interface NewSecret {
  readonly provider: WebhookProvider;
  readonly secret: string;
}
