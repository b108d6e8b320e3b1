/** The last requests, one line each. */
import type { RequestSummary } from '../../engine/inspector/records.ts';
import { byteSize, clockTime } from '../format.ts';
import { escapeVisitorText } from '../visitor-text.ts';
import type { PanelState } from './state.ts';
import { type Line, shorten, span, type Style } from './text.ts';

/** With fewer columns a line has no room for time, bytes and where the request went. */
const WIDE_COLUMNS = 64;
const METHOD_COLUMNS = 7;

/** @returns the newest requests of all tunnels, newest first, `rows` of them at most */
export function requestRows(panels: readonly PanelState[], columns: number, rows: number): Line[] {
  const labelColumns = Math.max(0, ...panels.map(({ label }) => label?.length ?? 0));
  return panels
    .flatMap(({ label, requests }) => requests.map((request) => ({ label, request })))
    .sort((a, b) => b.request.startedAt - a.request.startedAt || b.request.id - a.request.id)
    .slice(0, Math.max(0, rows))
    .map(({ label, request }) => {
      const isWide = columns >= WIDE_COLUMNS;
      return [
        span(isWide ? `${clockTime(request.startedAt)}  ` : '', 'dim'),
        span(isWide && labelColumns > 0 ? `${(label ?? '').padEnd(labelColumns)}  ` : '', 'dim'),
        span(`${shorten(escapeVisitorText(request.method), METHOD_COLUMNS).padEnd(METHOD_COLUMNS)} `),
        ...outcome(request),
        span(isWide ? `${byteSize(request.bytesOut).padStart(10)}  ` : '  ', 'dim'),
        span(request.replayOf === undefined ? '' : `again ${request.replayOf}: `, 'dim'),
        span(request.visitor === undefined ? '' : `${escapeVisitorText(request.visitor)}  `, 'dim'),
        span(escapeVisitorText(request.target)),
      ];
    });
}

function outcome({ status, durationMs, isBroken }: RequestSummary): Line {
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
