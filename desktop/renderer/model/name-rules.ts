/** What is wrong with a tunnel's name while it is typed, by the same constants that the relay checks with. */
import { t } from '../../i18n/translate.ts';
import { NAME_MAX_LENGTH, NAME_MIN_LENGTH } from '../../../shared/constraints.ts';
import { NAME_RULE } from '../../../shared/value-rules.ts';

/** For the hint at the field. */
export const NAME_LENGTHS = { min: NAME_MIN_LENGTH, max: NAME_MAX_LENGTH };

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
    const shown = foreign.trim() === '' ? t('name.aSpace') : t('name.quoted', { character: foreign });
    return t('name.cannotHave', { shown });
  }
  if (name.startsWith('-')) return t('name.startWith');
  if (name.startsWith('xn--')) return t('name.noXn');
  if (name.length < NAME_MIN_LENGTH) return t('name.atLeast', { min: NAME_MIN_LENGTH });
  if (name.length > NAME_MAX_LENGTH) {
    return t('name.atMost', { max: NAME_MAX_LENGTH, length: name.length });
  }
  if (name.endsWith('-')) return t('name.endWith');
  // Whatever else the relay's rule may require one day.
  if (!NAME_RULE.accepts(name)) return t('name.use', NAME_LENGTHS);
  return taken.has(name) ? t('name.taken') : undefined;
}

/** A typed name with obvious corrections: lower case, and hyphens for spaces or underscores between words. */
export function tidyName(text: string): string {
  return text.toLowerCase().replace(/[\s_]+/g, '-');
}
