/** Which requests of a log are shown, and in which order. */
import { t, type TextKey } from '../../i18n/translate.ts';
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { outcome } from './request.ts';

/** A part of the log: how it is called, and how many are in it. */
export interface Chip {
  readonly id: string;
  readonly label: string;
  readonly count: number;
}

/** From here on people ask why it takes so long. */
const SLOW_MS = 1000;
/** Methods beyond these, and longer ones, which only a visitor makes up, are found by the search. */
const MOST_METHODS = 5;
const METHOD_MAX_CHARS = 16;
/** What the id of a part by method begins with. */
const METHOD = 'method ';
export const ALL = 'all';

const PARTS: readonly (readonly [id: string, label: TextKey, has: (request: RequestSummary) => boolean])[] = [
  [ALL, 'log.chip.all', () => true],
  ['errors', 'log.chip.errors', (request) => ['failed', 'broken'].includes(outcome(request))],
  ['slow', 'log.chip.slow', ({ durationMs = 0 }) => durationMs >= SLOW_MS],
  ['live', 'log.chip.live', (request) => outcome(request) === 'live'],
  ['webhooks', 'log.chip.webhooks', ({ webhook }) => webhook !== undefined],
];

/** The parts that have something in them, and the chosen one, so that it can be left. */
export function chips(requests: readonly RequestSummary[], chosen: string): readonly Chip[] {
  const parts = PARTS.map(([id, label, has]) => ({
    id,
    label: t(label),
    count: requests.filter(has).length,
  }));
  const counts = new Map<string, number>();
  for (const { method } of requests) counts.set(method, (counts.get(method) ?? 0) + 1);
  const methods = [...counts.keys()].filter(({ length }) => length <= METHOD_MAX_CHARS).toSorted();
  const byMethod = methods.slice(0, MOST_METHODS).map((method) => ({
    id: METHOD + method,
    label: escapeUnprintable(method),
    count: counts.get(method) ?? 0,
  }));
  // A single method is all of them.
  return [...parts, ...(methods.length > 1 ? byMethod : [])].filter(
    ({ id, count }) => id === ALL || id === chosen || count > 0,
  );
}

/** The requests of a part; its id is one of {@link chips}. */
export function partOf(requests: readonly RequestSummary[], id: string): readonly RequestSummary[] {
  const part = PARTS.find(([known]) => known === id);
  if (part === undefined) return requests.filter(({ method }) => METHOD + method === id);
  const [, , has] = part;
  return id === ALL ? requests : requests.filter(has);
}

/** The requests with each repetition below what it repeats, the first one first; otherwise the order stays. */
export function threads(requests: readonly RequestSummary[]): readonly RequestSummary[] {
  if (requests.every(({ replayOf }) => replayOf === undefined)) return requests;
  const byId = new Map(requests.map((request) => [request.id, request]));
  const rootOf = (request: RequestSummary): RequestSummary => {
    const original = request.replayOf === undefined ? undefined : byId.get(request.replayOf);
    // A request is younger than what it repeats, so that this ends.
    return original === undefined || original.id >= request.id ? request : rootOf(original);
  };
  const repetitions = new Map<RequestSummary, RequestSummary[]>();
  for (const request of requests) {
    const root = rootOf(request);
    if (root !== request) repetitions.set(root, [request, ...(repetitions.get(root) ?? [])]);
  }
  return requests
    .filter((request) => rootOf(request) === request)
    .flatMap((root) => [root, ...(repetitions.get(root) ?? [])]);
}
