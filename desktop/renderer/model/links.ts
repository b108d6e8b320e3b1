/** Links that let visitors in, as they are made and listed. */
import { t } from '../../i18n/translate.ts';
import type { LinkView } from '../../shared/lock.ts';
import { type Choice, wholeChoice } from './lifetime.ts';
import { leftWords } from './time-left.ts';

/** How long a link can be good. */
export function linkChoices(): readonly Choice[] {
  return ['1h', '24h', '168h'].map(wholeChoice);
}

/** As the relay's own. */
export const LINK_DEFAULT_TTL = '24h';

/** What a link is called in the list. */
export function linkName({ note }: LinkView): string {
  return note === '' ? t('links.withoutNote') : note;
}

/** `23 h 59 min left`. @param now wall-clock ms */
export function linkEnd({ expiresAt }: LinkView, now: number): string {
  const left = expiresAt - now;
  return left <= 0 ? t('links.ended') : leftWords(left);
}
