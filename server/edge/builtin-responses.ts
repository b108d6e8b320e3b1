/**
 * The relay's own responses to visitors (protocol.md sections 4.5 and 5.4), and the warning before the first page of a
 * tunnel on the free plan (docs/decisions/0013-notice.md). Programs never get that: only browsers can send
 * `Sec-Fetch-Mode: navigate`, for pages and frames that a person opens.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { type ApiError, VISITOR_ERRORS, type VisitorErrorCode } from '../../shared/errors.ts';
import { cookieValues, fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { type AcceptingRequest, errorContent, escapeHtml, page } from '../../shared/page.ts';
import { REQUEST_ID_FIELD } from '../log.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { HOST_NOTICE_COOKIE, NOTICE_COOKIE } from './request-head.ts';

/**
 * How long before a browser sees a free-plan tunnel's warning page again: longer than nearly all of those
 * tunnels exist.
 */
export const NOTICE_COOKIE_SECONDS = 30 * 24 * 3600;

/** The facts about a request that determine the response, as far as the request was read. */
interface RequestFacts extends AcceptingRequest {
  /** Whether the request is a HEAD, whose response has no body. */
  readonly headOnly?: boolean;
}

/** A response of the relay instead of the request's target. */
export interface OwnResponse {
  readonly status: number;
  /** Whether the request was refused. */
  readonly refuses: boolean;
  /** why, if the reason is in the catalogue of visitor errors */
  readonly error?: VisitorErrorCode | undefined;
  /** its fields but those about the connection, each with its line end */
  readonly lines: string;
  /** as it is sent */
  readonly body: Buffer;
  /**
   * The whole response as HTTP/1.1.
   *
   * @param close whether the connection ends with it
   */
  readonly bytes: (close: boolean) => Buffer;
}

/** The facts that determine the response to a request; `undefined` for one without a known head. */
export function requestFacts(plan: { readonly head: RequestHead } | undefined): RequestFacts {
  if (plan === undefined) return {};
  const { method, fields } = plan.head;
  return { accept: fieldValue(fields, 'accept'), headOnly: method === 'HEAD', isGet: method === 'GET' };
}

/**
 * The facts about a request that is refused for its head. Only two things in that head are trusted: the form that the
 * visitor can read, because browsers also cause such heads with a long address or many cookies; and whether it is a
 * HEAD, or may become one, because a proxy treats what follows the head of such a response as the next response.
 *
 * @param head as much of it as has arrived, latin1
 */
export function factsOfHead(head: string): RequestFacts {
  const start = head.trimStart().slice(0, HEAD_START.length);
  return {
    accept: ACCEPT_LINE.exec(head)?.[1],
    headOnly: start !== '' && HEAD_START.startsWith(start),
  };
}

const HEAD_START = 'HEAD ';
const ACCEPT_LINE = /\r\naccept:([^\r\n]*)\r\n/i;

const ALLOW = 'Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n';
const EXTRA: Partial<Record<VisitorErrorCode, string>> = {
  'method-not-allowed': ALLOW,
  'too-many': 'Retry-After: 5\r\n',
  'relay-busy': 'Retry-After: 5\r\n',
  'tunnel-busy': 'Retry-After: 5\r\n',
  'tunnel-offline': 'Retry-After: 5\r\n',
  'domain-offline': 'Retry-After: 5\r\n',
  'plan-limit': 'Retry-After: 5\r\n',
  'client-timeout': 'Retry-After: 5\r\n',
};

/**
 * The response for an error of the visitor catalogue.
 *
 * @param contact address of a link for complaints
 * @param text replaces the catalogue's text
 */
export function errorResponse(
  code: VisitorErrorCode,
  request: RequestFacts,
  contact: string | undefined,
  text?: string,
): OwnResponse {
  const { status, fields, contentType, body } = errorContent(code, request, text, contact);
  const { headOnly } = request;
  return reply({ status, error: code, fields: fields + (EXTRA[code] ?? ''), contentType, body, headOnly });
}

/** Valid requests that the relay responds to itself. */
export type OwnRoute =
  /** OPTIONS of the whole server */
  | { readonly kind: 'options' }
  /** to the same address with a slash after the prefix */
  | { readonly kind: 'redirect'; readonly location: string };

/** The response to a request of that kind. */
export function routeResponse(route: OwnRoute): OwnResponse {
  if (route.kind === 'options') return reply({ status: 204, fields: ALLOW });
  return reply({ status: 308, fields: `Location: ${route.location}\r\n` });
}

/** The response for a refused upgrade: the JSON error body of the REST interface. */
export function upgradeRefusal(error: ApiError): OwnResponse {
  const { status } = error;
  let fields = '';
  const headers = { [REQUEST_ID_FIELD]: randomUUID(), ...error.headers };
  for (const [name, value] of Object.entries(headers)) fields += `${name}: ${value}\r\n`;
  const body = JSON.stringify(error.body);
  return reply({ status, fields, contentType: 'application/json; charset=utf-8', body });
}

interface Reply {
  readonly status: number;
  /** why the request was refused, if the reason is in the catalogue of visitor errors */
  readonly error?: VisitorErrorCode | undefined;
  /** more field lines, each with its line end */
  readonly fields?: string;
  /** of the body, if there is one */
  readonly contentType?: string;
  readonly body?: string;
  /** Whether the request is a HEAD, whose response has no body. */
  readonly headOnly?: boolean | undefined;
}

const NOTHING = Buffer.alloc(0);

