/** Responses to visitors without access, a page for people and JSON for programs, and how its form is read. */
import { API_ERRORS, VISITOR_ERRORS } from '../../shared/errors.ts';
import { fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { LINK_PARAMETER } from '../../shared/links.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import { ARRIVAL_PARAMETER } from '../access/sign-in.ts';
import type { ByteStream, Dial, StreamHandler } from '../tunnels/stream.ts';
import { onThisHost, type OwnResponse, reply, type Visit, withoutParameter } from './builtin-responses.ts';
import { challengeBelow, isBarePrefix } from './path-form.ts';
import type { UpstreamHandler } from './route.ts';

/** Query parameter that the page's form adds: a POST with it is for the access page, not for the tunnel. */
const FORM_PARAMETER = 'culvert_gate';
/** The same for the button that asks for approval. */
const KNOCK_PARAMETER = 'culvert_gate=knock';
/** The same for the address that responds once the owner has answered. */
const WAIT_PARAMETER = 'culvert_gate=wait';
/** The same for the address that begins a sign-in, and for the one that begins it as somebody else. */
const SIGN_IN_PARAMETER = 'culvert_gate=sign_in';
const OTHER_PARAMETER = 'culvert_gate=sign_in_other';
/** The same for the button that opens a link, and for the address that looks whether the browser keeps a cookie. */
const OPEN_PARAMETER = 'culvert_gate=open';
/** Ends a visitor's pass, at the start page of a tunnel. */
const SIGN_OUT_TARGET = '/?culvert_sign_out';
/** Name of the password field. */
export const PASSWORD_FIELD = 'culvert_password';

/** Seconds after which wrong passwords are no longer counted. */
const RETRY_SECONDS = 60;

/** What all pages for visitors depend on. */
export interface PageContext {
  readonly head: RequestHead;
  readonly visit: Visit;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

export interface AccessPageContext extends PageContext {
  readonly access: AccessPolicy;
  /** name of the identity provider on the button; `undefined` at a relay without one */
  readonly provider: string | undefined;
  /** the challenge to agents; `undefined` at a tunnel that does not take them */
  readonly bearer?: string | undefined;
  /** Whether a password was wrong just now. */
  readonly wasWrong?: boolean;
  /** why the link that the visitor followed gives no access: it never did, or no longer; or another browser was first */
  readonly link?: 'ended' | 'used' | undefined;
}

const REFUSED_LINKS = {
  ended: {
    title: 'This link is no longer valid',
    text: 'The link that you followed no longer gives access. Ask the person who sent it to you for a new one.',
  },
  used: {
    title: 'This link was already used',
    text: 'This link gave access to the first browser that opened it. Ask the person who sent it to you for a new one.',
  },
};

/** The response to a visitor without access. */
export function accessPage(
  code: 'access-required' | 'access-address' | 'access-attempts',
  context: AccessPageContext,
): OwnResponse {
  const { head, visit, access, contact, provider, wasWrong = false, link } = context;
  const { status } = VISITOR_ERRORS[code];
  const { title, text } = link === undefined ? VISITOR_ERRORS[code] : REFUSED_LINKS[link];
  const html = prefersHtml(fieldValue(head.fields, 'accept'));
  const body = html
    ? page(
        title,
        `<p>${escapeHtml(text)}</p>\n${code === 'access-address' ? '' : ways(visit, access, { wasWrong, link, provider })}`,
        undefined,
        contact,
      )
    : JSON.stringify({ error: text, code });
  return reply({
    status,
    error: code,
    fields: `Culvert-Error: ${code}\r\n${extraFields(code, context)}${html ? ACCESS_PAGE_FIELDS : ''}Vary: Accept\r\n`,
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body,
    headOnly: head.method === 'HEAD',
  });
}

export const ACCESS_PAGE_FIELDS =
  "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n" +
  'X-Frame-Options: DENY\r\n' +
  'X-Robots-Tag: noindex\r\n' +
  'Referrer-Policy: no-referrer\r\n';

const CHALLENGE = 'Basic realm="Restricted", charset="UTF-8"';
const TOKEN_CHALLENGE = 'Bearer realm="culvert"';

function extraFields(code: string, { access, head, visit, bearer }: AccessPageContext): string {
  if (code === 'access-attempts') return `Retry-After: ${RETRY_SECONDS}\r\n`;
  if (code !== 'access-required') return '';
  const { prefix } = visit;
  const token = bearer ?? (access.hasTokens ? TOKEN_CHALLENGE : undefined);
  const basic =
    prefix === '' ? CHALLENGE : challengeBelow(CHALLENGE, prefix, isBarePrefix(head.target, prefix));
  // A browser that has shown its password dialog shows the page behind it.
  return (
    (access.hasUsers && basic !== undefined ? `WWW-Authenticate: ${basic}\r\n` : '') +
    (token === undefined ? '' : `WWW-Authenticate: ${token}\r\n`)
  );
}

/**
 * Where programs look up how to authorize themselves (RFC 8414 section 3, RFC 9728 section 3, OpenID Connect Discovery
 * section 4), and what is below.
 */
const AUTHORIZATION_METADATA =
  /^\/\.well-known\/(?:oauth-(?:protected-resource|authorization-server)|openid-configuration)(?:[/?]|$)/;
/** Where they register if they find nothing there (the authorization of the Model Context Protocol of 2025-03-26). */
const REGISTRATION = /^\/register(?:\?|$)/;

/** Whether a request begins an authorization, for which a tunnel with tokens has no server. */
export function startsAuthorization(method: string, target: string): boolean {
  return AUTHORIZATION_METADATA.test(target) || (method === 'POST' && REGISTRATION.test(target));
}

/**
 * The response to such a request of a visitor without access: with a 401, MCP clients would begin an authorization that
 * does not exist.
 */
export function notFoundResponse(head: RequestHead): OwnResponse {
  const { status, code, text } = API_ERRORS.notFound;
  return reply({
    status,
    fields: `Culvert-Error: ${code}\r\n`,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify({ error: text, code }),
    headOnly: head.method === 'HEAD',
  });
}

/** Offers what the visitor can do to get access: the easiest first, the others out of the way. */
function ways(
  { prefix, target }: Visit,
  access: AccessPolicy,
  { wasWrong, link, provider }: Required<Pick<AccessPageContext, 'wasWrong' | 'link' | 'provider'>>,
): string {
  const { password, links, knock } = access.stored;
  const parts: string[] = [];
  if (provider !== undefined && !access.signIn.isEmpty) {
    const address = escapeHtml(withParameter(prefix + target, SIGN_IN_PARAMETER));
    parts.push(`<p><a class="go" href="${address}">Sign in with ${escapeHtml(provider)}</a></p>`);
  }
  if (password !== null) {
    // The response to the form itself contains the form again.
    const action = withParameter(prefix + target, FORM_PARAMETER);
    const complaint = wasWrong ? '<p role="alert"><strong>Wrong password. Try again.</strong></p>\n' : '';
    const focus = parts.length === 0 || wasWrong ? ' autofocus' : '';
    parts.push(`${complaint}<form method="post" action="${escapeHtml(action)}">
<p><label for="word">Password</label>
<input id="word" name="${PASSWORD_FIELD}" type="password" maxlength="512" required${focus} autocomplete="current-password"></p>
<p><button class="go">Continue</button></p>
</form>`);
  }
  if (links && link === undefined)
    parts.push('<p>If someone sent you a link, open the complete link again.</p>');
  if (knock) parts.push(approvalForm({ prefix, target }, 'Ask for access'));
  if (access.hasUsers)
    parts.push('<p>If you have a user name and a password, reload the page to enter them.</p>');
  const [first = '', ...others] = parts;
  if (others.length === 0) return first;
  const open = wasWrong && !first.includes(PASSWORD_FIELD) ? ' open' : '';
  return `${first}\n<details${open}><summary>Other ways</summary>\n${others.join('\n')}\n</details>`;
}

const OPEN_TEXT = 'This link gives access to the first browser that opens it.';

/** The address at which a browser opens a link that admits one only. @param visit with the value of the link's parameter */
export function openAddress({ prefix, target, link }: Visit & { readonly link: string | undefined }): string {
  const path = withoutForm(prefix + target);
  const address = `${path}${path.includes('?') ? '&' : '?'}${LINK_PARAMETER}=${link ?? ''}`;
  return onThisHost(withParameter(address, OPEN_PARAMETER));
}

/** A button that opens such a link, for browsers that do not tell whether a person goes to the address. */
export function openPage(
  { head, contact }: Pick<AccessPageContext, 'head' | 'contact'>,
  { address, cookie, hadNoCookie }: { address: string; cookie: string; hadNoCookie: boolean },
): OwnResponse {
  const code = 'access-required';
  const html = prefersHtml(fieldValue(head.fields, 'accept'));
  const complaint = hadNoCookie
    ? '<p role="alert"><strong>Your browser did not keep a cookie. Allow cookies for this page, and try again.</strong></p>\n'
    : '';
  return reply({
    status: VISITOR_ERRORS[code].status,
    error: code,
    fields:
      `Culvert-Error: ${code}\r\n` +
      (html ? `Set-Cookie: ${cookie}\r\n${ACCESS_PAGE_FIELDS}` : '') +
      'Vary: Accept\r\n',
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: html
      ? page(
          'Open this link',
          `${complaint}<p>${OPEN_TEXT}</p>\n<form method="post" action="${escapeHtml(address)}">\n<p><button class="go">Open</button></p>\n</form>`,
          undefined,
          contact,
        )
      : JSON.stringify({ error: `${OPEN_TEXT} Open it in a browser.`, code }),
    headOnly: head.method === 'HEAD',
  });
}

/** The button that asks for approval. */
export function approvalForm({ prefix, target }: Pick<Visit, 'prefix' | 'target'>, button: string): string {
  const action = withParameter(prefix + target, KNOCK_PARAMETER);
  return `<form method="post" action="${escapeHtml(action)}">
<p>You can ask the owner for access. The owner then sees your IP address and which browser you are using.</p>
<p><button class="go">${button}</button></p>
</form>`;
}

/** Whether {@link accessStep} is needed: most addresses have nothing to do with the access page. */
export function mayBeAccessPage(target: string): boolean {
  return target.includes(FORM_PARAMETER) || target.includes(ARRIVAL_PARAMETER) || target === SIGN_OUT_TARGET;
}

/** @returns what a person who has signed in comes back with; `undefined` for any other address */
export function arrivalOf(target: string): string | undefined {
  return ARRIVAL.exec(target)?.[1];
}

/** {@link ARRIVAL_PARAMETER}, at the end. */
const ARRIVAL = /[?&]culvert_sign_in=([\w-]*)$/;

/** What a request wants from the access page, judging by its address. */
export function accessStep(
  { method }: RequestHead,
  { target }: Pick<Visit, 'target'>,
): AccessStep | undefined {
  if (!mayBeAccessPage(target)) return undefined;
  const isRead = method === 'GET' || method === 'HEAD';
  if (target === SIGN_OUT_TARGET) return isRead ? 'sign-out' : undefined;
  if (arrivalOf(target) !== undefined) return method === 'GET' ? 'arrive' : isRead ? 'leave' : undefined;
  if (has(target, SIGN_IN_PARAMETER)) return isRead ? 'sign-in' : undefined;
  if (has(target, OTHER_PARAMETER)) return isRead ? 'sign-in-other' : undefined;
  if (has(target, WAIT_PARAMETER)) return isRead ? 'wait' : undefined;
  if (has(target, KNOCK_PARAMETER)) return method === 'POST' ? 'knock' : isRead ? 'leave' : undefined;
  if (has(target, OPEN_PARAMETER)) return method === 'POST' || isRead ? 'open' : undefined;
  if (has(target, FORM_PARAMETER)) return method === 'POST' ? 'password' : undefined;
  return undefined;
}

/**
 * `password`: the form was submitted. `knock`: the visitor asks for approval. `wait`: the visitor waits for the
 * answer. `leave`: an address without a page of its own was opened. `sign-in`, `sign-in-other`: a sign-in begins, in the
 * second case as somebody else. `open`: a link that admits one browser is opened. `arrive`: the visitor comes back from it. `sign-out`: the visitor's pass ends.
 */
export type AccessStep =
  'password' | 'knock' | 'wait' | 'leave' | 'open' | 'sign-in' | 'sign-in-other' | 'arrive' | 'sign-out';

/** The address that a visitor waits at for the owner's answer. */
export function waitAddress({ prefix, target }: Visit): string {
  return onThisHost(withParameter(prefix + target, WAIT_PARAMETER));
}

/** The address that was originally requested. */
export function plainAddress({ prefix, target }: Visit): string {
  return onThisHost(withoutForm(prefix + target));
}

/** Redirects to the originally requested address, with cookies that identify the visitor. */
export function redirect(visit: Visit, ...cookies: (string | undefined)[]): OwnResponse {
  const set = cookies.map((cookie) => (cookie === undefined ? '' : `Set-Cookie: ${cookie}\r\n`));
  const fields = `Location: ${plainAddress(visit)}\r\n${set.join('')}`;
  return reply({ status: 303, fields });
}

/** Redirects to the requested address with the method and the body of the request (RFC 9110 section 15.4.8). */
export function sendAgain({ prefix, target }: Visit): OwnResponse {
  return reply({ status: 307, fields: `Location: ${onThisHost(prefix + target)}\r\n` });
}

function has(target: string, parameter: string): boolean {
  return target.endsWith(parameter) && withoutParameter(target, parameter) !== target;
}

function withParameter(address: string, parameter: string): string {
  const path = withoutForm(address);
  return `${path}${path.includes('?') ? '&' : '?'}${parameter}`;
}

/** Removes the parameter: the response to one of the access page's addresses offers the others. */
function withoutForm(path: string): string {
  const arrival = arrivalOf(path);
  const parameter =
    arrival === undefined ? PARAMETERS.find((each) => has(path, each)) : `${ARRIVAL_PARAMETER}=${arrival}`;
  return parameter === undefined ? path : withoutParameter(path, parameter);
}

const PARAMETERS = [
  FORM_PARAMETER,
  KNOCK_PARAMETER,
  WAIT_PARAMETER,
  SIGN_IN_PARAMETER,
  OTHER_PARAMETER,
  OPEN_PARAMETER,
];

/** What was originally requested, below the prefix. */
export function plainTarget({ target }: Pick<Visit, 'target'>): string {
  return withoutForm(target);
}

/** The address that begins a sign-in. */
export function signInAddress({ prefix, target }: Visit): string {
  return onThisHost(withParameter(prefix + target, SIGN_IN_PARAMETER));
}

/** The address that begins a sign-in as somebody else. */
export function otherAddress({ prefix, target }: Visit): string {
  return onThisHost(withParameter(prefix + target, OTHER_PARAMETER));
}

/* The upstream of a submitted form: the relay reads its body, and responds to it. */

const CONTINUE = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');

interface FormOptions {
  /** bytes of the body */
  readonly length: number;
  /** Whether the visitor waits for a 100 before it sends them. */
  readonly expectsContinue: boolean;
  /** The response to the body, given as text; never rejects. */
  readonly respond: (body: string) => Promise<OwnResponse>;
}

/** Reads the body, and has the relay respond to it. */
export function dialForm(handler: UpstreamHandler, options: FormOptions): Dial {
  let stream: FormStream | undefined;
  let isCancelled = false;
  queueMicrotask(() => {
    if (isCancelled) return;
    stream = new FormStream(handler, options);
    handler.opened(stream);
    stream.begin();
  });
  return {
    cancel() {
      isCancelled = true;
      stream?.abort();
    },
  };
}

class FormStream implements ByteStream {
  readonly #handler: UpstreamHandler;
  readonly #options: FormOptions;
  readonly #pieces: Buffer[] = [];
  #reader: StreamHandler | undefined;
  #left: number;
  #isOver = false;

  constructor(handler: UpstreamHandler, options: FormOptions) {
    this.#handler = handler;
    this.#options = options;
    this.#left = options.length;
  }

  begin(): void {
    if (this.#options.length === 0) void this.#respond();
    else if (this.#options.expectsContinue) this.#reader?.onBytes(CONTINUE);
  }

  attach(handler: StreamHandler): void {
    this.#reader = handler;
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    this.#pieces.push(Buffer.from(chunk));
    this.#left -= chunk.length;
    if (this.#left <= 0) void this.#respond();
    return true;
  }

  pause(): void {}

  resume(): void {}

  finish(): void {
    this.#isOver = true;
  }

  abort(): void {
    this.#isOver = true;
  }

  async #respond(): Promise<void> {
    const response = await this.#options.respond(Buffer.concat(this.#pieces).toString());
    if (!this.#isOver) this.#handler.intercepted(response);
  }
}
