/** The response to a visitor if the local service gives none (protocol.md section 4.5). */
import { STATUS_CODES } from 'node:http';
import { CloseCode } from '../../../shared/control.ts';
import { VISITOR_ERRORS, type VisitorErrorCode } from '../../../shared/errors.ts';
import { HeadReader, parseRequestHead, type RequestHead } from '../../../shared/http1/head.ts';
import { hostname, uriHost } from '../../../shared/networks.ts';
import { errorContent } from '../../../shared/page.ts';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { DataSocket } from '../data/data-dialer.ts';
import { type Message, type MessageCode, type MessageValue, toMessage } from '../messages.ts';
import { describeNetworkError, isTlsAlert } from '../network/dial.ts';
import { describeTarget, type LocalTarget, usesTls } from './local-service.ts';
import { NO_LIMITS, REQUEST_HEAD_MAX_BYTES } from '../data/stream-filter.ts';

/**
 * How long the relay may take to send a request's headers. The relay forwards complete heads, so a missing head
 * means that something is broken.
 */
const REQUEST_HEAD_TIMEOUT_MS = 10_000;

/** How the local service failed. */
export type LocalErrorCode = Extract<VisitorErrorCode, `local-${string}`>;

/** Why a local service that accepts connections could not be asked. */
export class LocalFailure extends Error {
  readonly code: Exclude<LocalErrorCode, 'local-refused' | 'local-reset'>;
  /** the line that was refused, of a `local-malformed` */
  readonly line: string;

  constructor(code: LocalFailure['code'], line = '') {
    super(VISITOR_ERRORS[code].text);
    this.code = code;
    this.line = line;
  }
}

/* Why the local service cannot be reached, for its owner and for its visitors. */

const FAILURES = {
  'local-malformed': 'local.malformed',
  'local-not-http2': 'local.notHttp2',
  'local-no-websocket': 'local.noWebSocket',
  'local-busy': 'local.busy',
} as const satisfies Record<LocalFailure['code'], MessageCode>;

/** Whether nothing listens, as while a service restarts. */
export function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED';
}

/** Describes the error of a dial for the owner of the service, in sentences. */
export function describeLocalError(target: LocalTarget, error: Error): Message {
  const service = describeTarget(target);
  if (error instanceof LocalFailure)
    return toMessage(FAILURES[error.code], {
      service,
      upstream: target.upstream ?? 'http1',
      line: error.line,
    });
  if (isRefusal(error)) return toMessage('local.refused', { service });
  return toMessage('local.failed', { service, why: localErrorReason(target, error) });
}

/** Describes it in a few words. */
export function localErrorReason(target: LocalTarget, error: NodeJS.ErrnoException): MessageValue {
  // Elsewhere, it means that this machine has no network.
  if (error.code === 'EADDRNOTAVAIL') return toMessage('local.noPorts');
  return endsHandshake(target, error) ? toMessage('network.tlsClosed') : describeNetworkError(error);
}

/** What happened, and what the visitor is told. */
export interface LocalFault {
  readonly code: LocalErrorCode;
  /** in sentences */
  readonly text: string;
}

/** Describes it for a visitor, who may not care about more than who can do something about it. */
export function localFault(target: LocalTarget, error: Error): LocalFault {
  if (error instanceof LocalFailure) return faultOf(error.code);
  if (isRefusal(error)) return faultOf('local-refused');
  const isTls = isTlsAlert(error) || endsHandshake(target, error);
  return { code: 'local-refused', text: isTls ? TLS_REFUSED : UNREACHED };
}

export function faultOf(code: LocalErrorCode): LocalFault {
  return { code, text: VISITOR_ERRORS[code].text };
}

const TLS_REFUSED =
  "The tunnel is online, but the local service behind it refused the TLS handshake. The output of the tunnel's client shows why.";
const UNREACHED =
  "The tunnel is online, but its client cannot connect to the local service behind it. The output of the tunnel's client shows why.";

/** Whether the service has closed a connection that it had accepted, before it was encrypted. */
function endsHandshake(target: LocalTarget, { code }: NodeJS.ErrnoException): boolean {
  return usesTls(target) && (code === 'ECONNRESET' || code === 'EPIPE');
}

/** Waits for the request on a data socket, responds with a 502 and closes the socket. */
export class LocalErrorResponse implements ByteStreamHandler, Expiring {
  readonly #stream: DataSocket;
  readonly #fault: LocalFault;
  readonly #deadlines: Deadlines;
  readonly #onEnd: () => void;
  readonly #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  #ended = false;

  /**
   * Closes a stream without a complete request head within {@link REQUEST_HEAD_TIMEOUT_MS} with 1011.
   *
   * @param onEnd called once, when the response has been written or the stream has ended
   */
  constructor(stream: DataSocket, fault: LocalFault, deadlines: Deadlines, onEnd: () => void) {
    this.#stream = stream;
    this.#fault = fault;
    this.#deadlines = deadlines;
    this.#onEnd = onEnd;
  }

  start(): void {
    this.#deadlines.add(this, REQUEST_HEAD_TIMEOUT_MS);
    this.#stream.attach(this);
  }

  /** Cuts the data socket. */
  cut(): void {
    this.#stream.destroy();
    this.#end();
  }

  onStreamData(chunk: Buffer): void {
    if (this.#ended) return;
    const head = this.#reader.push(chunk);
    if (head === undefined) return;
    const request = typeof head === 'string' ? undefined : parseRequestHead(head.head, NO_LIMITS);
    if (request === undefined || typeof request === 'string') {
      this.#finish(CloseCode.internalError);
      return;
    }
    this.#stream.write(localErrorResponse(request, this.#fault));
    this.#finish(CloseCode.normal);
  }

  onStreamDrain(): void {}

  onStreamClose(): void {
    this.#end();
  }

  expire(): void {
    this.#finish(CloseCode.internalError);
  }

  #finish(code: number): void {
    this.#stream.close(code);
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#deadlines.delete(this);
    this.#onEnd();
  }
}

