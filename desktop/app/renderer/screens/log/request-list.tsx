import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { escapeUnprintable } from '../../../../../shared/unprintable.ts';
import { REDACTED } from '../../../../../shared/version.ts';
import { methodText } from '../../../../client/inspector/readable.ts';
import {
  type MessageCounts,
  type RequestSummary,
  type SignatureView,
  WEBHOOK_PROVIDERS,
} from '../../../../client/inspector/records.ts';
import { t } from '../../../messages/translate.ts';
import { type RequestActs, requestActs } from '../../model/actions.ts';
import { tallRows, type Visits } from '../../model/filter.ts';
import { clockText } from '../../model/numbers.ts';
import {
  agoText,
  countsMark,
  countsWords,
  durationFraction,
  endedText,
  fromText,
  outcome,
  signatureMark,
  signatureTone,
  sizesText,
  statusText,
  targetText,
  timeText,
  triesText,
} from '../../model/request.ts';
import { useTime } from '../../view/clock.ts';
import { type Action, useShell } from '../../view/context.ts';
import { isLetter, isTyping, rowAfter, useKey } from '../../view/keyboard.ts';
import { Button } from '../../view/kit.tsx';
import { Menu, type Spot, spotOf } from '../../view/menu.tsx';
import { drawnRows, scrollerOf, useVirtualRows } from '../../view/virtual-rows.ts';

/** How long the focus rests on a row before the request opens beside the list. */
const FOLLOW_MS = 150;

/**
 * The requests of a log, in any number. Tab reaches one of them, and list keys reach the others from there. The focused
 * one is always in the page.
 */
export function RequestList({
  tunnelKey,
  visits,
  start,
  opened,
  follow,
  openMenu,
  acts,
}: {
  tunnelKey: string;
  visits: Visits;
  /** number of the request that the user returns to */
  start: number | undefined;
  /** number of the request that is open beside the list */
  opened: number | undefined;
  /** opens another one there; `undefined` without such a pane */
  follow: ((id: number) => void) | undefined;
  openMenu: (menu: RowMenu) => void;
  /** what keys do with the focused request */
  acts: RequestActs;
}): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  const { rows: requests, tries } = visits;
  const placeOf = useMemo(() => {
    const places = new Map(requests.map(({ id }, place) => [id, place]));
    for (const [id, [first]] of tries) places.set(id, places.get(first?.id ?? id) ?? 0);
    return places;
  }, [requests, tries]);
  const tall = useMemo(() => tallRows(visits), [visits]);
  const tallPlaces = useMemo(() => [...tall.keys()], [tall]);
  const rows = useVirtualRows(list, ruler, requests, placeOf, tallPlaces);
  const [chosen, setActive] = useState(start);
  const activePlace = chosen === undefined ? undefined : placeOf.get(chosen);
  const active = activePlace === undefined ? chosen : requests[activePlace]?.id;
  /** the try that a row shows, and that it opens */
  const latestOf = (request: RequestSummary): RequestSummary => tries.get(request.id)?.at(-1) ?? request;
  const wantsFocus = useRef(false);
  const lastPlace = useRef(0);

  const followLater = useFollow(follow);

  const goTo = (place: number): number | undefined => {
    const request = requests[Math.max(0, Math.min(place, requests.length - 1))];
    if (request === undefined) return undefined;
    wantsFocus.current = true;
    // Content above the list is scrolled into view with its first row.
    if (request === requests[0] && list.current !== null) scrollerOf(list.current).scrollTop = 0;
    if (request.id === active) focusRow(tunnelKey, request.id);
    else setActive(request.id);
    return latestOf(request).id;
  };
  useKey(
    (event) => placeAfter(event, list.current, 0, 1) !== undefined,
    (event) => {
      const isInside = list.current?.contains(document.activeElement) === true;
      const from = isInside ? activePlace : undefined;
      const first = event.key === 'End' ? requests.length - 1 : isTyping(event) ? 0 : rows.firstInView();
      const next = from === undefined ? first : placeAfter(event, list.current, from, rows.perPage());
      followLater(goTo(next ?? first));
    },
  );

  const actOf = (event: KeyboardEvent): ((id: number) => unknown) | undefined => {
    if (active === undefined || list.current?.contains(document.activeElement) !== true) return undefined;
    return actOfKey(event, acts);
  };
  useKey(
    (event) => actOf(event) !== undefined,
    (event) => {
      const request = activePlace === undefined ? undefined : requests[activePlace];
      if (request !== undefined) void actOf(event)?.(latestOf(request).id);
    },
  );

  // Read before the redraw, which loses the position of the focus.
  const hadFocus = list.current?.contains(document.activeElement) === true;
  useLayoutEffect(() => {
    if (activePlace !== undefined) lastPlace.current = activePlace;
    if (wantsFocus.current && active !== undefined && focusRow(tunnelKey, active)) wantsFocus.current = false;
    if (!hadFocus || document.activeElement !== document.body) return;
    // The row is gone: it was filtered out, or is no longer kept.
    if (activePlace === undefined) goTo(lastPlace.current);
    else if (active !== undefined) focusRow(tunnelKey, active);
    if (requests.length === 0) document.getElementById('search-requests')?.focus();
  });

  // No rows until their height is known: a row focused before would be at the wrong position.
  const drawn =
    rows.layout === undefined
      ? []
      : drawnRows(rows.window, activePlace).filter((place) => place < requests.length);
  const stop = activePlace ?? drawn[0];
  return (
    <div class="log-rows">
      <div ref={ruler} class="row-ruler" aria-hidden="true" />
      <ul
        ref={list}
        class="log"
        aria-label={t('log.requests', {
          kind: requests[0]?.connection === undefined ? 'requests' : 'connections',
        })}
        style={{ height: `${rows.layout?.height ?? 0}px` }}
        onFocusIn={({ target }) => {
          const id = target instanceof Element ? target.closest('li')?.dataset['request'] : undefined;
          if (id !== undefined) setActive(Number(id));
        }}
        onContextMenu={(event) => {
          const row = event.target instanceof Element ? event.target.closest('li') : null;
          const request = requests[placeOf.get(Number(row?.dataset['request'])) ?? -1];
          if (row === null || request === undefined) return;
          event.preventDefault();
          row.querySelector('button')?.focus();
          openMenu({ request: latestOf(request), spot: spotOf(event, row) });
        }}
      >
        {drawn.map((place) => {
          const visit = requests[place];
          return (
            visit && (
              <RequestRow
                key={visit.id}
                tunnelKey={tunnelKey}
                visit={visit}
                request={latestOf(visit)}
                second={tall.has(place) ? secondLine(visit, tries, tall.get(place) === true) : undefined}
                spot={place}
                top={rows.layout?.topOf(place) ?? 0}
                count={requests.length}
                isTabStop={place === stop}
                isOpen={opened !== undefined && placeOf.get(opened) === place}
              />
            )
          );
        })}
      </ul>
    </div>
  );
}

