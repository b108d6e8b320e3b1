/**
 * The warning before the first page of a tunnel on the free plan (docs/decisions/0013-notice.md). Programs never get
 * it: only browsers can send `Sec-Fetch-Mode: navigate`, for pages and frames that a person opens.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { cookieValues, fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { NOTICE_COOKIE_SECONDS } from '../limits.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { errorResponse, type OwnResponse, requestFacts, wholeResponse } from './builtin-responses.ts';
import { HOST_NOTICE_COOKIE, NOTICE_COOKIE } from './request-head.ts';

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
    const fields = `Location: ${onThisHost(address)}\r\nSet-Cookie: ${cookie}\r\n`;
    const content = { status: 303, fields, contentType: 'text/plain; charset=utf-8', body: '' };
    return { status: 303, refuses: false, bytes: (close) => wholeResponse(content, close) };
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
    const content = { status, fields: PAGE_FIELDS, contentType: 'text/html; charset=utf-8', body };
    return { status, refuses: true, error: 'notice', bytes: (close) => wholeResponse(content, close) };
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
