import type { Output } from '../cli/reporter.ts';

/** Keeps what a command prints. */
export function record(): { printed: { out: string; err: string }; output: Output } {
  const printed = { out: '', err: '' };
  const output: Output = {
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  };
  return { printed, output };
}
