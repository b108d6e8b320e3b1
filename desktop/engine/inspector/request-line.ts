/** What the line of a request in the log says, read from what was recorded of it. */
import { recogniseWebhook, type WebhookProvider } from '../webhooks/provider.ts';
import { visitorOf } from './visitor.ts';

export interface RequestLine {
  readonly method: string;
  readonly target: string;
  readonly visitor: string | undefined;
  readonly webhook: WebhookProvider | undefined;
}

const END_OF_HEAD = '\r\n\r\n';
const END_OF_LINE = '\r\n';
const SPACE = 0x20;

/** Whether all that {@link readRequestLine} looks at has come. @param request what was recorded, from its first byte on */
export function hasHead(request: Buffer): boolean {
  return request.includes(END_OF_HEAD);
}

/** @param request what was recorded, from its first byte on; its head may be incomplete */
export function readRequestLine(request: Buffer): RequestLine {
  const headEnd = indexOr(request, END_OF_HEAD, request.length);
  const lineEnd = indexOr(request, END_OF_LINE, headEnd);
  const methodEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd));
  const targetEnd = Math.min(lineEnd, indexOr(request, SPACE, lineEnd, methodEnd + 1));
  return {
    // Texts of their own: a part of a longer one would keep all of it in memory.
    method: request.toString('latin1', 0, methodEnd),
    target: request.toString('latin1', methodEnd + 1, targetEnd),
    visitor: visitorOf(request),
    webhook: recogniseWebhook(fieldsOf(request.toString('latin1', lineEnd, headEnd))),
  };
}

function* fieldsOf(lines: string): Generator<readonly [name: string, value: string]> {
  for (const line of lines.split(END_OF_LINE)) {
    const colon = line.indexOf(':');
    if (colon > 0) yield [line.slice(0, colon), line.slice(colon + 1)];
  }
}

function indexOr(bytes: Buffer, what: string | number, otherwise: number, from = 0): number {
  const at = bytes.indexOf(what, from);
  return at === -1 ? otherwise : at;
}
