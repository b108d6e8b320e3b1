/** How long to wait before trying again after a failure. */

export interface Backoff {
  /** consecutive failed tries before this one, from 0 */
  readonly attempt: number;
  /** longest first wait, in ms */
  readonly baseMs: number;
  /** longest wait of all, in ms */
  readonly capMs: number;
  /** from 0 up to 1 */
  readonly random: number;
}

/**
 * "Full jitter": a random wait between nothing and a ceiling that doubles with each failure, so that many clients that
 * lost the same peer do not all return at the same time.
 *
 * @returns whole ms
 */
export function fullJitter({ attempt, baseMs, capMs, random }: Backoff): number {
  return Math.floor(random * Math.min(capMs, baseMs * 2 ** attempt));
}
