/** The frame for a state: a pure function, without a terminal. */
import type { ApprovalRequest } from '../../client/host/approval-requests.ts';
import { byteSize } from '../../client/inspector/readable.ts';
import { describeAccess } from '../command-line/access-options.ts';
import { agentText, duration, escapeVisitorText, localTime, timeLeft } from '../output/format.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { KEPT_OPEN } from '../output/reporter.ts';
import { NARROW_LABEL_COLUMNS, requestRows, WIDE_COLUMNS } from './log-page.ts';
import { codeLines } from './once-online.ts';
import type { PanelState, PanelStatus } from './panel.ts';
import {
  beside,
  escapeControls,
  leftColumns,
  type Line,
  shorten,
  type Size,
  span,
  type Span,
  whole,
  wholeRow,
  wrap,
} from './text.ts';
import { EXPIRY_FIRST_WARNING_MS } from '../../client/expiry-watch.ts';

const NAME_COLUMNS = 13;

/** One value, which the frame is rendered from. */
export interface ViewState {
  readonly panels: readonly PanelState[];
  /** wall-clock ms */
  readonly now: number;
  readonly page: 'overview' | 'code' | 'help' | 'quit';
  /** the panel that keys are about */
  readonly current: number;
  /** address of the window in a browser, once it is open */
  readonly window: string | undefined;
  /** what a key has done */
  readonly note: string | undefined;
  /** whether the terminal shows more than ASCII */
  readonly hasUtf8: boolean;
  /** whether keys are read */
  readonly hasKeys: boolean;
  /** the newest request of the current panel, where there is room for it */
  readonly newest?: readonly Line[] | undefined;
}

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
    return codePage(shown.public_url, knock ?? codeTitle(panels.length), size, state.hasUtf8);
  const left = leftColumns(size.columns);
  if (left === undefined) return overview(state, size, knock);
  const [first = [], ...below] = overview(state, { ...size, columns: left }, undefined, true);
  const newest = state.newest ?? [];
  // What a visitor asks has the whole width.
  const above = knock === undefined ? [] : [first, knock];
  const beneath = knock === undefined ? [first, ...below] : below;
  return [...above, ...beside(beneath, newest.slice(0, size.rows - above.length), left)];
}

/** A code needs most of a window of 24 rows. */
function codePage(url: string, first: Line, { columns, rows }: Size, hasUtf8: boolean): Line[] {
  const head = [first, ...whole(escapeControls(url), 'strong', columns, url)];
  return [...head, ...codeLines(url, { columns, rows: rows - head.length }, hasUtf8)];
}

/** @param isWide whether it is the left half of a wide window */
function overview(
  state: ViewState,
  { columns, rows }: Size,
  knock: Line | undefined,
  isWide = false,
): Line[] {
  const { panels, now, page, current, window, note, hasKeys } = state;
  const context = { now, columns, panels, current, hasKeys };
  const [only] = panels;
  const isSingle = panels.length === 1 && only !== undefined;
  const head = isSingle ? singleHead(only, context) : panels.flatMap((panel) => blockOf(panel, context));
  const isRaw = panels.every(({ tunnel }) => tunnel !== undefined && tunnel.protocol !== 'http');
  const what = isRaw ? 'connections' : 'requests';
  const lines: Line[] = [
    page === 'quit' ? quitLine(panels.length) : title(panels.length, hasKeys, what),
    ...(knock === undefined ? [] : [knock]),
    note === undefined ? [] : [span(escapeControls(note), 'good')],
    ...head,
    ...(isWide ? latencyLines(panels[current]) : []),
    ...(window === undefined ? [] : link('Window', window, columns)),
    [],
  ];
  const requests = requestRows(panels, columns, rows - lines.length);
  return [...lines, ...(requests.length > 0 ? requests : [[span(`No ${what} yet.`, 'dim')]])];
}

function codeTitle(count: number): Line {
  return [
    span('culvert', 'strong'),
    span(`   r hides the QR code${count === 1 ? '' : '   Tab next'}`, 'dim'),
  ];
}

function quitLine(count: number): Line {
  const what = count === 1 ? 'Close the tunnel' : 'Close the tunnels';
  return [span(`${what} and quit?`, 'warning'), span('   y quits, any other key cancels', 'strong')];
}

