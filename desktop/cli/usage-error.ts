import { ExitCode } from './exit-code.ts';

/** A command line that cannot be carried out; the message names the field and what it takes. */
export class UsageError extends Error {
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode = ExitCode.usage) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}
