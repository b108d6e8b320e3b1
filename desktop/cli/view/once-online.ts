/** What `--open`, `--qr` and `--copy` have done with the address of a tunnel once visitors reach it. */
import { renderUnicodeCompact } from 'uqr';
import { showsUtf8 } from '../output/format.ts';
import type { Output } from '../output/reporter.ts';
import { type Line, type Size, span } from './text.ts';

export interface OnceOnline {
  /** open it in a browser */
  readonly open: boolean;
  /** show it as a QR code */
  readonly qr: boolean;
  /** copy it */
  readonly copy: boolean;
}

/** Standard error, as far as it matters whether it is a terminal. */
export interface ErrorScreen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/**
 * Used without a view. The QR code is printed on standard error, because programs read standard output. Failures are
 * reported; the tunnel is served anyway.
 *
 * @param openAddress opens an address in a browser, and reports a failure
 */
export function doOnceOnline(
  { open, qr, copy }: OnceOnline,
  url: string,
  output: Output,
  screen: ErrorScreen,
  env: NodeJS.ProcessEnv,
  openAddress: (url: string, failed: (why: string) => void) => void,
): void {
  if (qr) output.err(`${addressCode(url, screen, env)}${url}\n`);
  if (copy) {
    const canCopy = screen.isTTY === true && env['TERM'] !== 'dumb';
    // Past the output, which escapes what controls a terminal.
    if (canCopy) screen.write(copySequence(url));
    output.err(
      canCopy
        ? `Copied ${url}, if your terminal allows programs to use the clipboard.\n`
        : `culvert: --copy: ${url} cannot be copied, because the command is not running in a terminal.\n`,
    );
  }
  if (open) openAddress(url, (why) => output.err(`culvert: --open: ${why}.\n`));
}

/** The address as a QR code for a command's screen, or a line about what it needs. */
export function addressCode(url: string, screen: ErrorScreen, env: NodeJS.ProcessEnv): string {
  if (screen.isTTY !== true) return codeText(url);
  return showsUtf8(env) ? codeText(url, screen.columns) : `${NEEDS_UTF8}\n`;
}

/** The clipboard of the person at the terminal, also over SSH: OSC 52 of xterm, which most terminals support. */

/** @returns the output for the terminal */
export function copySequence(text: string): string {
  return `\u{1B}]52;c;${Buffer.from(text).toString('base64')}\u{7}`;
}

/** Light modules around the code: readers ask for 4, and 2 are enough in practice. */
const BORDER = 2;

/** The address as a QR code, or a line with the size it needs. */
export function codeLines(url: string, { columns, rows }: Size, hasUtf8: boolean): Line[] {
  if (!hasUtf8) return [[span(NEEDS_UTF8, 'warning')]];
  const lines = renderUnicodeCompact(url, { border: BORDER }).split('\n');
  const width = lines[0]?.length ?? 0;
  if (width <= columns && lines.length <= rows) return lines.map((line) => [span(line, 'inverse')]);
  return [[span(needsRoom(lines), 'warning')]];
}

/**
 * The same as text without colours. The light modules are characters, which terminals have light on a dark ground:
 * readers expect dark modules on a light ground (ISO/IEC 18004), and not all of them take the reverse.
 *
 * @param columns of the terminal; `undefined` for none
 */
function codeText(url: string, columns = Infinity): string {
  const lines = renderUnicodeCompact(url, { border: BORDER }).split('\n');
  const width = lines[0]?.length ?? 0;
  return `${width <= columns ? lines.join('\n') : needsRoom(lines)}\n`;
}

const NEEDS_UTF8 = 'The QR code needs a terminal with UTF-8, so set LC_ALL or LANG.';

function needsRoom(lines: readonly string[]): string {
  return `The QR code needs ${lines[0]?.length ?? 0} × ${lines.length} characters, so make the window larger.`;
}
