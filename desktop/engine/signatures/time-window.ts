import { SIGNATURE_TOLERANCE_SECONDS } from '../limits.ts';

/** A time in whole seconds since 1970, as services write it; `undefined` for anything else. */
export function readSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

/** @param now wall-clock ms */
export function writeSeconds(now: number): string {
  return String(Math.floor(now / 1000));
}

/**
 * Whether a signature was made near enough to the time at which it came.
 *
 * @param signedAt seconds since 1970
 * @param now wall-clock ms
 */
export function checkTime(signedAt: number, now: number): 'valid' | 'too-old' | 'too-new' {
  const age = Math.floor(now / 1000) - signedAt;
  if (age > SIGNATURE_TOLERANCE_SECONDS) return 'too-old';
  return age < -SIGNATURE_TOLERANCE_SECONDS ? 'too-new' : 'valid';
}
