/** What can go wrong between the engine and a relay, told apart by whether the relay answered. */

import { API_ERRORS } from '../../../shared/errors.ts';

/** The relay answered, with a status other than the one hoped for. */
export class RelayRefusal extends Error {
  readonly status: number;
  /** ms to wait before another try, where the relay asked for it */
  readonly retryAfterMs: number | undefined;
  /** Whether it has the form of the relay's own answers; else a proxy in between, or another program, may have given it. */
  readonly isOwn: boolean;

  /** @param text the error text of the answer (docs/protocol.md section 2.2) */
  constructor(
    status: number,
    text: string,
    { retryAfterMs, isOwn = true }: { retryAfterMs?: number | undefined; isOwn?: boolean } = {},
  ) {
    super(text);
    this.name = 'RelayRefusal';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isOwn = isOwn;
  }
}

/** Whether the relay says that the key is unknown or revoked, which nothing else than its own words can say. */
export function refusesKey(error: unknown): boolean {
  if (!(error instanceof RelayRefusal)) return false;
  const { status, text } = API_ERRORS.invalidKey;
  return error.isOwn && error.status === status && error.message === text;
}

/** The relay could not be reached, broke off, or answered with what is no answer of a relay. */
export class RelayUnreachable extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'RelayUnreachable';
  }
}