/** @param logged what visitors of the tunnels make */
function title(count: number, hasKeys: boolean, logged: string): Line {
  const what = count === 1 ? 'closes the tunnel' : 'closes the tunnels';
  // A narrow window cuts the end off.
  const keys = `? keys   q quits   ${count === 1 ? '' : 'Tab next   '}i ${logged}   c copies`;
  return [span('culvert', 'strong'), span(`   ${hasKeys ? keys : `Ctrl-C ${what}`}`, 'dim')];
}

/** One tunnel has enough room to show everything. */
function singleHead(panel: PanelState, context: Context): Line[] {
  const { now } = context;
  const { tunnel, localUrl } = panel;
  const lines = statusLines(panel.status, now, context.columns);
  if (tunnel !== undefined) {
    const { public_url, urls } = tunnel;
    const others = [urls.account, urls.subdomain, urls.path, urls.wildcard].filter(
      (url): url is string => url !== undefined && url !== public_url,
    );
    lines.push(
      ...link('Address', public_url, context.columns, 'strong'),
      ...others.flatMap((url) => link('also', url, context.columns)),
      ...(panel.isNameKept ? [row('Name', `${tunnel.name}, kept for your account`)] : []),
    );
  }
  lines.push(...lockLines(panel, context.columns), row('Forwards to', localUrl));
  if (panel.rehearsal !== undefined) {
    const { text, isOn } = panel.rehearsal;
    const hint = context.hasKeys ? ` (f switches it ${isOn ? 'off' : 'on'})` : '';
    lines.push(row('Rehearsal', `${isOn ? '' : 'off: '}${text}${hint}`, 'warning'));
  }
  if (tunnel !== undefined) {
    const left = timeLeft(msLeft(tunnel, panel, now));
    const idle = tunnel.idle_ttl ? ', extended by traffic' : panel.isKeptOpen ? KEPT_OPEN : '';
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
  const left = timeLeft(msLeft(tunnel, panel, now));
  const { style, hint } = ending(panel, context);
  const url = escapeControls(tunnel.public_url);
  const [[, ...address] = [], ...below] = wholeRow(
    '',
    url,
    'strong',
    labelColumns + 4,
    columns,
    tunnel.public_url,
  );
  return [
    [label, span('● ', 'good'), ...address],
    ...below,
    [
      indent,
      span('  '),
      span(`${left} left`, style),
      span(`${hint}, to ${panel.localUrl}, ${traffic(panel)}`, 'dim'),
    ],
    ...lockLines(panel, columns - labelColumns - 4).map((line) => [indent, span('  '), ...line]),
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

/** The remedy is at the end of the text, so the whole text is shown, wrapped as needed. */
function marked(mark: string, text: string, style: Span['style'], columns: number): Line[] {
  const lines = wrap(escapeControls(text), columns - mark.length);
  return lines.map((line, index) => [span(index === 0 ? mark : '  ', style), span(line, style)]);
}

/** An address that a click opens, if the terminal can do that. */
function link(name: string, url: string, columns: number, style: Span['style'] = 'plain'): Line[] {
  return wholeRow(name, escapeControls(url), style, NAME_COLUMNS, columns, url);
}

function row(name: string, value: string, style: Span['style'] = 'plain'): Line {
  return [span(name.padEnd(NAME_COLUMNS), 'dim'), span(escapeControls(value), style)];
}

/** Nothing for a tunnel that is open to anyone. */
function lockLines({ tunnel, madePassword, madeTokens }: PanelState, columns: number): Line[] {
  const lock = describeAccess(tunnel?.access ?? {});
  if (lock === undefined) return [];
  const password = tunnel?.access.password === true ? madePassword : undefined;
  const secret = (name: string, text: string): Line[] =>
    wholeRow(name, escapeControls(text), 'strong', NAME_COLUMNS, columns);
  const valid = madeTokens.filter((made) => tunnel?.access.tokens?.some(({ name }) => name === made.name));
  return [
    row('Access', lock),
    ...(password === undefined ? [] : secret('Password', password)),
    ...valid.flatMap(({ name, token }) => secret('Token', `${name}: ${token}`)),
  ];
}

function traffic({ tunnel }: PanelState): string {
  if (tunnel === undefined) return '';
  const { requests, bytes_in, bytes_out, protocol } = tunnel;
  const what = protocol === 'http' ? 'request' : 'connection';
  return `${requests} ${requests === 1 ? what : `${what}s`}, ${byteSize(bytes_in)} in, ${byteSize(bytes_out)} out`;
}

/** How long the relay takes to answer, and the local service: half of the requests, and nine of ten, are faster. */
function latencyLines(panel: PanelState | undefined): Line[] {
  const { relayMs, p50Ms, p90Ms } = panel?.latency ?? {};
  const parts = [
    relayMs === undefined ? [] : [`relay ${duration(relayMs)}`],
    p50Ms === undefined || p90Ms === undefined ? [] : [`p50 ${duration(p50Ms)}`, `p90 ${duration(p90Ms)}`],
  ].flat();
  return parts.length === 0 ? [] : [row('Latency', parts.join(', '))];
}

function msLeft({ expires_at }: Tunnel, { aheadMs }: PanelState, now: number): number {
  return Date.parse(expires_at) - aheadMs - now;
}

/** How the remaining time of a tunnel is shown, and which key extends it when little is left. */
function ending(panel: PanelState, { now, hasKeys }: Context): { style: Span['style']; hint: string } {
  const { tunnel } = panel;
  const isSoon = tunnel !== undefined && msLeft(tunnel, panel, now) <= EXPIRY_FIRST_WARNING_MS;
  if (!isSoon) return { style: 'plain', hint: '' };
  return { style: 'warning', hint: hasKeys ? ' (e extends)' : ` (run "culvert extend ${tunnel.slug}")` };
}

/* What the keys of the view do. */

export const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ['i', 'shows the requests, which you can open and replay'],
  ['c', "copies the address to the terminal's clipboard"],
  ['o', 'opens the address in a browser'],
  ['w', 'shows requests and settings in a browser'],
  ['r', 'shows the address as a QR code'],
  ['e', 'extends the tunnel by its time to live'],
  ['f', 'switches --fail and --delay off, and on again'],
  ['a, x', 'approves or denies the visitor who is asking for access'],
  ['Tab', 'selects the next tunnel'],
  ['q', 'quits after you confirm; Ctrl-C quits immediately'],
  ['Ctrl-Z', 'stops culvert and its tunnels until you run "fg", or "bg" for the background'],
  ['Ctrl-L', 'redraws the screen'],
  ['?', 'shows this list of keys'],
];

function helpPage(): Line[] {
  return [
    [span('keys', 'strong'), span('   press any key to go back', 'dim')],
    [],
    ...KEYS.map(([key, meaning]) => [span(key.padEnd(8), 'strong'), span(meaning)]),
    [],
    [span('In another terminal, "culvert inspect" shows and searches the same requests.', 'dim')],
  ];
}

/* The line of approval requests: it shows the visitor who has waited longest, and a key answers them. */

export interface NextKnock {
  /** index of its tunnel */
  readonly panel: number;
  readonly knock: ApprovalRequest;
  /** number of other visitors who wait */
  readonly others: number;
}

export function nextKnock(panels: readonly PanelState[]): NextKnock | undefined {
  const waiting = panels.flatMap(({ knocks }, panel) => knocks.map((knock) => ({ panel, knock })));
  const [first] = waiting.toSorted((a, b) => a.knock.since - b.knock.since);
  return first && { ...first, others: waiting.length - 1 };
}

/** The most important part is first, because the line is cut at the edge of the window. */
function knockLine(
  { panel, knock, others }: NextKnock,
  panels: readonly PanelState[],
  hasKeys: boolean,
): Line {
  const { label, tunnel } = panels[panel] ?? {};
  const where = label === undefined ? '' : ` to ${label}`;
  const { client } = knock;
  // An agent's hosts come before everything else: they are what the answer depends on.
  const asks = client === undefined ? `${knock.address} is asking` : `An ${agentText(client)} asks`;
  const answer = hasKeys
    ? `a approves${client === undefined ? ' for an hour' : ''}, x denies.`
    : `run "culvert knock ${tunnel?.slug ?? ''} ${knock.id} --admit" or --refuse.`;
  const more = others === 0 ? '' : ` ${others} more waiting.`;
  return [
    span(`? ${asks} for access${where}: `, 'warning'),
    span(`${answer}${more}`, 'strong'),
    span(knock.agent === '' ? '' : ` ${escapeVisitorText(knock.agent)}`, 'dim'),
  ];
}
