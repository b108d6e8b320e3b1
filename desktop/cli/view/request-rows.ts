/** The last requests, one line each. */
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { isUnsent } from '../../shared/unsent.ts';
import { byteSize, clockTime } from '../format.ts';
import { escapeVisitorText } from '../visitor-text.ts';
import type { PanelState } from './state.ts';
import { type Line, shorten, span, type Style } from './text.ts';

/** With fewer columns a line has no room for time and bytes, and little for the tunnel's name. */
export const WIDE_COLUMNS = 64;
export const NARROW_LABEL_COLUMNS = 10;
const METHOD_COLUMNS = 7;

/** @returns the newest requests of all tunnels, newest first, `rows` of them at most */
export function requestRows(panels: readonly PanelState[], columns: number, rows: number): Line[] {
  const labelColumns = Math.max(0, ...panels.map(({ label }) => label?.length ?? 0));
  return panels
    .flatMap(({ label, requests }) => requests.map((request) => ({ label, request })))
    .sort((a, b) => b.request.startedAt - a.request.startedAt || b.request.id - a.request.id)
    .slice(0, Math.max(0, rows))
    .map(({ label, request }) =>
      requestRow(request, labelColumns === 0 ? undefined : (label ?? '').padEnd(labelColumns), columns),
    );
}

/** @param label of the tunnel, as wide as those of the other rows; `undefined` where there is only one */
export function requestRow(request: RequestSummary, label: string | undefined, columns: number): Line {
  const isWide = columns >= WIDE_COLUMNS;
  return [
    span(isWide ? `${clockTime(request.startedAt)}  ` : '', 'dim'),
    span(
      label === undefined
        ? ''
        : `${isWide ? label : shorten(label.trimEnd(), NARROW_LABEL_COLUMNS).padEnd(NARROW_LABEL_COLUMNS)}  `,
      'dim',
    ),
    span(`${shorten(escapeVisitorText(request.method), METHOD_COLUMNS).padEnd(METHOD_COLUMNS)} `),
    ...outcome(request),
    span(isWide ? `${byteSize(request.bytesOut).padStart(10)}  ` : '  ', 'dim'),
    span(origin(request), 'dim'),
    span(request.visitor === undefined ? '' : `${escapeVisitorText(request.visitor)}  `, 'dim'),
    span(escapeVisitorText(request.target)),
  ];
}

/** Who has sent it, if no visitor has. */
function origin({ replayOf, isImported }: RequestSummary): string {
  if (isImported) return 'imported: ';
  return replayOf === undefined ? '' : `again ${replayOf}: `;
}

function outcome(request: RequestSummary): Line {
  if (isUnsent(request)) return [span('not sent'.padStart(13), 'dim')];
  const { status, durationMs, isBroken } = request;
  const text = String(status ?? (isBroken ? '' : '…')).padStart(4);
  const time = isBroken ? 'broken' : durationMs === undefined ? '' : duration(durationMs);
  return [span(text, styleOf(status)), span(time.padStart(9), isBroken ? 'bad' : 'dim')];
}

function styleOf(status: number | undefined): Style {
  if (status === undefined) return 'dim';
  if (status >= 500) return 'bad';
  return status >= 400 ? 'warning' : 'good';
}

/** `3 ms`, `12.4 s`. */
function duration(ms: number): string {
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
