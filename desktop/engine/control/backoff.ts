import { fullJitter } from '../../../shared/backoff.ts';
import {
  RETRY_AFTER_MAX_MS,
  RETRY_BASE_MS,
  RETRY_CAP_MS,
  RETRY_QUICK_CAP_MS,
  RETRY_QUICK_FOR_MS,
} from '../limits.ts';

/** How far the last try got. */
export type Reach =
  /** nothing left this machine, as without a network: trying costs nobody anything */
  | 'nowhere'
  /** it was sent, and no response came */
  | 'unanswered'
  /** the relay, or something in front of it, has responded */
  | 'answered';

export interface Retry {
  /** tries that failed in a row before this one, from 0 */
  readonly attempt: number;
  /** from 0 up to 1 */
  readonly random: number;
  readonly reach: Reach;
  /** ms since the tunnel was online */
  readonly awayMs: number;
  /** the relay's `Retry-After` */
  readonly retryAfterMs?: number | undefined;
}

/**
 * How long to wait before the next try: with full jitter from the first one on. A wait the relay asked for comes on top. As
 * long as it is likely that only the network is away for a moment, waits stay short, so that the tunnel is back right after
 * it.
 *
 * @returns ms
 */
export function retryDelay({ attempt, random, reach, awayMs, retryAfterMs = 0 }: Retry): number {
  const isQuick = reach === 'nowhere' || (reach === 'unanswered' && awayMs < RETRY_QUICK_FOR_MS);
  const cap = isQuick ? RETRY_QUICK_CAP_MS : RETRY_CAP_MS;
  const jitter = fullJitter({ attempt, baseMs: RETRY_BASE_MS, capMs: cap, random });
  return Math.min(retryAfterMs, RETRY_AFTER_MAX_MS) + jitter;
}
