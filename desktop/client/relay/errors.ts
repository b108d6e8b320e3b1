/** Errors between the engine and a relay, grouped by whether the relay answered. */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { ALL_API_ERRORS, API_ERRORS, type ApiErrorEntry, type ErrorValues } from '../../../shared/errors.ts';
import { replaceUnprintable, withoutEnd } from '../../../shared/unprintable.ts';
import { systemClock } from '../clock.ts';
import { MessageError, toMessage, type MessageValue, textOf } from '../messages.ts';
import { lookupFor, describeNetworkError } from '../network/dial.ts';
import type { CallResponse, Endpoint, Network } from '../network/network.ts';
import type { RelayAddress } from './relay-address.ts';
import { RelayClock } from './relay-clock.ts';

/** How long a local server that rejected plain HTTP may take to show that it speaks TLS. */
export const TLS_PROBE_TIMEOUT_MS = 2000;
/**
 * How far this machine's clock and the relay's may differ before the clock is mentioned with a certificate that
 * is not valid at this time: smaller differences are common, and rarely the cause.
 */
const CLOCK_SUSPECT_MS = 5 * 60_000;

/** The relay responded with an unexpected status. */
export class RelayRefusal extends MessageError {
  readonly status: number;
  /** ms to wait before another try, if the relay asked for that */
  readonly retryAfterMs: number | undefined;
  /**
   * Whether it has the form of the relay's own responses. If not, a proxy in between or another program may have sent
   * it.
   */
  readonly isOwn: boolean;

  /**
   * @param text the error text of the response (protocol.md section 2.2); if the relay has sent no code, a text of the
   *   catalogue is as good as one
   */
  constructor(
    status: number,
    text: MessageValue,
    {
      code = ALL_API_ERRORS.find((entry) => entry.status === status && entry.text === text)?.code,
      values = {},
      retryAfterMs,
      isOwn = true,
    }: {
      code?: string | undefined;
      values?: ErrorValues | undefined;
      retryAfterMs?: number | undefined;
      isOwn?: boolean;
    } = {},
  ) {
    super(code === undefined ? text : { refusal: code, text: textOf(text), values }, { code });
    this.name = 'RelayRefusal';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isOwn = isOwn;
  }

  /** Whether it is that error of the catalogue, and the relay's own. */
  is({ status, code }: ApiErrorEntry): boolean {
    return this.isOwn && this.status === status && this.code === code;
  }
}

/** Whether the relay itself responds that the key is unknown or revoked. */
export function refusesKey(error: unknown): boolean {
  return error instanceof RelayRefusal && error.is(API_ERRORS.invalidKey);
}

/** The relay could not be reached, the connection broke off, or the response is not a relay's. */
export class RelayUnreachable extends MessageError {
  constructor(said: MessageValue, options?: ErrorOptions) {
    super(said, options);
    this.name = 'RelayUnreachable';
  }
}

/** The relay does not support access policies. */
export class AccessUnsupported extends MessageError {
  /** @param outcome what happened to the tunnel */
  constructor(outcome: MessageValue) {
    super(toMessage('relay.noAccess', { outcome }), { code: 'relay-without-it', field: 'lock' });
    this.name = 'AccessUnsupported';
  }
}

/** The relay does not support domains. */
export class DomainUnsupported extends MessageError {
  constructor() {
    super(toMessage('relay.noDomains'), { code: 'relay-without-it', field: 'domain' });
    this.name = 'DomainUnsupported';
  }
}

/** The relay has opened a tunnel of HTTP instead. */
export class ProtocolUnsupported extends MessageError {
  /** @param outcome what happened to that tunnel, as a sentence without its full stop */
  constructor(protocol: string, outcome: MessageValue) {
    super(toMessage('relay.noProtocol', { protocol, outcome }), {
      code: 'relay-without-it',
      field: 'protocol',
    });
    this.name = 'ProtocolUnsupported';
  }
}

/** The relay does not keep names. */
export class NamesUnsupported extends MessageError {
  constructor() {
    super(toMessage('relay.noNames'), { code: 'relay-without-it', field: 'keep' });
    this.name = 'NamesUnsupported';
  }
}

/* Reading a relay's error responses. */

const ERROR_TEXT_MAX = 300;
const ERROR_CODE = /^[a-z0-9-]{1,64}$/;
const VALUES_MAX = 16;
const VALUE_NAME = /^[a-z_]{1,32}$/;

/**
 * Reads an error response (protocol.md section 2.2). The relay's own has JSON, and for a 401 also its challenge.
 *
 * @param now ms since the epoch
 */
export function readRefusal(
  status: number,
  headers: Pick<IncomingHttpHeaders, 'retry-after' | 'www-authenticate'> & {
    readonly 'culvert-error-values'?: string | readonly string[] | undefined;
  },
  body: string,
  now: number,
): RelayRefusal {
  const error = readErrorBody(body);
  const isChallenge = /^bearer\b/i.test(headers['www-authenticate'] ?? '');
  return new RelayRefusal(status, error?.text ?? toMessage('relay.status', { status }), {
    code: error?.code,
    values: readValues(headers['culvert-error-values']),
    retryAfterMs: readRetryAfter(headers['retry-after'], now),
    isOwn: error !== undefined && (status !== 401 || isChallenge),
  });
}

interface ErrorBody {
  readonly text: string;
  readonly code: string | undefined;
}

/**
 * What `{"error": "<text>", "code": "<code>"}` has. The text is made safe for a terminal, printable and bounded, and is
 * without its final punctuation.
 *
 * @returns `undefined` if the body is not such JSON, as from a proxy in front of the relay; the code may be missing
 */
