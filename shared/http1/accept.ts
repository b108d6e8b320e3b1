/** Content negotiation between the two forms of Culvert's own responses (RFC 9110 section 12.5.1). */

const QUALITY = /;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)/i;

/** Whether the visitor prefers HTML to JSON, by the value of its `Accept` field. A visitor that asks for neither gets JSON. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const html = quality(accept, ['text/html', 'application/xhtml+xml', 'text/*']);
  return html > 0 && html >= quality(accept, ['application/json', 'application/*']);
}

function quality(accept: string, types: readonly string[]): number {
  let best = 0;
  for (const range of accept.toLowerCase().split(',')) {
    const type = (range.split(';', 1)[0] ?? '').trim();
    if (types.includes(type)) best = Math.max(best, Number(QUALITY.exec(range)?.[1] ?? 1));
  }
  return best;
}
