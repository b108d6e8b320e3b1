/** What is wrong with a tunnel's name while it is typed, by the same constants that the relay checks with. */
import { NAME_MAX_LENGTH, NAME_MIN_LENGTH } from '../../../shared/constraints.ts';
import { NAME_RULE } from '../../../shared/value-rules.ts';

export const NAME_HINT = `${NAME_MIN_LENGTH} to ${NAME_MAX_LENGTH} lowercase letters, digits and hyphens`;

/**
 * Checks a name that may not be complete yet.
 *
 * @param name as typed
 * @param taken slugs of the user's own live tunnels
 * @returns what to change, or `undefined` if there is nothing (an empty name means a random one)
 */
export function nameProblem(name: string, taken: ReadonlySet<string> = new Set()): string | undefined {
  if (name === '') return undefined;
  const foreign = /[^a-z0-9-]/u.exec(name)?.[0];
  if (foreign !== undefined) {
    const shown = foreign.trim() === '' ? 'A space' : `"${foreign}"`;
    return `${shown} cannot be in a name. Use lowercase letters, digits and hyphens.`;
  }
  if (name.startsWith('-')) return 'Start with a letter or a digit.';
  if (name.startsWith('xn--')) return 'A name cannot start with "xn--".';
  if (name.length < NAME_MIN_LENGTH) return `Use at least ${NAME_MIN_LENGTH} characters.`;
  if (name.length > NAME_MAX_LENGTH) {
    return `Use at most ${NAME_MAX_LENGTH} characters; this has ${name.length}.`;
  }
  if (name.endsWith('-')) return 'End with a letter or a digit.';
  // Whatever else the relay's rule may require one day.
  if (!NAME_RULE.accepts(name)) return `Use ${NAME_RULE.accepted}.`;
  return taken.has(name) ? 'You already have a tunnel with this name.' : undefined;
}

/** A typed name with obvious corrections: lower case, and hyphens for spaces or underscores between words. */
export function tidyName(text: string): string {
  return text.toLowerCase().replace(/[\s_]+/g, '-');
}