/** The device of a visit, and its tries. */
function secondLine(visit: RequestSummary, tries: Visits['tries'], hasDevice: boolean): string {
  const all = tries.get(visit.id) ?? [];
  return [hasDevice && fromText(visit), all.length > 1 && triesText(all)].filter(Boolean).join(' · ');
}

/** @returns a function that opens a request beside the list once the keys have stopped at it */
function useFollow(follow: ((id: number) => void) | undefined): (id: number | undefined) => void {
  const timer = useRef<number>(undefined);
  // Read at that time, because a key may be handled before a request is known to be open.
  const latest = useRef(follow);
  latest.current = follow;
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return (id) => {
    window.clearTimeout(timer.current);
    if (id !== undefined) timer.current = window.setTimeout(() => latest.current?.(id), FOLLOW_MS);
  };
}

/** @returns whether the row is in the page */
function focusRow(tunnelKey: string, id: number): boolean {
  const row = document.getElementById(rowId(tunnelKey, id));
  row?.focus();
  return row !== null;
}

/**
 * The row that a key moves to: up and down, or k and j; a page up or down; the first and the last row. From a text
 * field, only the up and down arrows move into the list.
 *
 * @param list the key must be pressed in its pane, or outside of all panes
 * @param from number of the focused row
 * @param perPage number of rows that fit into view
 * @returns number of a row, which may be beyond the ends; `undefined` for any other key
 */
function placeAfter(
  event: KeyboardEvent,
  list: HTMLElement | null,
  from: number,
  perPage: number,
): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || list === null || !isNear(event, list))
    return undefined;
  const key = { j: 'ArrowDown', k: 'ArrowUp' }[event.key] ?? event.key;
  if (isTyping(event) && !event.key.startsWith('Arrow')) return undefined;
  return rowAfter(key, from, Infinity, perPage);
}

/** Controls that use arrow keys themselves keep them. */
function isNear({ target }: KeyboardEvent, list: HTMLElement): boolean {
  if (!(target instanceof Element)) return false;
  if (target === document.body || list.contains(target)) return true;
  const isOfPane = list.closest('.screen')?.contains(target) === true;
  return isOfPane && target.matches('input[type=search], h1, button:not([aria-haspopup])');
}

