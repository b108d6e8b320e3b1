/** Finds requests of a log by words. */
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { WEBHOOK_PROVIDERS } from '../../engine/webhooks/provider.ts';
import { readableTarget } from '../../shared/readable-target.ts';
import { wordsOf } from './filter.ts';

/** What is searched of a request, in lower case: writing it takes longer than looking through it. */
const texts = new WeakMap<RequestSummary, string>();

/**
 * The requests that have every word in method, address, status or sender, in any case; the order stays.
 *
 * @param typed words with spaces between them
 */
export function foundRequests(requests: readonly RequestSummary[], typed: string): readonly RequestSummary[] {
  const words = wordsOf(typed);
  if (words.length === 0) return requests;
  return requests.filter((request) => {
    const text = textOf(request);
    return words.every((word) => text.includes(word));
  });
}

function textOf(request: RequestSummary): string {
  const known = texts.get(request);
  if (known !== undefined) return known;
  const { method, target, status, webhook } = request;
  const sender = webhook === undefined ? '' : WEBHOOK_PROVIDERS[webhook];
  const text = `${method} ${target} ${status ?? ''} ${readableTarget(target)} ${sender}`.toLowerCase();
  texts.set(request, text);
  return text;
}
