/** How long those wait who try again after a failure. */

export interface Backoff {
  /** tries that failed in a row before this one, from 0 */
  readonly attempt: number;
  /** ms that the first wait takes at most */
  readonly baseMs: number;
  /** ms that any wait takes at most */
  readonly capMs: number;
  /** from 0 up to 1 */
  readonly random: number;
}

/**
 * "Full jitter": by chance, between nothing and a ceiling that doubles with each failure, so that many who lost the same
 * peer do not come back all at once.
 *
 * @returns whole ms
 */
export function fullJitter({ attempt, baseMs, capMs, random }: Backoff): number {
  return Math.floor(random * Math.min(capMs, baseMs * 2 ** attempt));
}
