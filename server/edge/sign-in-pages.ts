/** Responses to visitors who sign in or out (protocol.md section 11.5): a page for people and JSON for programs. */
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { shownVisitor } from '../access/access-check.ts';
import { ACCESS_PAGE_FIELDS, otherAddress, type PageContext, plainAddress } from './access-pages.ts';
import { type OwnResponse, reply } from './builtin-responses.ts';

/** Seconds after which a provider that did not respond may do so again. */
export const SIGN_IN_RETRY_SECONDS = 10;

/**
 * What a page about a sign-in that did not work says.
 *
 * @param again the address to begin again at, if it is known
 */
export function signInHtml(
  code: 'sign-in-failed' | 'sign-in-unavailable',
  again: string | undefined,
): string {
  const text = `<p>${escapeHtml(VISITOR_ERRORS[code].text)}</p>`;
  return again === undefined ? text : `${text}\n${button(again, 'Sign in again')}`;
}

/** Nobody is proven to be there, or nobody can prove it now. */
export function signInErrorResponse(
  context: PageContext,
  code: 'sign-in-failed' | 'sign-in-unavailable',
): OwnResponse {
  const { title, text } = VISITOR_ERRORS[code];
  return response(context, code, {
    title,
    html: signInHtml(code, plainAddress(context.visit)),
    json: { error: text, code },
    fields: code === 'sign-in-unavailable' ? `Retry-After: ${SIGN_IN_RETRY_SECONDS}\r\n` : '',
  });
}

/**
 * The visitor has signed in, but the rules do not let that person in.
 *
 * @param visitor the identity
 * @param hasOtherWays whether the access page offers anything else
 */
export function refusedResponse(context: PageContext, visitor: string, hasOtherWays: boolean): OwnResponse {
  const { title, text } = VISITOR_ERRORS['sign-in-refused'];
  const name = shownVisitor(visitor).slice('user:'.length);
  const { visit } = context;
  const others = hasOtherWays
    ? `\n<p><a href="${escapeHtml(plainAddress(visit))}">Other ways to get access</a></p>`
    : '';
  return response(context, 'sign-in-refused', {
    title,
    html: `<p>You have signed in as <strong>${escapeHtml(name)}</strong>, but the owner of this page has not given that account access.</p>
${button(otherAddress(visit), 'Sign in as somebody else')}${others}`,
    json: { error: text, code: 'sign-in-refused', user: name },
    fields: '',
  });
}

/** @param cookie a `Set-Cookie` that ends the visitor's pass */
export function signedOutResponse(context: PageContext, cookie: string): OwnResponse {
  return response(context, undefined, {
    title: 'You have signed out',
    html: `<p>This browser no longer has access to this page.</p>
${button(otherAddress({ ...context.visit, target: '/' }), 'Sign in again')}`,
    json: { status: 'signed-out' },
    fields: `Set-Cookie: ${cookie}\r\n`,
  });
}

interface Told {
  readonly title: string;
  readonly html: string;
  /** for programs */
  readonly json: object;
  /** each with its line end */
  readonly fields: string;
}

function response(
  { head, contact }: PageContext,
  code: 'sign-in-refused' | 'sign-in-failed' | 'sign-in-unavailable' | undefined,
  { title, html, json, fields }: Told,
): OwnResponse {
  const isPage = prefersHtml(fieldValue(head.fields, 'accept'));
  return reply({
    status: code === undefined ? 200 : VISITOR_ERRORS[code].status,
    error: code,
    fields:
      (code === undefined ? '' : `Culvert-Error: ${code}\r\n`) +
      `${fields}${isPage ? ACCESS_PAGE_FIELDS : ''}Vary: Accept\r\n`,
    contentType: isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: isPage ? page(title, html, undefined, contact) : JSON.stringify(json),
    headOnly: head.method === 'HEAD',
  });
}

export function button(address: string, text: string): string {
  return `<p><a class="go" href="${escapeHtml(address)}">${text}</a></p>`;
}
