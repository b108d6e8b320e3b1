/** Values of `culvert.yml` that come from the environment, so that the file, which others get to see, holds no secret. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** `${NAME}`; with a `$` before it, it is meant as it stands. */
const REFERENCE = /(\$?)\$\{([^}]*)(\}?)/g;
const NAME = /^[A-Za-z_]\w*$/;

/** Thrown for a text that cannot be filled in; the message says why. */
export class EnvironmentError extends Error {}

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
    if (end === '' || !NAME.test(name))
      throw new EnvironmentError('${…} takes the name of a variable, such as ${PASSWORD}; $${ stands for ${');
    const value = env[name] ?? '';
    if (value === '') throw new VariableUnset(`the variable ${name} is not set`);
    return value;
  });
}
