/** What can go wrong between the engine and a relay, told apart by whether the relay answered. */

import { API_ERRORS, type ApiErrorEntry } from '../../../shared/errors.ts';
import { say, type Sayable, SaidError, textOf } from '../said/said.ts';

/** The relay responded with another status than the expected one. */
export class RelayRefusal extends SaidError {
  readonly status: number;
  /** the error's code, which older relays do not send (docs/protocol.md section 2.2) */
  readonly code: string | undefined;
  /** ms to wait before another try, if the relay asked for it */
  readonly retryAfterMs: number | undefined;
  /** Whether it has the form of the relay's own responses; if not, a proxy in between or another program may have sent it. */
  readonly isOwn: boolean;

  /** @param text the error text of the response (docs/protocol.md section 2.2) */
  constructor(
    status: number,
    text: Sayable,
    {
      code,
      retryAfterMs,
      isOwn = true,
    }: { code?: string | undefined; retryAfterMs?: number | undefined; isOwn?: boolean } = {},
  ) {
    super(code === undefined ? text : { refusal: code, text: textOf(text) });
    this.name = 'RelayRefusal';
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.isOwn = isOwn;
  }

  /** Whether it is an error of the catalogue: by its code or, if the relay sends none, by its text. */
  is(entry: ApiErrorEntry): boolean {
    if (this.status !== entry.status) return false;
    return this.code === undefined ? this.message === entry.text : this.code === entry.code;
  }
}

/** Whether the relay says that the key is unknown or revoked, which only its own words can say. */
export function refusesKey(error: unknown): boolean {
  return error instanceof RelayRefusal && error.isOwn && error.is(API_ERRORS.invalidKey);
}

/** The relay could not be reached, the connection broke off, or the response is not a relay's. */
export class RelayUnreachable extends SaidError {
  constructor(said: Sayable, options?: ErrorOptions) {
    super(said, options);
    this.name = 'RelayUnreachable';
  }
}

/** The relay is too old to restrict who may come into a tunnel. */
export class AccessUnsupported extends SaidError {
  /** @param outcome what became of the tunnel */
  constructor(outcome: Sayable) {
    super(say('relay.noAccess', { outcome }));
    this.name = 'AccessUnsupported';
  }
}

/** The relay is too old to know domains. */
export class DomainUnsupported extends SaidError {
  /** @param outcome what became of the tunnel */
  constructor(outcome: Sayable) {
    super(say('relay.noDomains', { outcome }));
    this.name = 'DomainUnsupported';
  }
}
