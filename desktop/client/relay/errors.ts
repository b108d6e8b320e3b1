/** What can go wrong between the engine and a relay, told apart by whether the relay answered. */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { API_ERRORS, type ApiErrorEntry } from '../../../shared/errors.ts';
import { replaceUnprintable, withoutEnd } from '../../../shared/unprintable.ts';
import { TLS_PROBE_TIMEOUT_MS } from '../limits.ts';
import { MessageError, toMessage, type MessageValue, textOf } from '../messages.ts';
import { lookupFor, describeNetworkError } from '../network/dial.ts';
import type { Endpoint, Network } from '../network/network.ts';
import type { RelayAddress } from './relay-address.ts';

/** The relay responded with another status than the expected one. */
export class RelayRefusal extends MessageError {
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
    text: MessageValue,
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
export class RelayUnreachable extends MessageError {
  constructor(said: MessageValue, options?: ErrorOptions) {
    super(said, options);
    this.name = 'RelayUnreachable';
  }
}

/** The relay is too old to restrict who may come into a tunnel. */
export class AccessUnsupported extends MessageError {
  /** @param outcome what became of the tunnel */
  constructor(outcome: MessageValue) {
    super(toMessage('relay.noAccess', { outcome }));
    this.name = 'AccessUnsupported';
  }
}

/** The relay is too old to know domains. */
export class DomainUnsupported extends MessageError {
  /** @param outcome what became of the tunnel */
  constructor(outcome: MessageValue) {
    super(toMessage('relay.noDomains', { outcome }));
    this.name = 'DomainUnsupported';
  }
}

/* Reading what a relay says about a refusal. */

const ERROR_TEXT_MAX = 300;
const ERROR_CODE = /^[a-z0-9-]{1,64}$/;

/**
 * Reads a response with an error (docs/protocol.md section 2.2): the relay's own has JSON, and a 401 also the challenge of its scheme.
 *
 * @param now ms since the epoch
 */
export function readRefusal(
  status: number,
  headers: Pick<IncomingHttpHeaders, 'retry-after' | 'www-authenticate'>,
  body: string,
  now: number,
): RelayRefusal {
  const error = readErrorBody(body);
  const isChallenge = /^bearer\b/i.test(headers['www-authenticate'] ?? '');
  return new RelayRefusal(status, error?.text ?? toMessage('relay.status', { status }), {
    code: error?.code,
    retryAfterMs: readRetryAfter(headers['retry-after'], now),
    isOwn: error !== undefined && (status !== 401 || isChallenge),
  });
}

/**
 * Text and code of `{"error": "<text>", "code": "<code>"}`, the text made safe for a terminal: nothing unprintable, bounded,
 * and without the mark that it ends with.
 *
 * @returns `undefined` when the body is not such JSON, as from a proxy in front of the relay; no code where there is none
 */
export function readErrorBody(body: string): { text: string; code: string | undefined } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, code } = value as Partial<Record<string, unknown>>;
  if (typeof error !== 'string') return undefined;
  // It becomes a part of sentences.
  const text = withoutEnd(replaceUnprintable(error.slice(0, ERROR_TEXT_MAX).toWellFormed(), ' '));
  if (text === '') return undefined;
  return {
    text,
    code: typeof code === 'string' && ERROR_CODE.test(code) ? code : undefined,
  };
}

/** ms of the longest wait that seconds can say; a date may be later. */
const RETRY_AFTER_MAX = 999_999_999_000;

/**
 * Reads a `Retry-After` field: whole seconds or a date (RFC 9110 section 10.2.3).
 *
 * @param now ms since the epoch
 * @returns ms to wait, of which callers wait as long as they think fit, or `undefined` when the field is missing or malformed
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now), RETRY_AFTER_MAX);
}

/** What a server that speaks TLS does with a request without it. */
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE']);

/** Says in plain words why a relay could not be asked; a relay that speaks TLS, and was asked without it, is named so. */
export async function describeReachError(
  error: unknown,
  network: Network,
  relay: RelayAddress,
): Promise<MessageValue> {
  if (
    !relay.secure &&
    isBrokenOff(error) &&
    network.proxyFor(relay) === undefined &&
    (await speaksTls(relay))
  )
    return toMessage('network.speaksTls', { host: relay.host });
  return describeNetworkError(error);
}

function isBrokenOff(error: unknown): boolean {
  // A `TimeoutError` has a number there.
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && (BROKEN_OFF.has(code) || code.startsWith('HPE_'));
}

/** Whether a server speaks TLS, whoever has signed its certificate. Nothing is said to it beyond the handshake. */
export function speaksTls({ hostname, port }: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const servername = isIP(hostname) === 0 ? hostname : undefined;
    const lookup = lookupFor(hostname);
    const socket = connect({ host: hostname, port, servername, lookup, rejectUnauthorized: false });
    const settle = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // Not the time without a byte: a server that sends one now and then would be waited for without end.
    const timer = setTimeout(() => settle(false), TLS_PROBE_TIMEOUT_MS);
    socket.once('secureConnect', () => settle(true));
    socket.on('error', () => settle(false));
  });
}
