import type { OfflineReason } from '../engine/control/verdict.ts';
import { refusesKey } from '../engine/relay/errors.ts';

/** Exit codes of `culvert` (docs/command.md). */
export const ExitCode = {
  /** ended by Ctrl-C, or done */
  ok: 0,
  failed: 1,
  usage: 2,
  keyRefused: 3,
  /** the tunnel was closed or has expired */
  gone: 4,
  /** another client has taken the tunnel over */
  replaced: 5,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** The exit code for a tunnel that went offline. */
export function exitCodeOf(reason: OfflineReason): ExitCode {
  switch (reason) {
    case 'stopped':
      return ExitCode.ok;
    case 'closed':
    case 'expired':
    case 'gone':
      return ExitCode.gone;
    case 'replaced':
      return ExitCode.replaced;
    case 'key-refused':
      return ExitCode.keyRefused;
    case 'refused':
      return ExitCode.failed;
  }
}

/** The exit code for a call of the REST interface that failed. */
export function exitCodeOfFailure(error: unknown): ExitCode {
  return refusesKey(error) ? ExitCode.keyRefused : ExitCode.failed;
}
