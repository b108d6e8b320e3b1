/** Counts a load's requests, and says of each that failed how. */
import type { Asked } from './load.ts';
import type { Request } from './raw-http.ts';

export interface Tally {
  readonly sent: number;
  readonly good: number;
  /** those that got no answer, another status than 200, or another body than the service sends */
  readonly failed: readonly Asked[];
}

/** What {@link Asked} requests of a service that answers with this text came to. */
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

/** A failure in a few words. `since`: `performance.now()` of the moment it is told against. */
export function describeFailure({ request, at, outcome }: Asked, since: number): string {
  const what = outcome instanceof Error ? outcome.message : `${outcome.status} ${outcome.text.slice(0, 120)}`;
  return `${request?.method ?? 'GET'} ${request?.target ?? '(no connection)'} at ${Math.round(at - since)} ms: ${what}`;
}