/** The row whose menu is open. */
export interface RowMenu {
  readonly request: RequestSummary;
  readonly spot: Spot;
}

/** The context menu of a request. Copies contain no secrets. */
export function RequestMenu({
  tunnelKey,
  url,
  menu: { request, spot },
  run,
  acts,
  search,
  close,
}: {
  tunnelKey: string;
  /** URL of the tunnel, while it is in the list */
  url: string | undefined;
  menu: RowMenu;
  run: Action['run'];
  acts: RequestActs;
  /** searches the log for these words */
  search: (text: string) => void;
  close: () => void;
}): JSX.Element {
  const { go } = useShell();
  const { id, method, target, connection } = request;
  const isRequest = connection === undefined;
  // That of a connection is the visitor's, whose port is another one each time.
  const [words = target] = isRequest ? target.split('?') : [target.replace(/:\d+$/, '')];
  const copyAddress = async (): Promise<void> => {
    const text = `${url}${target}`;
    const said = text.includes(REDACTED) ? 'log.menu.copiedAddressClean' : 'log.menu.copiedAddress';
    await run('text:copy', { text }, t(said));
  };
  return (
    <Menu
      label={t('log.menu', { method, target: targetText(request) })}
      spot={spot}
      items={[
        { label: t('log.menu.open'), act: () => go({ screen: 'request', key: tunnelKey, id }) },
        isRequest && { label: t('request.replay'), act: () => acts.replay(id) },
        isRequest && { label: t('request.edit'), act: () => acts.edit(id) },
        isRequest && url !== undefined && { label: t('log.menu.copyAddress'), act: copyAddress },
        isRequest && { label: t('request.copyCurl'), act: () => acts.copyCurl(id) },
        { label: t(isRequest ? 'log.menu.onlyPath' : 'log.menu.onlyAddress'), act: () => search(words) },
      ]}
      close={close}
    />
  );
}

/** The position of a row in a long list. */
interface RowSpot {
  /** index, from 0 */
  spot: number;
  /** px from the start of the list */
  top: number;
  /** number of rows in the list */
  count: number;
  /** whether Tab reaches it */
  isTabStop: boolean;
  /** whether the request is open beside the list */
  isOpen: boolean;
}

/** Id of a request's element in its log. */
function rowId(tunnelKey: string, id: number): string {
  return `request-${tunnelKey}-${id}`;
}

