/** The frame for a state: a pure function, without a terminal. */
import { describeAccess } from '../access-text.ts';
import { byteSize, localTime, timeLeft } from '../format.ts';
import { EXPIRY_FIRST_WARNING_MS } from '../limits.ts';
import { codeLines } from './code.ts';
import { helpPage } from './help-page.ts';
import { knockLine, nextKnock } from './knocks.ts';
import { NARROW_LABEL_COLUMNS, requestRows, WIDE_COLUMNS } from './request-rows.ts';
import type { PanelState, PanelStatus, Size, ViewState } from './state.ts';
import { escapeControls, type Line, shorten, span, type Span, wrap } from './text.ts';

const NAME_COLUMNS = 13;

interface Context {
  readonly now: number;
  readonly columns: number;
  readonly panels: readonly PanelState[];
  readonly current: number;
  readonly hasKeys: boolean;
}

/** @returns the lines from the top, at most as many as there are rows */
export function frame(state: ViewState, size: Size): Line[] {
  return pageOf(state, size).slice(0, size.rows);
}

function pageOf(state: ViewState, size: Size): Line[] {
  const { panels, page, current, hasKeys } = state;
  const shown = panels[current]?.tunnel;
  const next = nextKnock(panels);
  const knock = next && knockLine(next, panels, hasKeys);
  if (page === 'help') return [...(knock === undefined ? [] : [knock]), ...helpPage()];
  if (page === 'code' && shown !== undefined)
    return codePage(shown.public_url, knock ?? codeTitle(panels.length), size);
  return overview(state, size, knock);
}

/** A code needs most of a window of 24 rows. */
function codePage(url: string, first: Line, { columns, rows }: Size): Line[] {
  const head: Line[] = [first, [span(escapeControls(url), 'strong')]];
  return [...head, ...codeLines(url, { columns, rows: rows - head.length })];
}

function overview(state: ViewState, { columns, rows }: Size, knock: Line | undefined): Line[] {
  const { panels, now, page, current, note, hasKeys } = state;
  const context = { now, columns, panels, current, hasKeys };
  const [only] = panels;
  const isSingle = panels.length === 1 && only !== undefined;
  const head = isSingle ? singleHead(only, context) : panels.flatMap((panel) => blockOf(panel, context));
  const lines: Line[] = [
    page === 'quit' ? quitLine(panels.length) : title(panels.length, hasKeys),
    ...(knock === undefined ? [] : [knock]),
    note === undefined ? [] : [span(escapeControls(note), 'good')],
    ...head,
    [],
  ];
  const requests = requestRows(panels, columns, rows - lines.length);
  return [...lines, ...(requests.length > 0 ? requests : [[span('No requests yet.', 'dim')]])];
}

function codeTitle(count: number): Line {
  return [
    span('culvert', 'strong'),
    span(`   r hides the QR code${count === 1 ? '' : '   Tab next'}`, 'dim'),
  ];
}

function quitLine(count: number): Line {
  const what = count === 1 ? 'Close the tunnel' : 'Close the tunnels';
  return [span(`${what} and quit?`, 'warning'), span('   y does, any other key goes on', 'strong')];
}

function title(count: number, hasKeys: boolean): Line {
  const what = count === 1 ? 'closes the tunnel' : 'closes the tunnels';
  // A narrow window cuts the end off.
  const keys = `? keys   q quits   ${count === 1 ? '' : 'Tab next   '}i requests   c copies`;
  return [span('culvert', 'strong'), span(`   ${hasKeys ? keys : `Ctrl-C ${what}`}`, 'dim')];
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
    const { style, hint } = ending(panel, context);
    lines.push(
      row('Expires', `in ${left}, ${localTime(tunnel.expires_at)}${idle}${hint}`, style),
      row('Traffic', traffic(panel)),
    );
  }
  return [...lines, ...problemLines(panel, context)];
}

/** Several tunnels share the room: two lines each, and more if something is wrong. */
function blockOf(panel: PanelState, context: Context): Line[] {
  const { now, columns, panels, current } = context;
  const longest = Math.max(...panels.map(({ label }) => label?.length ?? 0));
  const labelColumns = columns < WIDE_COLUMNS ? Math.min(longest, NARROW_LABEL_COLUMNS) : longest;
  const { tunnel, status } = panel;
  const isCurrent = panels[current] === panel;
  const label = span(
    `${shorten(panel.label ?? '', labelColumns).padEnd(labelColumns)} ${isCurrent ? '›' : ' '}`,
    'strong',
  );
  const indent = span(' '.repeat(labelColumns + 2));
  const problem = problemLines(panel, context);
  if (status.name !== 'online' || tunnel === undefined) {
    const lines = statusLines(status, now, columns - labelColumns - 2);
    return [...lines.map((line, index) => [index === 0 ? label : indent, ...line]), ...problem];
  }
  const left = timeLeft(Date.parse(tunnel.expires_at) - now);
  const { style, hint } = ending(panel, context);
  return [
    [label, span('● ', 'good'), span(escapeControls(tunnel.public_url), 'strong')],
    [
      indent,
      span('  '),
      span(`${left} left`, style),
      span(`${hint}, to ${panel.localUrl}, ${traffic(panel)}`, 'dim'),
    ],
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

/** How the time that a tunnel has left is shown, and what extends it where that is little. */
function ending({ tunnel }: PanelState, { now, hasKeys }: Context): { style: Span['style']; hint: string } {
  const isSoon = tunnel !== undefined && Date.parse(tunnel.expires_at) - now <= EXPIRY_FIRST_WARNING_MS;
  if (!isSoon) return { style: 'plain', hint: '' };
  return { style: 'warning', hint: hasKeys ? ' (e extends)' : ` ("culvert extend ${tunnel.slug}" extends)` };
}
