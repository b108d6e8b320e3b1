/** What the door says to those who do not come in: a page to people, JSON to programs. */
import { VISITOR_ERRORS } from '../../../shared/errors.ts';
import { prefersHtml } from '../../../shared/http1/accept.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { escapeHtml, page } from '../../../shared/page.ts';
import type { HeldAccess } from '../../gate/held-access.ts';
import type { Visit } from './notice.ts';
import { onThisHost, withoutParameter } from './onward.ts';
import { type OwnResponse, wholeResponse } from './own-responses.ts';

/** What the page's form adds to the query of the address: a POST with it is the gate's. */
export const FORM_PARAMETER = 'culvert_gate';
/** Name of the page's field. */
export const PASSWORD_FIELD = 'culvert_password';

/** s after which wrong passwords count no more. */
const RETRY_SECONDS = 60;

export interface DoorContext {
  readonly head: RequestHead;
  readonly visit: Visit;
  readonly access: HeldAccess;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** Whether a password was wrong just now. */
  readonly wasWrong?: boolean;
  /** Whether a link was followed that lets nobody in, or not any more. */
  readonly linkEnded?: boolean;
}

const ENDED_LINK = {
  title: 'This link has ended',
  text: 'The link that you have followed lets nobody in any more. Whoever sent it to you can send another one.',
};

/** The response in place of the tunnel's. */
export function doorResponse(
  code: 'access-required' | 'access-address' | 'access-attempts',
  { head, visit, access, contact, wasWrong = false, linkEnded = false }: DoorContext,
): OwnResponse {
  const { status } = VISITOR_ERRORS[code];
  const { title, text } = linkEnded ? ENDED_LINK : VISITOR_ERRORS[code];
  const html = prefersHtml(fieldValue(head.fields, 'accept'));
  const body = html
    ? page(
        title,
        `<p>${escapeHtml(text)}</p>\n${code === 'access-required' ? ways(visit, access, { wasWrong, linkEnded }) : ''}`,
        `${status} ${code}`,
        contact,
      )
    : JSON.stringify({ error: text, code });
  const content = {
    status,
    fields: `Culvert-Error: ${code}\r\n${extraFields(code, access)}${html ? PAGE_FIELDS : ''}Vary: Accept\r\n`,
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body,
  };
  const headOnly = head.method === 'HEAD';
  return { status, refuses: true, error: code, bytes: (close) => wholeResponse(content, close, headOnly) };
}

const PAGE_FIELDS =
  "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'\r\n" +
  'X-Frame-Options: DENY\r\n' +
  'X-Robots-Tag: noindex\r\n' +
  'Referrer-Policy: no-referrer\r\n';

function extraFields(code: string, access: HeldAccess): string {
  if (code === 'access-attempts') return `Retry-After: ${RETRY_SECONDS}\r\n`;
  // A browser that has shown its dialog shows the page behind it.
  return code === 'access-required' && access.hasUsers
    ? 'WWW-Authenticate: Basic realm="Restricted", charset="UTF-8"\r\n'
    : '';
}

/** What a visitor can do. */
function ways(
  { prefix, target }: Visit,
  access: HeldAccess,
  { wasWrong, linkEnded }: Required<Pick<DoorContext, 'wasWrong' | 'linkEnded'>>,
): string {
  const { password, links } = access.stored;
  const parts: string[] = [];
  if (password !== null) {
    // The response to the form itself shows it again.
    const path = withoutForm(prefix + target);
    const action = `${path}${path.includes('?') ? '&' : '?'}${FORM_PARAMETER}`;
    const complaint = wasWrong ? '<p role="alert"><strong>That password is not right.</strong></p>\n' : '';
    parts.push(`${complaint}<form method="post" action="${escapeHtml(action)}">
<p><label for="word">Password</label>
<input id="word" name="${PASSWORD_FIELD}" type="password" maxlength="512" required autofocus autocomplete="current-password"></p>
<p><button class="go">Continue</button></p>
</form>`);
  }
  if (links && !linkEnded)
    parts.push('<p>If you were sent a link, open it again, whole: it lets you in.</p>');
  if (access.hasUsers) parts.push('<p>If you have a user name, reload the page to be asked for it.</p>');
  return parts.join('\n');
}

/** Whether a request is the page's form. */
export function isForm({ method }: RequestHead, { target }: Visit): boolean {
  return method === 'POST' && target.endsWith(FORM_PARAMETER) && withoutForm(target) !== target;
}

/** Leads on to the address that was asked for, as one who is known. */
export function goOn({ prefix, target }: Visit, cookie: string | undefined): OwnResponse {
  const fields =
    `Location: ${onThisHost(withoutForm(prefix + target))}\r\n` +
    (cookie === undefined ? '' : `Set-Cookie: ${cookie}\r\n`);
  const content = { status: 303, fields, contentType: 'text/plain; charset=utf-8', body: '' };
  return { status: 303, refuses: false, bytes: (close) => wholeResponse(content, close) };
}

function withoutForm(path: string): string {
  return withoutParameter(path, FORM_PARAMETER);
}
