/** Generates errors.md from the error catalogue. */
import { ERROR_HELP } from '../../shared/error-help.ts';
import { ALL_API_ERRORS, VISITOR_ERRORS } from '../../shared/errors.ts';
import { code, pageStart } from './page.ts';

const INTRODUCTION = `Programs should rely on an error's code, which never changes. The text is meant for human readers.

- [Errors for visitors](#errors-for-visitors): responses at the address of a tunnel, with the code in the \`Culvert-Error\` header. Visitors
whose \`Accept\` header prefers HTML get a page; all others get \`{"error", "code"}\` as JSON.
- [Errors of the API](#errors-of-the-api): responses of the REST interface and the WebSocket endpoints, \`{"error", "code"}\` as JSON.

Responses with status 429 and 503 have a \`Retry-After\` header in whole seconds. \`…\` stands for a variable part of a text.`;

/** @returns the whole page */
export function errorsPage(): string {
  const visitors = Object.entries(VISITOR_ERRORS).map(([name, { status, title, text }]) =>
    section(name, `${status}: ${title}. ${text}`, name === 'method-not-allowed' ? 'visitor' : ''),
  );
  const api = ALL_API_ERRORS.toSorted((a, b) => a.status - b.status).map(({ code: name, status, text }) =>
    section(name, `${status}: ${code(text.replaceAll(/\{\w+\}/g, '…'))}`),
  );
  return [
    pageStart('Errors', 'shared/errors.ts and shared/error-help.ts', INTRODUCTION),
    '## Errors for visitors\n',
    ...visitors,
    '## Errors of the API\n',
    ...api,
  ].join('\n');
}

/** @param kind distinguishes a code that both lists have; the heading of the API's error is its anchor */
function section(name: string, first: string, kind = ''): string {
  const help = ERROR_HELP[kind === '' ? name : `${kind}:${name}`];
  if (help === undefined) throw new Error(`shared/error-help.ts does not explain ${name}`);
  return `### ${code(name)}${kind === '' ? '' : ` (${kind})`}\n\n${first}\n\n${help}\n`;
}
