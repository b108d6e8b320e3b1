/** Values of `culvert.yml` that come from the environment, so that the file, which others get to see, holds no secret. */
import { say, SaidError } from '../engine/said/said.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}`; with a `$` before it, it is meant as it stands. */
const REFERENCE = /(\$?)\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_]\w*$/;
const EXAMPLES = { reference: '${…}', example: '${PASSWORD}', escape: '$${', begin: '${' };

/** Thrown for a text that cannot be filled in; which it says. */
export class EnvironmentError extends SaidError {}

/** Thrown for a variable that is not set, or empty: the text itself is as it should be. */
export class VariableUnset extends EnvironmentError {}

/**
 * Fills in variables: `ann:${ANN_PASSWORD}`. `$${` stands for `${`; any other `$` stands for itself.
 *
 * @throws EnvironmentError; VariableUnset for a variable that is not set, or empty
 */
export function fillIn(text: string, env: Environment): string {
  return text.replace(REFERENCE, (reference, dollar: string, name: string, end: string) => {
    if (dollar !== '') return reference.slice(1);
    if (end === '' || !NAME.test(name)) throw new EnvironmentError(say('access.reference', EXAMPLES));
    const value = env[name] ?? '';
    if (value === '') throw new VariableUnset(say('access.unset', { name }));
    return value;
  });
}