/** The whole response, in a form the visitor accepts; without content for HEAD. */
export function localErrorResponse(request: RequestHead, fault: LocalFault): Buffer {
  const accept = request.fields.filter((field) => field.is('accept')).map((field) => field.value);
  const content = errorContent(
    fault.code,
    { accept: accept.length === 0 ? undefined : accept.join(', '), isGet: request.method === 'GET' },
    fault.text,
  );
  const body = Buffer.from(content.body);
  const head = Buffer.from(
    `HTTP/1.1 ${content.status} ${STATUS_CODES[content.status]}\r\n` +
      `Content-Type: ${content.contentType}\r\nContent-Length: ${body.length}\r\n` +
      `Cache-Control: no-store\r\n${content.fields}Connection: close\r\n\r\n`,
  );
  return request.method === 'HEAD' ? head : Buffer.concat([head, body]);
}

/** Detects a local service that refuses the visitors' host name, as dev servers do to protect against other sites. */

/** The texts of refusals, with the server that sends each. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/Blocked request\. This host/, 'Vite: server.allowedHosts'],
  [/^Invalid Host(?:\/Origin)? header/m, 'webpack: devServer.allowedHosts'],
  [/^Invalid host$/m, 'Storybook: core.allowedHosts'],
  [/DisallowedHost|Invalid HTTP_HOST header/, 'Django: ALLOWED_HOSTS'],
  [/Blocked hosts?:/, 'Rails: config.hosts'],
  [/Bad Request - Invalid Host/, 'ASP.NET: AllowedHosts'],
];
/**
 * Jupyter gives no reason: it refuses the host with an empty page, and a wrong form with one like it. Its other refusals
 * are JSON.
 */
const JUPYTER_POLICY = 'api/security/csp-report';
const HTML = /^Content-Type: text\/html\r\n/m;
const JUPYTER_SETTING = 'Jupyter: ServerApp.allow_remote_access';
const HEAD = /^HTTP\/1\.[01] (?:400|403|421) /;
/** All of them begin with the refusal; Django sends some markup first. */
const LOOK_MAX_BYTES = 4096;

/**
 * Next.js refuses WebSockets of its development server, for hot reload, with a body that no head precedes. Without them,
 * a page is shown but does not respond.
 */
const NEXT_REFUSAL = 'Unauthorized';
const NEXT_RESOURCES = '/_next/';
const NEXT_SETTING = 'Next.js: allowedDevOrigins';

/** What a piece of a response shows about the host name. */
type HostRefusal =
  | { readonly kind: 'none' }
  /** a refusal, if the next piece gives that reason */
  | { readonly kind: 'perhaps' }
  /** @param setting the setting that makes the service accept the name */
  | { readonly kind: 'refused'; readonly setting: string };

const NONE: HostRefusal = { kind: 'none' };
const PERHAPS: HostRefusal = { kind: 'perhaps' };

/**
 * Looks at the beginning of a piece of a response.
 *
 * @param isBody whether the previous piece was `perhaps`, so that this one needs no head
 * @param request the start of the request, if the response begins with this piece
 */
export function findHostRefusal(piece: Buffer, isBody: boolean, request?: Buffer): HostRefusal {
  const text = piece.toString('latin1', 0, LOOK_MAX_BYTES);
  if (text === NEXT_REFUSAL && targetOf(request).includes(NEXT_RESOURCES))
    return { kind: 'refused', setting: NEXT_SETTING };
  if (!isBody && !HEAD.test(text)) return NONE;
  if (request?.[0] === G && HTML.test(text) && text.includes(JUPYTER_POLICY))
    return { kind: 'refused', setting: JUPYTER_SETTING };
  for (const [pattern, setting] of REFUSALS) if (pattern.test(text)) return { kind: 'refused', setting };
  return !isBody && text.endsWith('\r\n\r\n') ? PERHAPS : NONE;
}

/** Of `GET`. */
const G = 0x47;

function targetOf(request: Buffer | undefined): string {
  return request?.toString('latin1', 0, LOOK_MAX_BYTES).split(' ', 2)[1] ?? '';
}

/** @returns the Host to send instead of the visitor's; `undefined` to keep it */
export function replacementHost(target: LocalTarget): string | undefined {
  const { hostHeader = 'keep' } = target;
  if (hostHeader === 'keep') return undefined;
  return hostHeader === 'local' ? localAuthority(target) : hostHeader;
}

/** @returns the name that the service is asked for in a TLS handshake, which its certificate has to be valid for */
export function tlsName({ host, hostHeader = 'keep' }: LocalTarget): string {
  return hostHeader === 'keep' || hostHeader === 'local' ? host : hostname(hostHeader);
}

/** @returns the origin that replaces the tunnel's own in `Origin` and `Referer`; `undefined` to keep it */
export function replacementOrigin(target: LocalTarget): string | undefined {
  return target.hostHeader === 'local'
    ? `${schemeOf(target)}://${localAuthority(target).toLowerCase()}`
    : undefined;
}

/** As a browser on this machine writes it: services compare the two fields, and an origin has no default port. */
function localAuthority(target: LocalTarget): string {
  const isDefault = target.port === (schemeOf(target) === 'https' ? 443 : 80);
  return isDefault ? uriHost(target.host) : `${uriHost(target.host)}:${target.port}`;
}

function schemeOf(target: LocalTarget): 'http' | 'https' {
  return usesTls(target) ? 'https' : 'http';
}
