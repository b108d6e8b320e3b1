/** The frame for a state: a pure function, without a terminal. */
import { describeAccess } from '../access-text.ts';
import { byteSize, localTime, timeLeft } from '../format.ts';
import { codeLines } from './code.ts';
import { knockLine, nextKnock } from './knocks.ts';
import { requestRows } from './request-rows.ts';
import type { PanelState, PanelStatus, Size, ViewState } from './state.ts';
import { escapeControls, type Line, span, type Span, wrap } from './text.ts';

const NAME_COLUMNS = 13;

interface Context {
  readonly now: number;
  readonly columns: number;
  readonly panels: readonly PanelState[];
}

/** @returns the lines from the top, at most as many as there are rows */
export function frame(state: ViewState, size: Size): Line[] {
  const { panels, now, codeOf, hasKeys } = state;
  const shown = codeOf === undefined ? undefined : panels[codeOf]?.tunnel;
  const next = nextKnock(panels);
  const knock = next && knockLine(next, panels, hasKeys);
  const lines =
    shown === undefined
      ? overview(panels, now, size, knock)
      : codePage(shown.public_url, knock ?? title(panels.length, true), size);
  return lines.slice(0, size.rows);
}

/** A code needs most of a window of 24 rows. */
function codePage(url: string, first: Line, { columns, rows }: Size): Line[] {
  const head: Line[] = [first, [span(escapeControls(url), 'strong')]];
  return [...head, ...codeLines(url, { columns, rows: rows - head.length })];
}

function overview(
  panels: readonly PanelState[],
  now: number,
  { columns, rows }: Size,
  knock: Line | undefined,
): Line[] {
  const context = { now, columns, panels };
  const [only] = panels;
  const isSingle = panels.length === 1 && only !== undefined;
  const head = isSingle ? singleHead(only, context) : panels.flatMap((panel) => blockOf(panel, context));
  const lines: Line[] = [
    title(panels.length, false),
    ...(knock === undefined ? [] : [knock]),
    [],
    ...head,
    [],
  ];
  const requests = requestRows(panels, columns, rows - lines.length);
  return [...lines, ...(requests.length > 0 ? requests : [[span('No requests yet.', 'dim')]])];
}

function title(count: number, hasCode: boolean): Line {
  const what = count === 1 ? 'closes the tunnel' : 'closes the tunnels';
  return [
    span('culvert', 'strong'),
    span(`   Ctrl-C ${what}   q ${hasCode && count === 1 ? 'hides the QR code' : 'QR code'}`, 'dim'),
  ];
}

/** One tunnel has enough room to show everything. */
function singleHead(panel: PanelState, context: Context): Line[] {
  const { now } = context;
  const { tunnel, localUrl } = panel;
  const lines = statusLines(panel.status, now, context.columns);
  if (tunnel !== undefined) {
    const { public_url, urls } = tunnel;
    const others = [urls.account, urls.subdomain, urls.path].filter(
      (url): url is string => url !== undefined && url !== public_url,
    );
    lines.push(row('Address', public_url, 'strong'), ...others.map((url) => row('also', url)));
  }
  lines.push(...lockLines(panel), row('Forwards to', localUrl));
  if (tunnel !== undefined) {
    const left = timeLeft(Date.parse(tunnel.expires_at) - now);
    const idle = tunnel.idle_ttl ? ', later with traffic' : '';
    lines.push(
      row('Expires', `in ${left}, ${localTime(tunnel.expires_at)}${idle}`),
      row('Traffic', traffic(panel)),
    );
  }
  return [...lines, ...problemLines(panel, context)];
}

/** Several tunnels share the room: two lines each, and more if something is wrong. */
function blockOf(panel: PanelState, context: Context): Line[] {
  const { now, columns, panels } = context;
  const labelColumns = Math.max(...panels.map(({ label }) => label?.length ?? 0));
  const { tunnel, status } = panel;
  const label = span(`${(panel.label ?? '').padEnd(labelColumns)}  `, 'strong');
  const indent = span(' '.repeat(labelColumns + 2));
  const problem = problemLines(panel, context);
  if (status.name !== 'online' || tunnel === undefined) {
    const lines = statusLines(status, now, columns - labelColumns - 2);
    return [...lines.map((line, index) => [index === 0 ? label : indent, ...line]), ...problem];
  }
  const left = timeLeft(Date.parse(tunnel.expires_at) - now);
  return [
    [label, span('● ', 'good'), span(escapeControls(tunnel.public_url), 'strong')],
    [indent, span(`  to ${panel.localUrl}, ${left} left, ${traffic(panel)}`, 'dim')],
    ...lockLines(panel).map((line) => [indent, span('  '), ...line]),
    ...problem,
  ];
}

function statusLines(status: PanelStatus, now: number, columns: number): Line[] {
  switch (status.name) {
    case 'opening':
      return marked('○ ', 'Opening…', 'dim', columns);
    case 'online':
      return marked('● ', 'Online', 'good', columns);
    case 'reconnecting': {
      const seconds = Math.ceil((status.retryAt - now) / 1000);
      const next = seconds > 0 ? `Next try in ${seconds} s.` : 'Trying…';
      return marked('◌ ', `Reconnecting. ${status.why} ${next}`, 'warning', columns);
    }
    case 'ended':
      return marked('✕ ', `Ended. ${status.why}`, 'bad', columns);
  }
}

function problemLines({ problem }: PanelState, { columns }: Context): Line[] {
  return problem === undefined ? [] : marked('! ', problem, 'warning', columns);
}

/** What to do is at the end of the text, so all of it is shown, on as many lines as it takes. */
function marked(mark: string, text: string, style: Span['style'], columns: number): Line[] {
  const lines = wrap(escapeControls(text), columns - mark.length);
  return lines.map((line, index) => [span(index === 0 ? mark : '  ', style), span(line, style)]);
}

function row(name: string, value: string, style: Span['style'] = 'plain'): Line {
  return [span(name.padEnd(NAME_COLUMNS), 'dim'), span(escapeControls(value), style)];
}

/** Nothing for a tunnel that is open to everybody. */
function lockLines({ tunnel, madePassword }: PanelState): Line[] {
  const lock = describeAccess(tunnel?.access ?? {});
  if (lock === undefined) return [];
  const password = tunnel?.access.password === true ? madePassword : undefined;
  return [row('Locked', lock), ...(password === undefined ? [] : [row('Password', password, 'strong')])];
}

function traffic({ tunnel }: PanelState): string {
  if (tunnel === undefined) return '';
  const { requests, bytes_in, bytes_out } = tunnel;
  return `${requests} ${requests === 1 ? 'request' : 'requests'}, ${byteSize(bytes_in)} in, ${byteSize(bytes_out)} out`;
}
