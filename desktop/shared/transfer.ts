/** Requests that leave a request log as a file, and that come into one. */

export interface ExportedRequests {
  /** of the tunnel */
  key: string;
  /** their numbers */
  ids: number[];
  /** whether the values of secrets are in it */
  reveal: boolean;
}

export interface WrittenHar {
  /** of the file */
  readonly path: string;
  /** how many requests are in it */
  readonly count: number;
  /** how many are not, because what was recorded of them is no longer kept */
  readonly missing: number;
  /** secrets were left out */
  readonly hidesSecrets: boolean;
}

export interface Imported {
  /** numbers of the requests in the log, in their order */
  readonly ids: readonly number[];
  /** a sentence for each that cannot be sent */
  readonly leftOut: readonly string[];
  /** some have a word in place of secrets, which nobody here knows */
  readonly hasRedacted: boolean;
}
