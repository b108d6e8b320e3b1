/** The page shown instead of a site that cannot respond, for errors of the relay and of the client. */
import { VISITOR_ERRORS, type VisitorErrorCode } from './errors.ts';
import { prefersHtml } from './http1/fields.ts';

/** The style sheet of all pages. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--ink:#1c1b1a;--soft:#66645f;--paper:#fbfaf8;--accent:#0b6e6e;--warn:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#f1efec;--soft:#a3a09a;--paper:#191817;--accent:#5cc2c0;--warn:#f2938c}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:30rem;padding:2rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
p{margin:0 0 .75rem}
small{color:var(--soft)}
small a{color:inherit}
code{font-size:1rem;overflow-wrap:anywhere}
.go{display:inline-block;margin:.5rem 0;padding:.5rem 1rem;border:2px solid var(--accent);border-radius:.5rem;color:var(--accent)}
button.go{font:inherit;background:none;cursor:pointer}
label{display:block;margin:0 0 .25rem}
input{box-sizing:border-box;width:100%;padding:.5rem .75rem;border:2px solid var(--soft);border-radius:.5rem;background:var(--paper);color:var(--ink);font:inherit}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
[role=alert]{border-left:.25rem solid var(--warn);padding-left:.75rem}
svg{color:var(--accent);display:block;margin-bottom:1.5rem}`;
const MARK =
  '<svg width="40" height="40" viewBox="0 0 40 40" fill="none" stroke="currentColor" stroke-width="4" stroke-linecap="round" aria-hidden="true"><path d="M4 35V20a16 16 0 0 1 32 0v15"/><path d="M13 35V22a7 7 0 0 1 14 0v13" opacity=".5"/></svg>';

export interface ErrorContent {
  readonly status: number;
  /** the field lines of every error response, each with its line end */
  readonly fields: string;
  readonly contentType: string;
  readonly body: string;
}

/**
 * The content of an error response: HTML if the visitor prefers it, else JSON.
 *
 * @param accept value of the visitor's `Accept` field
 * @param text replaces the catalogue's text
 * @param contact address of a link for complaints, shown only to people: `mailto:…` or `https://…`
 */
export function errorContent(
  code: VisitorErrorCode,
  accept: string | undefined,
  text: string = VISITOR_ERRORS[code].text,
  contact?: string,
): ErrorContent {
  const { status, title } = VISITOR_ERRORS[code];
  const html = prefersHtml(accept);
  return {
    status,
    fields:
      `Culvert-Error: ${code}\r\n` +
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n" +
      'Vary: Accept\r\n',
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: html
      ? page(title, `<p>${escapeHtml(text)}</p>`, `Error ${status}: ${code}`, contact)
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
 */
export function page(
  title: string,
  content: string,
  note: string | undefined,
  contact: string | undefined,
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
<h1>${title}</h1>
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
