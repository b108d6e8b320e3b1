/** Links that let visitors in, as they are made and listed. */
import type { LinkView } from '../../shared/lock.ts';
import type { Choice } from './lifetime.ts';
import { durationWords } from './time-left.ts';

/** How long a link can be good. */
export const LINK_CHOICES: readonly Choice[] = [
  { ttl: '1h', label: '1 hour' },
  { ttl: '24h', label: '1 day' },
  { ttl: '168h', label: '7 days' },
];
/** As the relay's own. */
export const LINK_DEFAULT_TTL = '24h';

/** What a link is called in the list. */
export function linkName({ note }: LinkView): string {
  return note === '' ? 'Without a note' : note;
}

/** `23 h 59 min left`. @param now wall-clock ms */
export function linkEnd({ expiresAt }: LinkView, now: number): string {
  const left = expiresAt - now;
  return left <= 0 ? 'ended' : `${durationWords(left)} left`;
}
