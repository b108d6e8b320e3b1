/** An HTTP archive, HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), as far as it is written here. */

export interface Har {
  readonly log: {
    readonly version: '1.2';
    readonly creator: { readonly name: string; readonly version: string };
    readonly entries: readonly HarEntry[];
    readonly comment?: string;
  };
}

export interface HarEntry {
  /** ISO 8601 */
  readonly startedDateTime: string;
  /** ms */
  readonly time: number;
  readonly request: HarRequest;
  readonly response: HarResponse;
  readonly cache: Record<string, never>;
  /** ms */
  readonly timings: {
    /** -1: not known */
    readonly connect: number;
    readonly send: number;
    readonly wait: number;
    readonly receive: number;
  };
}

export interface HarPair {
  readonly name: string;
  readonly value: string;
}

interface HarMessage {
  readonly httpVersion: string;
  readonly cookies: readonly HarPair[];
  readonly headers: readonly HarPair[];
  /** bytes; -1: not known */
  readonly headersSize: number;
  readonly bodySize: number;
}

export interface HarRequest extends HarMessage {
  readonly method: string;
  readonly url: string;
  readonly queryString: readonly HarPair[];
  readonly postData?: HarBody;
}

/** HAR has no encoding for bodies of requests; names of additions begin with an underscore. */
export interface HarBody {
  readonly mimeType: string;
  readonly text: string;
  readonly _encoding?: 'base64';
  /** there was more */
  readonly _truncated?: true;
  readonly comment?: string;
}

export interface HarResponse extends HarMessage {
  /** 0: there was none */
  readonly status: number;
  readonly statusText: string;
  readonly redirectURL: string;
  readonly content: HarContent;
}

export interface HarContent {
  /** bytes of the content, without content coding */
  readonly size: number;
  readonly mimeType: string;
  readonly text?: string;
  readonly encoding?: 'base64';
  readonly _truncated?: true;
  readonly comment?: string;
}
