/** Finds recorded requests by words. */
import type { RequestSummary } from './records.ts';

/** What words are looked for in. */
export type Matched = Pick<
  RequestSummary,
  'method' | 'target' | 'status' | 'isBroken' | 'visitor' | 'webhook'
>;

/**
 * Whether every one of the words is in the request's method, address, status, visitor or sender, in any case. No words are in every
 * request.
 *
 * @param typed words with spaces between them
 */
export function matches(
  { method, target, status, isBroken, visitor, webhook }: Matched,
  typed: string,
): boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const parts = [method, target, status, isBroken ? 'broken' : '', visitor, webhook];
  const text = parts.join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** Those that match; the order stays. */
export function matching(summaries: readonly RequestSummary[], typed: string): readonly RequestSummary[] {
  return summaries.filter((summary) => matches(summary, typed));
}
