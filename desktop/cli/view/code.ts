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
  return [[span(needsRoom(lines), 'warning')]];
}

/**
 * The same as text without colours. The light modules are characters, which terminals have light on a dark ground: readers
 * expect dark modules on a light ground (ISO/IEC 18004), and not all of them take the reverse.
 *
 * @param columns of the terminal; `undefined` for none
 */
export function codeText(url: string, columns = Infinity): string {
  const lines = renderUnicodeCompact(url, { border: BORDER }).split('\n');
  const width = lines[0]?.length ?? 0;
  return `${width <= columns ? lines.join('\n') : needsRoom(lines)}\n`;
}

function needsRoom(lines: readonly string[]): string {
  return `The QR code needs ${lines[0]?.length ?? 0} × ${lines.length} characters: make the window larger.`;
}
