/** What is recorded of the requests that visitors make, as the command and the window show it. */

/** One line of the request log. */
export interface RequestSummary {
  /** counts up from 1 within one tunnel of one process */
  readonly id: number;
  /** wall-clock ms */
  readonly startedAt: number;
  readonly method: string;
  /** as received, query included */
  readonly target: string;
  /** `undefined` until there is a response */
  readonly status: number | undefined;
  /** ms from the first byte of the request to the last byte of the response; `undefined` until then */
  readonly durationMs: number | undefined;
  /** bytes of the request, head included */
  readonly bytesIn: number;
  /** bytes of the response, head included */
  readonly bytesOut: number;
  /** the response broke off, or the visitor left */
  readonly isBroken: boolean;
  /** who came, such as `link:for the review`, where the tunnel is not open to everybody */
  readonly visitor: string | undefined;
  /** the request that this one repeats */
  readonly replayOf: number | undefined;
}

/** A request or a response. */
export interface RecordedMessage {
  /** request line or status line */
  readonly startLine: string;
  /** in order, names as sent; values of secrets are replaced */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** without chunked coding, as far as it is kept */
  readonly body: Uint8Array;
  /** whether there was more body than is kept */
  readonly isTruncated: boolean;
}

export interface RequestDetail extends RequestSummary {
  readonly request: RecordedMessage;
  /** `undefined` until its head is complete */
  readonly response: RecordedMessage | undefined;
}
