/** The page shown instead of a site that cannot respond, for errors of the relay and of the client. */
import { VISITOR_ERRORS, type VisitorErrorCode } from './errors.ts';
import { prefersHtml } from './http1/fields.ts';

/** What all pages have in common, with those that have a layout of their own. */
export const BASE_STYLE = `
:root{color-scheme:light dark;--ink:#1c1b1a;--soft:#66645f;--paper:#fbfaf8;--raised:#f2f0ec;--line:#e0ded8;--accent:#0b6e6e;--warn:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#f1efec;--soft:#a3a09a;--paper:#191817;--raised:#242321;--line:#363430;--accent:#5cc2c0;--warn:#f2938c}}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
p{margin:0 0 .75rem}
small{color:var(--soft)}
small a{color:inherit}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
svg{color:var(--accent)}
@media(forced-colors:active){svg{color:CanvasText}}`;
/** The style sheet of pages with a message. */
export const PAGE_STYLE = `${BASE_STYLE}
body{min-height:100vh;display:grid;place-items:center}
main{box-sizing:border-box;width:min(34rem,100%);padding:2rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem;overflow-wrap:anywhere;white-space:pre-line}
.text{overflow:hidden;unicode-bidi:plaintext}
.long{font-size:1.125rem;line-height:1.5}
time{white-space:nowrap}
code{font-size:1rem;overflow-wrap:anywhere}
.go{display:inline-block;margin:.5rem 0;padding:.5rem 1.25rem;border:2px solid var(--accent);border-radius:.5rem;background:var(--accent);color:var(--paper);font:inherit;font-weight:600;text-decoration:none}
.go:hover{background:var(--paper);color:var(--accent)}
button.go{cursor:pointer}
details{margin:0 0 .75rem}
summary{margin:.5rem 0;color:var(--accent);cursor:pointer}
details .go{background:none;color:var(--accent)}
details .go:hover{background:var(--accent);color:var(--paper)}
@media(forced-colors:active){.go,.go:hover,details .go,details .go:hover{background:ButtonFace;border-color:ButtonText;color:ButtonText}}
dl{margin:0 0 .75rem}
dt{color:var(--soft)}
dd{margin:0 0 .5rem;overflow-wrap:anywhere}
.quiet{min-height:1.5rem;padding:.25rem 0;border:0;background:none;color:var(--accent);font:inherit;text-decoration:underline;cursor:pointer}
label{display:block;margin:0 0 .25rem}
input{box-sizing:border-box;width:100%;padding:.5rem .75rem;border:2px solid var(--soft);border-radius:.5rem;background:var(--paper);color:var(--ink);font:inherit}
[role=alert]{border-left:.25rem solid var(--warn);padding-left:.75rem}
svg{display:block;margin-bottom:1.5rem}`;
/** The sign of Culvert, in the colour of the text around it. */
export const MARK =
  '<svg width="40" height="40" viewBox="0 0 40 40" fill="none" stroke="currentColor" stroke-width="4" stroke-linecap="round" aria-hidden="true"><path d="M4 35V20a16 16 0 0 1 32 0v15"/><path d="M13 35V22a7 7 0 0 1 14 0v13" opacity=".5"/></svg>';

interface ErrorContent {
  readonly status: number;
  /** the field lines of every error response, each with its line end */
  readonly fields: string;
  readonly contentType: string;
  readonly body: string;
}

/** The facts about a visitor's request that determine the form of a response. */
export interface AcceptingRequest {
  /** value of `Accept` */
  readonly accept?: string | undefined;
  /** Whether the request is a GET, which a browser can repeat by itself. */
  readonly isGet?: boolean;
}

/** Seconds after which a page tries again by itself: a `Refresh` field needs no script. */
export const RETRY_SECONDS = 10;
/** Says so, with a link to try immediately. */
export const RETRY_HTML = `<p>This page tries again every ${RETRY_SECONDS} seconds.</p>
<p><a class="go" href="">Try again now</a></p>`;
/** Errors that pass when the owner starts something. Others would only become more frequent with each attempt. */
const RETRIED: ReadonlySet<VisitorErrorCode> = new Set(['tunnel-offline', 'domain-offline', 'local-refused']);

/**
 * The content of an error response: HTML if the visitor prefers it, else JSON. Pages about something that is offline
 * try again by themselves.
 *
 * @param text replaces the catalogue's text
 * @param contact address of a link for complaints, shown only to people: `mailto:…` or `https://…`
 */
export function errorContent(
  code: VisitorErrorCode,
  { accept, isGet = false }: AcceptingRequest,
  text: string = VISITOR_ERRORS[code].text,
  contact?: string,
): ErrorContent {
  const { status, title } = VISITOR_ERRORS[code];
  const html = prefersHtml(accept);
  const retries = html && isGet && RETRIED.has(code);
  const content = `<p>${escapeHtml(text)}</p>${retries ? `\n${RETRY_HTML}` : ''}`;
  return {
    status,
    fields:
      `Culvert-Error: ${code}\r\n` +
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n" +
      `Vary: Accept\r\n${retries ? `Refresh: ${RETRY_SECONDS}\r\n` : ''}`,
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: html
      ? page(title, content, `Error ${status}: ${code}`, contact)
      : JSON.stringify({ error: text, code }),
  };
}

/**
 * A page in the relay's style. It loads nothing and runs no script.
 *
 * @param title plain text
 * @param content HTML
 * @param note plain text in small print; `undefined` for none
 * @param contact address of a link for complaints
 * @param heading HTML; the title by default
 */
export function page(
  title: string,
  content: string,
  note: string | undefined,
  contact: string | undefined,
  heading = `<h1>${title}</h1>`,
): string {
  const small = note === undefined ? 'Culvert' : `${note} · Culvert`;
  const report = contact === undefined ? '' : ` · <a href="${escapeHtml(contact)}">Report abuse</a>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
<main>
${MARK}
${heading}
${content}
<small>${small}${report}</small>
</main>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes a text for HTML, between tags or in a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '');
}