/** The number of the request whose row has that id; `undefined` for any other id. */
export function requestOfRow(tunnelKey: string, elementId: string | undefined): number | undefined {
  const prefix = rowId(tunnelKey, 0).slice(0, -1);
  const id = elementId?.startsWith(prefix) === true ? Number(elementId.slice(prefix.length)) : 0;
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

interface Row {
  tunnelKey: string;
  /** in a log its last try */
  request: RequestSummary;
  /** its first try, whose number and time the row has */
  visit?: RequestSummary;
  /** its second line */
  second?: string | undefined;
}

/** One request on one line, and maybe a second one; a click opens it. The log shows more details than a card. */
export const RequestRow = memo(function RequestRow({
  tunnelKey,
  request,
  visit = request,
  second,
  ...spot
}: Row & (RowSpot | Partial<Record<keyof RowSpot, undefined>>)): JSX.Element {
  const isInLog = spot.count !== undefined;
  const place = isInLog
    ? { 'aria-setsize': spot.count, 'aria-posinset': spot.spot + 1, style: { top: `${spot.top}px` } }
    : {};
  return (
    <li class={second === undefined ? undefined : 'tall'} data-request={visit.id} {...place}>
      <RowButton
        tunnelKey={tunnelKey}
        request={request}
        visit={visit}
        second={second}
        isInLog={isInLog}
        isTabStop={!isInLog || spot.isTabStop}
        isOpen={spot.isOpen === true}
      />
    </li>
  );
});

/** The part that does not change when newer requests move a row down. */
const RowButton = memo(function RowButton({
  tunnelKey,
  request,
  visit = request,
  second,
  isInLog,
  isTabStop,
  isOpen,
}: Row & Pick<RowSpot, 'isTabStop' | 'isOpen'> & { isInLog: boolean }): JSX.Element {
  const { go } = useShell();
  const target = targetText(request);
  const { id, rehearsed, webhook, messages } = request;
  const { replayOf, isImported } = visit;
  const from = fromText(visit) ?? '';
  const sizes = request.connection === undefined ? '' : sizesText(request);
  const kinds = [`row-${outcome(request)}`];
  if (isInLog) kinds.push('row-timed');
  return (
    <Button
      id={isInLog ? rowId(tunnelKey, visit.id) : `recent-${tunnelKey}-${id}`}
      look={`row ${kinds.join(' ')}`}
      tabIndex={isTabStop ? 0 : -1}
      aria-current={isOpen ? 'true' : undefined}
      act={() => go({ screen: 'request', key: tunnelKey, id })}
    >
      <span class="method cut" dir="ltr">
        {escapeUnprintable(methodText(request))}
      </span>
      <span class="target cut" dir="ltr" title={[target, sizes, from].filter(Boolean).join('\n')}>
        {replayOf !== undefined && (
          <span class="replay-mark" title={t('log.repeats')}>
            <span aria-hidden="true">↻ </span>
            <span class="unseen">{t('log.repeated')}</span>
          </span>
        )}
        {isImported && (
          <span class="replay-mark" title={t('log.importedHint')}>
            <span aria-hidden="true">⇣ </span>
            <span class="unseen">{t('log.imported')}</span>
          </span>
        )}
        {rehearsed !== undefined && (
          <span class="replay-mark" title={t(`log.rehearsed.${rehearsed}`)}>
            <span aria-hidden="true">⚑ </span>
            <span class="unseen">{t(`log.rehearsed.${rehearsed}`)}</span>
          </span>
        )}
        {isInLog && webhook !== undefined && (
          <>
            <span class="webhook-mark" translate={false}>
              {WEBHOOK_PROVIDERS[webhook]}
            </span>{' '}
          </>
        )}
        <SignatureMark signature={request.signature} />
        {messages !== undefined ? (
          <span class="carrier">
            <span class="cut">{target}</span> <Counts of={messages} />
          </span>
        ) : sizes === '' ? (
          target
        ) : (
          <span class="raw">
            <span class="cut">{target}</span>
            <span class="dim cut"> {sizes}</span>
          </span>
        )}
      </span>
      <span class={`status cut status-${outcome(request)}`}>{statusText(request)}</span>
      <span class="took" title={endedText(request)}>
        {timeText(request)}
        {isInLog && messages === undefined && request.durationMs !== undefined && (
          <DurationBar ms={request.durationMs} />
        )}
      </span>
      {isInLog && <Ago startedAt={visit.startedAt} />}
      {second !== undefined && <span class="second cut">{second}</span>}
    </Button>
  );
});

/** The messages that a connection has carried. */
function Counts({ of }: { of: MessageCounts }): JSX.Element {
  const words = countsWords(of);
  return (
    <span class="chip-mark" title={words}>
      <span aria-hidden="true">{countsMark(of)}</span>
      <span class="unseen">{words}</span>
    </span>
  );
}

/** Decorative, because the words beside it contain the same. */
function DurationBar({ ms }: { ms: number }): JSX.Element {
  return <span class="duration" aria-hidden="true" style={{ '--fraction': durationFraction(ms) }} />;
}

function Ago({ startedAt }: { startedAt: number }): JSX.Element {
  const words = useTime((now) => agoText(startedAt, now));
  if (words === t('log.now')) {
    return (
      <span class="ago" title={clockText(startedAt)}>
        {words}
      </span>
    );
  }
  return (
    <span class="ago" title={clockText(startedAt)}>
      <span aria-hidden="true">{words}</span>
      <span class="unseen">{t('log.ago', { words })}</span>
    </span>
  );
}

/** The signature verdict on a log line; nothing if none was checked. */
function SignatureMark({ signature }: { signature: SignatureView | undefined }): JSX.Element | null {
  const mark = signature && signatureMark(signature);
  if (signature === undefined || mark === undefined) return null;
  return <span class={`strong verdict-${signatureTone(signature)}`}>{mark} </span>;
}

/** @param run runs the calls, and keeps their errors */
export function useRequestActs(key: string, run: Action['run']): RequestActs {
  const { go, say } = useShell();
  return useMemo(() => requestActs({ call: run, say, go }, key), [key, run, go, say]);
}

/** What a letter does with a request; `undefined` for any other key. */
export function actOfKey(
  event: KeyboardEvent,
  acts: { readonly [Name in keyof RequestActs]: (id: number) => unknown },
): ((id: number) => unknown) | undefined {
  if (isLetter(event, 'r')) return acts.replay;
  if (isLetter(event, 'e')) return acts.edit;
  return isLetter(event, 'c') ? acts.copyCurl : undefined;
}
