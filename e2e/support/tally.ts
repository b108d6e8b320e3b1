/** Counts a load's requests, and says how each one failed that did. */
import type { Asked } from './load.ts';
import type { Request } from './raw-http.ts';

export interface Tally {
  readonly sent: number;
  readonly good: number;
  /** those that got no response, another status than 200, or another body than the service sends */
  readonly failed: readonly Asked[];
}

/** The results of {@link Asked} requests to a service that responds with this text. */
export function tallyOf(asked: readonly Asked[], expected: (request: Request) => string): Tally {
  const failed = asked.filter(
    ({ request, outcome }) =>
      request === undefined ||
      outcome instanceof Error ||
      outcome.status !== 200 ||
      outcome.text !== expected(request),
  );
  return { sent: asked.length, good: asked.length - failed.length, failed };
}

/** A failure in a few words. `since`: `performance.now()` of the moment that its times are relative to. */
export function describeFailure({ request, at, outcome }: Asked, since: number): string {
  const what = outcome instanceof Error ? outcome.message : `${outcome.status} ${outcome.text.slice(0, 120)}`;
  return `${request?.method ?? 'GET'} ${request?.target ?? '(no connection)'} at ${Math.round(at - since)} ms: ${what}`;
}
