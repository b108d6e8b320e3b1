/** How a request has spent its time, as a waterfall of consecutive phases. */
import type { RequestDetail } from '../../../client/inspector/records.ts';
import { t } from '../../messages/translate.ts';

export interface Phase {
  readonly name: string;
  /** from the start of the first phase; ms */
  readonly startMs: number;
  /** `undefined` while it lasts */
  readonly ms: number | undefined;
}

/**
 * The phases of a request so far. Each ends where the next begins.
 *
 * @returns an empty list for a request of which only the total duration is known
 */
export function phases({
  timing,
  durationMs,
}: Pick<RequestDetail, 'timing' | 'durationMs'>): readonly Phase[] {
  const { waitedMs, connectedMs, answeredMs } = timing;
  const found: Phase[] = [];
  /** ends of the phases, from the first byte of the request, in this order */
  let from = 0;
  const add = (name: string, until: number | undefined): void => {
    found.push({ name, startMs: waitedMs + from, ms: until === undefined ? undefined : until - from });
    from = until ?? from;
  };
  found.push({ name: t('request.waiting'), startMs: 0, ms: waitedMs });
  add(t('request.connection'), connectedMs ?? answeredMs ?? durationMs);
  if (connectedMs !== undefined) add(t('request.server'), answeredMs ?? durationMs);
  if (answeredMs !== undefined) add(t('request.rest'), durationMs);
  return found;
}

/** The position of a phase in the whole, from 0 to 1 each; a running one extends to the end. */
export function barOf(
  phase: Phase,
  all: readonly Phase[],
): { readonly start: number; readonly width: number } {
  const total = all.reduce((sum, { ms = 0 }) => sum + ms, 0);
  if (total === 0) return { start: 0, width: phase.ms === undefined ? 1 : 0 };
  const start = phase.startMs / total;
  return { start, width: phase.ms === undefined ? 1 - start : phase.ms / total };
}
