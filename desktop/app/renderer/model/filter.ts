import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { readableTarget } from '../../../client/inspector/readable.ts';
import {
  type RequestSummary,
  triesOf,
  type VisitorDevice,
  WEBHOOK_PROVIDERS,
} from '../../../client/inspector/records.ts';
import { leadsTo, type OtherTunnelView, type TunnelView } from '../../ipc/snapshot.ts';
import type { KeptNameView } from '../../ipc/tunnel-views.ts';
import { t, type TextKey } from '../../messages/translate.ts';
import { keptWord } from './kept-names.ts';
import { outcome } from './request.ts';
import { otherState, tunnelState } from './tunnel-state.ts';

/**
 * Tunnels whose address, port, framework or state contains every typed word, in the same order. @param now wall-clock
 * ms
 */
export function filterTunnels(
  tunnels: readonly TunnelView[],
  typed: string,
  now: number,
): readonly TunnelView[] {
  return filtered(tunnels, typed, (tunnel) => {
    const { url, framework } = tunnel;
    return `${url} ${leadsTo(tunnel)} ${framework ?? ''} ${tunnelState(tunnel, now).word}`;
  });
}

/** Tunnels that this app does not serve, whose address, port, state or owner contains every typed word, in the same order. */
export function filterOthers(tunnels: readonly OtherTunnelView[], typed: string): readonly OtherTunnelView[] {
  return filtered(tunnels, typed, (tunnel) => {
    const { word, where } = otherState(tunnel);
    return `${tunnel.url} ${tunnel.localPort} ${word} ${where} ${tunnel.createdBy ?? ''}`;
  });
}

/** Kept names whose name, state or message contains every typed word, in the same order. */
export function filterNames(names: readonly KeptNameView[], typed: string): readonly KeptNameView[] {
  return filtered(names, typed, (kept) => `${kept.key} ${keptWord(kept, false)} ${kept.away ?? ''}`);
}

function filtered<T>(all: readonly T[], typed: string, wordsIn: (one: T) => string): readonly T[] {
  const words = wordsOf(typed);
  if (words.length === 0) return all;
  return all.filter((one) => {
    const lower = wordsIn(one).toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

/** The typed words in lower case. */
export function wordsOf(typed: string): readonly string[] {
  return typed.toLowerCase().split(/\s+/).filter(Boolean);
}

/* Searches the requests of a log by words. */

const NONE: ReadonlySet<number> = new Set();

/** The searched text of a request in lower case, cached because creating it takes longer than searching it. */
const texts = new WeakMap<RequestSummary, string>();

/**
 * The requests whose method, address, status or sender contain every word, in any case and in the same order.
 *
 * @param typed words separated by spaces
 * @param others numbers of requests that contain them elsewhere
 */
export function foundRequests(
  requests: readonly RequestSummary[],
  typed: string,
  others: ReadonlySet<number> = NONE,
): readonly RequestSummary[] {
  const words = wordsOf(typed);
  if (words.length === 0) return requests;
  return requests.filter((request) => {
    if (others.has(request.id)) return true;
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

/* Selects the visible requests of a log, and their order. */

/** A part of the log, with its name and its number of requests. */
interface Chip {
  readonly id: string;
  readonly label: string;
  readonly count: number;
}

/** Requests that take longer are worth a look. */
const SLOW_MS = 1000;
/** Further methods, and longer ones, are probably invented by a visitor, and are found by the search. */
const MOST_METHODS = 12;
const METHOD_MAX_CHARS = 16;
/** Prefix of the id of a part by method. */
const METHOD = 'method ';
export const ALL = 'all';

const PARTS: readonly (readonly [id: string, label: TextKey, has: (request: RequestSummary) => boolean])[] = [
  [ALL, 'log.chip.all', () => true],
  ['refused', 'log.chip.refused', (request) => outcome(request) === 'refused'],
  [
    'failed',
    'log.chip.failed',
    (request) => request.connection === undefined && ['failed', 'broken'].includes(outcome(request)),
  ],
  ['broken', 'log.chip.broken', (request) => request.connection !== undefined && request.isBroken],
  [
    'slow',
    'log.chip.slow',
    ({ durationMs = 0, connection, messages }) =>
      connection === undefined && messages === undefined && durationMs >= SLOW_MS,
  ],
  ['live', 'log.chip.live', (request) => request.connection === undefined && outcome(request) === 'live'],
  ['open', 'log.chip.open', ({ connection }) => connection === 'open'],
  ['webhooks', 'log.chip.webhooks', ({ webhook }) => webhook !== undefined],
];

/** The nonempty parts, and the chosen one, so that the user can leave it. */
export function chips(requests: readonly RequestSummary[], chosen: string): readonly Chip[] {
  const parts = PARTS.map(([id, label, has]) => ({
    id,
    label: t(label),
    count: requests.filter(has).length,
  }));
  return parts.filter(({ id, count }) => id === ALL || id === chosen || count > 0);
}

/** The parts by method; none if a single method would contain all requests. */
export function methodParts(requests: readonly RequestSummary[]): readonly Chip[] {
  const counts = new Map<string, number>();
  for (const { method } of requests) counts.set(method, (counts.get(method) ?? 0) + 1);
  const methods = [...counts.keys()].filter(({ length }) => length <= METHOD_MAX_CHARS).toSorted();
  if (methods.length < 2) return [];
  return methods.slice(0, MOST_METHODS).map((method) => ({
    id: METHOD + method,
    label: escapeUnprintable(method),
    count: counts.get(method) ?? 0,
  }));
}

/** The requests of a part; its id is one of {@link chips}. */
export function partOf(requests: readonly RequestSummary[], id: string): readonly RequestSummary[] {
  const part = PARTS.find(([known]) => known === id);
  if (part === undefined) return requests.filter(({ method }) => METHOD + method === id);
  const [, , has] = part;
  return id === ALL ? requests : requests.filter(has);
}

/** The rows of a log. */
export interface Visits {
  /** the first try of each visit, in the order of the requests */
  readonly rows: readonly RequestSummary[];
  /** see {@link triesOf} */
  readonly tries: ReadonlyMap<number, readonly RequestSummary[]>;
}

/** Joins the tries of one visit in one row. @param requests newest first */
export function visits(requests: readonly RequestSummary[]): Visits {
  if (requests.every(({ replayOf }) => replayOf === undefined)) return { rows: requests, tries: NO_TRIES };
  const tries = triesOf(requests.toReversed());
  return { rows: requests.filter((request) => tries.get(request.id)?.[0] === request), tries };
}

const NO_TRIES: Visits['tries'] = new Map();

/**
 * The rows that have a second line, by their numbers, in order: visits with several tries, and the newest of those that
 * one device made in a row.
 *
 * @returns for each whether its line names the device
 */
export function tallRows({ rows, tries }: Visits): ReadonlyMap<number, boolean> {
  const tall = new Map<number, boolean>();
  let last: VisitorDevice | undefined;
  for (const [place, { id, from }] of rows.entries()) {
    const isOther = from !== undefined && (from.agent !== last?.agent || from.address !== last.address);
    if (isOther || (tries.get(id)?.length ?? 1) > 1) tall.set(place, isOther);
    last = from ?? last;
  }
  return tall;
}
