/** How long a tunnel still lives, in words and as the fraction that its fuse shows. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** From here on a person is asked to extend. */
const SOON_MS = 5 * MINUTE;
/** A tunnel that lives for minutes only is not "soon" all its life. */
const SOON_FRACTION = 0.25;

/**
 * Words for a length of time, two units at most: `2 h 58 min`.
 *
 * @param ms 0 or more; fractions of a second are dropped
 */
export function durationWords(ms: number): string {
  if (ms >= DAY) return units(ms, DAY, 'd', HOUR, 'h');
  if (ms >= HOUR) return units(ms, HOUR, 'h', MINUTE, 'min');
  // Seconds matter only if few minutes are left, and a number that changes each second draws the eye.
  if (ms >= 2 * MINUTE) return `${Math.floor(ms / MINUTE)} min`;
  if (ms >= MINUTE) return units(ms, MINUTE, 'min', SECOND, 's');
  return `${Math.floor(ms / SECOND)} s`;
}

/** The text under the fuse: `41 min left`. Times in ms. */
export function timeLeftWords(expiresAt: number, now: number): string {
  const left = expiresAt - now;
  return left < SECOND ? 'Expires now' : `${durationWords(left)} left`;
}

/**
 * The part of the fuse that has not burnt, from 0 to 1 in steps of a thousandth, so that it is drawn only when it moved.
 *
 * @param expiresAt ms
 * @param ttl seconds; a tunnel that was extended beyond it has a whole fuse
 * @param now ms
 */
export function fuseFraction(expiresAt: number, ttl: number, now: number): number {
  const fraction = (expiresAt - now) / (ttl * SECOND);
  return Math.round(Math.min(1, Math.max(0, fraction)) * 1000) / 1000;
}

/** Whether a tunnel ends so soon that its card should say so. Arguments as for {@link fuseFraction}. */
export function expiresSoon(expiresAt: number, ttl: number, now: number): boolean {
  return expiresAt - now <= SOON_MS && fuseFraction(expiresAt, ttl, now) <= SOON_FRACTION;
}

function units(ms: number, big: number, bigUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % big) / small);
  const whole = `${Math.floor(ms / big)} ${bigUnit}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smallUnit}`;
}
