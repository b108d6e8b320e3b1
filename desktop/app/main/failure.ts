/** What went wrong with a call of the page, in words for people and with the field of the form it belongs to. */
import { failureOf, type Reader } from '../../client/failures.ts';
import { EditRefused } from '../../client/inspector/edit.ts';
import type { ErrorWords } from '../../client/methods/method.ts';
import type { CallError } from '../ipc/ipc.ts';
import { translateMessage } from '../messages/message-text.ts';
import { t } from '../messages/translate.ts';

/** A failure that main itself reports to the page. */
export class CallFailure extends Error {
  readonly error: CallError;

  constructor(error: CallError) {
    super(error.text);
    this.name = 'CallFailure';
    this.error = error;
  }
}

/**
 * What the window says of errors.
 *
 * @param reportBug called with every error that is neither a known failure nor a bad payload
 * @param session learns from calls that the relay cannot be reached
 */
export function errorWords(
  reportBug: ErrorWords['reportBug'],
  session: { readonly noteFailure: (error: unknown) => void },
): ErrorWords {
  return {
    describe(error) {
      session.noteFailure(error);
      return toCallError(error);
    },
    wrong: t('problem.wrong'),
    reportBug,
  };
}

/** @returns `undefined` for a bug, which must not be reported as such a failure */
export function toCallError(error: unknown, reader: Reader = 'window'): CallError | undefined {
  if (error instanceof CallFailure) return error.error;
  const failure = failureOf(error, reader);
  if (failure === undefined) return undefined;
  const { code, field, said } = failure;
  return {
    code,
    ...(field !== undefined && { field }),
    text: translateMessage(said),
    ...(error instanceof EditRefused && {
      problems: error.problems.map(({ part, said: why }) => ({ part, text: translateMessage(why) })),
    }),
  };
}
