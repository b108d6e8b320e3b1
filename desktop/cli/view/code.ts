import { renderUnicodeCompact } from 'uqr';
import type { Size } from './state.ts';
import { type Line, span } from './text.ts';

/** Light modules around the code: readers ask for 4, and 2 are enough in practice. */
const BORDER = 2;

/** The address as a QR code, or a line that says how much room it needs. */
export function codeLines(url: string, { columns, rows }: Size): Line[] {
  const lines = renderUnicodeCompact(url, { border: BORDER }).split('\n');
  const width = lines[0]?.length ?? 0;
  if (width <= columns && lines.length <= rows) return lines.map((line) => [span(line, 'inverse')]);
  return [
    [span(`The QR code needs ${width} × ${lines.length} characters: make the window larger.`, 'warning')],
  ];
}
