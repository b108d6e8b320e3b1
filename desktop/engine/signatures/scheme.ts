/** How a service signs its webhooks, in one shape for all of them. */
import type { Verdict } from '../webhooks/verdict.ts';

/** A request, as far as signatures are about it. */
export interface SignedRequest {
  /** the address that the sender has called, as it wrote it */
  readonly url: string;
  /** The value of a field; `undefined` without it. @param name in lower case */
  field(name: string): string | undefined;
  /** as sent: without chunked coding, with its content coding */
  readonly body: Uint8Array;
}

/** What a check without missing pieces can come to. */
export type SignatureResult = Exclude<Verdict, 'no-secret' | 'body-cut'>;

/** What a new signature changes about a request. */
export interface NewSignature {
  /** name, in lower case, and value of each field that it consists of */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** another address, if the address is part of it */
  readonly url?: string;
}

/** For requests that are webhooks of the service (../webhooks/provider.ts). */
export interface SignatureScheme {
  /** What to say about a text that cannot be a secret of this service; `undefined` if it can. */
  secretProblem(secret: string): string | undefined;
  /**
   * @param secrets any of which makes the signature right; at least one
   * @param now when the request came, in wall-clock ms
   */
  check(request: SignedRequest, secrets: readonly string[], now: number): SignatureResult;
  /** @param now wall-clock ms */
  sign(request: SignedRequest, secret: string, now: number): NewSignature;
}