export function readErrorBody(body: string): ErrorBody | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, code } = value as Partial<Record<string, unknown>>;
  if (typeof error !== 'string') return undefined;
  // The text becomes a part of sentences.
  const text = withoutEnd(printable(error));
  if (text === '') return undefined;
  return { text, code: typeof code === 'string' && ERROR_CODE.test(code) ? code : undefined };
}

/** @param field {@link ERROR_VALUES_FIELD} of a response; its texts are made safe for a terminal as well */
export function readValues(field: string | readonly string[] | undefined): ErrorValues {
  let given: unknown;
  try {
    given = typeof field === 'string' ? JSON.parse(field) : undefined;
  } catch {
    return {};
  }
  if (typeof given !== 'object' || given === null) return {};
  const values: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(given).slice(0, VALUES_MAX)) {
    if (!VALUE_NAME.test(name)) continue;
    if (typeof value === 'number') values[name] = value;
    if (typeof value === 'string') values[name] = printable(value);
  }
  return values;
}

function printable(text: string): string {
  return replaceUnprintable(text.slice(0, ERROR_TEXT_MAX).toWellFormed(), ' ');
}

/** The longest wait in ms that is read as seconds; a date may be later. */
const RETRY_AFTER_MAX = 999_999_999_000;

/**
 * Reads a `Retry-After` field: whole seconds or a date (RFC 9110 section 10.2.3).
 *
 * @param now ms since the epoch
 * @returns ms to wait, which callers may shorten, or `undefined` if the field is missing or malformed
 */
export function readRetryAfter(value: string | null | undefined, now: number): number | undefined {
  if (value === null || value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.min(Math.max(0, date - now), RETRY_AFTER_MAX);
}

/** How a server that speaks TLS reacts to a request without it. */
const BROKEN_OFF = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Describes in plain words why a relay could not be called. Recognises a relay that needs TLS and was called without
 * it.
 */
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
  const why = describeNetworkError(error);
  if (!relay.secure || !isAboutTime(error) || network.proxyFor(relay) !== undefined) return why;
  const aheadMs = await clockAhead(relay);
  if (Math.abs(aheadMs) < CLOCK_SUSPECT_MS) return why;
  const by = timeSpan(Math.abs(aheadMs));
  return toMessage(aheadMs > 0 ? 'network.clockBehind' : 'network.clockAhead', { why, by });
}

/** @returns the failure of a call that did not reach the relay */
export async function unreachable(
  error: unknown,
  network: Network,
  relay: RelayAddress,
): Promise<RelayUnreachable> {
  const why = await describeReachError(error, network, relay);
  return new RelayUnreachable(toMessage('relay.unreachable', { origin: relay.origin, why }), {
    cause: error,
  });
}

/**
 * Describes a redirect, which is not followed. The port of a relay's TLS redirects a request without TLS to itself.
 *
 * @returns `undefined` for another response
 */
export function describeRedirect(
  { status, headers: { location } }: Pick<CallResponse, 'status' | 'headers'>,
  relay: RelayAddress,
): MessageValue | undefined {
  if (status < 300 || status > 399 || location === undefined) return undefined;
  const url = URL.parse(location, relay.origin);
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    return toMessage('relay.moved', { address: toMessage('relay.noWebAddress') });
  return !relay.secure && url.protocol === 'https:' && url.host === relay.host
    ? toMessage('network.speaksTls', { host: relay.host })
    : toMessage('relay.moved', { address: url.origin });
}

/** Whether a certificate is not valid at this moment, which may be the fault of this machine's clock. */
function isAboutTime(error: unknown): boolean {
  return /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/.test(String((error as { readonly code?: unknown }).code));
}

/**
 * Asks a server for the time, whatever its certificate. The answer is only shown, and the request contains no secret.
 *
 * @returns ms that the server's clock is ahead of this machine's; 0 if it does not say
 */
function clockAhead({ hostname, port, host }: RelayAddress): Promise<number> {
  // Imported, it would be loaded when the program starts.
  const { request } = process.getBuiltinModule('node:https');
  const signal = AbortSignal.timeout(TLS_PROBE_TIMEOUT_MS);
  const lookup = lookupFor(hostname);
  const clock = new RelayClock(systemClock);
  return new Promise((resolve) => {
    const sent = request(
      {
        hostname,
        port,
        lookup,
        signal,
        method: 'HEAD',
        path: '/healthz',
        headers: { host },
        rejectUnauthorized: false,
        agent: false,
      },
      (response) => {
        clock.set(response.headers.date);
        sent.destroy();
        resolve(clock.aheadMs);
      },
    );
    sent.on('error', () => resolve(0));
    sent.end();
  });
}

function timeSpan(ms: number): MessageValue {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return toMessage('network.minutes', { count: minutes });
  const hours = Math.round(minutes / 60);
  return hours < 48
    ? toMessage('network.hours', { count: hours })
    : toMessage('network.days', { count: Math.round(hours / 24) });
}

function isBrokenOff(error: unknown): boolean {
  // A `TimeoutError` has a number there.
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && (BROKEN_OFF.has(code) || code.startsWith('HPE_'));
}

/** Whether a server speaks TLS, with any certificate. Nothing but the handshake is sent. */
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
    // A total time limit: with one per byte, a server could keep the client waiting by sending slowly.
    const timer = setTimeout(() => settle(false), TLS_PROBE_TIMEOUT_MS);
    socket.once('secureConnect', () => settle(true));
    socket.on('error', () => settle(false));
  });
}
