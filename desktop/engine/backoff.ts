import { RETRY_AFTER_MAX_MS, RETRY_BASE_MS, RETRY_CAP_MS } from './limits.ts';

/**
 * How long to wait before the next try: "full jitter" from the first try on, so that the clients of a relay that
 * comes back do not come back all at once. A wait the relay asked for comes on top.
 *
 * @param attempt tries that failed in a row before this one, from 0
 * @param random from 0 up to 1
 * @param retryAfterMs the relay's `Retry-After`
 * @returns ms
 */
export function retryDelay(attempt: number, random: number, retryAfterMs = 0): number {
  const ceiling = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** attempt);
  return Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) + Math.floor(random * ceiling);
}