/** Every response of the relay itself to a visitor: whole, and not to be cached. */
export function reply({
  status,
  error,
  fields = '',
  contentType,
  body = '',
  headOnly = false,
}: Reply): OwnResponse {
  const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
  // A 204 has no length (RFC 9110 section 8.6).
  const length = status === 204 ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  const lines = `${type}${length}Cache-Control: no-store\r\n${fields}Date: ${new Date().toUTCString()}\r\n`;
  const sent = headOnly || body === '' ? NOTHING : Buffer.from(body);
  return {
    status,
    refuses: status >= 400,
    error,
    lines,
    body: sent,
    bytes: (close) => {
      const start = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}\r\n`;
      // An address that a visitor has sent may contain any bytes.
      const head = Buffer.from(`${start}${lines}${close ? 'Connection: close\r\n' : ''}\r\n`, 'latin1');
      return sent.length === 0 ? head : Buffer.concat([head, sent]);
    },
  };
}

/** Query parameter that the link on the page adds. */
const PARAMETER = 'culvert_notice=seen';
const COOKIE = /^(\d{1,12})\.([\w-]{43})$/;

export interface NoticeOptions {
  /** shared by the relays on a database, so that each accepts the cookies of all */
  readonly secret: string;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

/** The address of a request: `prefix` is `/t/{slug}` in the path form, else empty, and `target` is what follows it. */
export interface Visit {
  readonly tunnel: LiveTunnel;
  readonly prefix: string;
  readonly target: string;
  /** of a wildcard tunnel, in lower case: each host has its own access cookies */
  readonly host?: string | undefined;
}

export class Notice {
  readonly #options: NoticeOptions;

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** @returns the notice instead of the tunnel's response; `undefined` lets the request pass */
  responseTo(head: RequestHead, visit: Visit): OwnResponse | undefined {
    if (visit.tunnel.account.plan !== 'free' || head.method !== 'GET') return undefined;
    if (fieldValue(head.fields, 'sec-fetch-mode') !== 'navigate') return undefined;
    const path = visit.prefix + visit.target;
    const address = withoutParameter(path, PARAMETER);
    const isKnown = this.#isKnown(head, visit);
    // A link from elsewhere may also have the parameter, and then nobody has read the notice.
    const isTold = isKnown || fieldValue(head.fields, 'sec-fetch-site') === 'same-origin';
    if (address !== path && isTold) return this.#redirect(visit, address);
    return isKnown ? undefined : this.#tell(head, visit, address);
  }

  #isKnown(head: RequestHead, visit: Visit): boolean {
    return cookieValues(head.fields, this.#cookieName(visit)).some((value) => {
      const [, expires = '', mac = ''] = COOKIE.exec(value) ?? [];
      if (Number(expires) * 1000 <= this.#options.now()) return false;
      return timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(visit, expires)));
    });
  }

  #redirect(visit: Visit, address: string): OwnResponse {
    const { now, secure } = this.#options;
    const expires = String(Math.floor(now() / 1000) + NOTICE_COOKIE_SECONDS);
    const cookie =
      `${this.#cookieName(visit)}=${expires}.${this.#mac(visit, expires)}; Path=${visit.prefix || '/'}; ` +
      `Max-Age=${NOTICE_COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    return reply({
      status: 303,
      fields: `Location: ${onThisHost(address)}\r\nSet-Cookie: ${cookie}\r\n`,
    });
  }

  #tell(head: RequestHead, { prefix }: Visit, address: string): OwnResponse {
    const { fields } = head;
    // Browsers prefer HTML for every page.
    const facts = requestFacts({ head });
    if (!prefersHtml(facts.accept)) return errorResponse('notice', facts, this.#options.contact);
    const { status, title, text } = VISITOR_ERRORS.notice;
    const onward = `${onThisHost(address)}${address.includes('?') ? '&' : '?'}${PARAMETER}`;
    const html = `<p>You are about to open a page at</p>
<p><code>${escapeHtml((fieldValue(fields, 'host') ?? '') + prefix)}</code></p>
<p>${escapeHtml(text)}</p>
<p><strong>Do not enter passwords, payment details or anything private</strong> unless you know and trust the person who gave you this address.</p>
<p><a class="go" href="${escapeHtml(onward)}">Continue to the page</a></p>`;
    const body = page(title, html, undefined, this.#options.contact);
    const contentType = 'text/html; charset=utf-8';
    return reply({ status, error: 'notice', fields: PAGE_FIELDS, contentType, body });
  }

  /** A cookie is valid only for its tunnel and the form of its address. */
  #mac({ tunnel, prefix }: Visit, expires: string): string {
    const form = prefix === '' ? 'host' : 'path';
    return createHmac('sha256', this.#options.secret)
      .update(`notice ${form} ${tunnel.id} ${expires}`)
      .digest('base64url');
  }

  #cookieName({ prefix }: Visit): string {
    return this.#options.secure && prefix === '' ? HOST_NOTICE_COOKIE : NOTICE_COOKIE;
  }
}

/** A framed page would look like a part of another one, and could be clicked without being read. */
const PAGE_FIELDS =
  'Culvert-Error: notice\r\n' +
  "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n" +
  'X-Frame-Options: DENY\r\n' +
  'X-Robots-Tag: noindex\r\n';

/** Addresses that the relay's own pages link to. */

/** @returns the path without a parameter that a page of the relay has appended */
export function withoutParameter(path: string, parameter: string): string {
  const end = path.length - parameter.length - 1;
  const isThere = path.endsWith(parameter) && (path[end] === '?' || path[end] === '&');
  return isThere ? path.slice(0, end) : path;
}

/** Turns a path into a reference that stays on its host: one that begins with two slashes would name another host. */
export function onThisHost(path: string): string {
  const written = path.replaceAll(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
  return /^\/[/\\]/.test(written) ? `/.${written}` : written;
}
