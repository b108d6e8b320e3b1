import { VISITOR_FIELD } from '../../../shared/http1/proxy-fields.ts';

const FIELD = `\r\n${VISITOR_FIELD}: `;

/**
 * Who sent a recorded request, as the relay says it (docs/protocol.md section 11.1): it removes such a field of visitors, and
 * writes its own always in the same way.
 *
 * @param request what was recorded, from its first byte on
 */
export function visitorOf(request: Buffer): string | undefined {
  const end = request.indexOf('\r\n\r\n');
  const at = request.indexOf(FIELD);
  if (at === -1 || end === -1 || at >= end) return undefined;
  const start = at + FIELD.length;
  return decoded(request.toString('latin1', start, request.indexOf('\r\n', start)));
}

/** What is not visible ASCII is percent-encoded UTF-8 there. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
