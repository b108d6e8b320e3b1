/** What `--open`, `--qr` and `--copy` have done with the address of a tunnel once visitors reach it. */
import { copySequence } from './clipboard.ts';
import { codeText } from './code.ts';
import type { Output } from '../reporter.ts';

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
 * Where there is no view. The QR code goes to standard error, so that standard output has what programs read. What cannot be
 * done is said; the tunnel is served anyway.
 *
 * @param openAddress opens an address in a browser, and says if that fails
 */
export function doOnceOnline(
  { open, qr, copy }: OnceOnline,
  url: string,
  output: Output,
  screen: ErrorScreen,
  env: NodeJS.ProcessEnv,
  openAddress: (url: string, failed: (why: string) => void) => void,
): void {
  if (qr) output.err(`${codeText(url, screen.isTTY === true ? screen.columns : undefined)}${url}\n`);
  if (copy) {
    const canCopy = screen.isTTY === true && env['TERM'] !== 'dumb';
    // Past the output, which escapes what controls a terminal.
    if (canCopy) screen.write(copySequence(url));
    output.err(
      canCopy
        ? `Copied ${url}, if this terminal lets programs copy.\n`
        : `--copy: there is no terminal here that could copy ${url}.\n`,
    );
  }
  if (open) openAddress(url, (why) => output.err(`--open: ${why}.\n`));
}
