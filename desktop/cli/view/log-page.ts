/** The request log in the view: a list, and one request with both messages. `culvert inspect` and the window can do more. */
import { byteSize, countsText, isUnsent, methodText } from '../../client/inspector/readable.ts';
import { type RequestSummary, WEBHOOK_PROVIDERS } from '../../client/inspector/records.ts';
import { clockTime, duration, escapeVisitorText, messageLine, targetText } from '../output/format.ts';
import { CONNECTION_TEXTS, viewText } from '../inspect/inspect-format.ts';
import type { PanelState, ViewedRequest } from './panel.ts';
import { beside, leftColumns, type Line, shorten, type Size, span, type Style } from './text.ts';

/** The requests of one tunnel. */
interface LogSource {
  readonly label: string | undefined;
  /** whether they are connections that carry bytes */
  readonly isRaw: boolean;
  /** newest first */
  readonly list: () => readonly RequestSummary[];
  readonly detail: (id: number) => ViewedRequest | undefined;
  /** Sends a request to the local port again; rejects with an Error whose message is for people. */
  readonly replay: (id: number) => Promise<number>;
}

/** Lines above the list and above a request. */
const HEAD_LINES = 2;

export class LogPage {
  readonly #source: LogSource;
  /** number of the request that the cursor is at; `undefined`: the newest */
  #selected: number | undefined;
  #isOpen = false;
  /** first line of an open request that is shown */
  #top = 0;
  #note = '';
  #rows = 0;

  constructor(source: LogSource) {
    this.#source = source;
  }

  /** @returns false if the key leaves the log */
  key(key: string): boolean {
    this.#note = '';
    switch (key) {
      case 'up':
      case 'k':
        this.#move(-1);
        break;
      case 'down':
      case 'j':
        this.#move(1);
        break;
      case 'page-up':
        this.#move(-this.#rows);
        break;
      case 'page-down':
      case ' ':
        this.#move(this.#rows);
        break;
      case 'r':
        this.#replay();
        break;
      case 'enter':
        this.#selected = this.#current();
        this.#isOpen = !this.#isOpen && this.#selected !== undefined;
        this.#top = 0;
        break;
      case 'escape':
      case 'i':
      case 'q':
        if (!this.#isOpen) return false;
        this.#isOpen = false;
        break;
    }
    return true;
  }

  frame({ columns, rows }: Size): Line[] {
    this.#rows = Math.max(1, rows - HEAD_LINES);
    const note: Line = this.#note === '' ? [] : [span(escapeVisitorText(this.#note), 'warning')];
    if (this.#isOpen) {
      const [head, lines] = this.#detail();
      return [head, note, ...lines];
    }
    const left = leftColumns(columns);
    const [head, lines] = this.#list(left ?? columns);
    if (left === undefined) return [head, note, ...lines];
    const id = this.#current();
    const detail = id === undefined ? undefined : this.#source.detail(id);
    const right = detail === undefined ? [] : requestLines(detail);
    return beside([head, note, ...lines], right.slice(0, rows), left);
  }

  /** The newest one, if the one at the cursor is no longer there. */
  #placeIn(all: readonly RequestSummary[]): number {
    return Math.max(
      0,
      all.findIndex(({ id }) => id === this.#selected),
    );
  }

  #current(): number | undefined {
    const all = this.#source.list();
    return all[this.#placeIn(all)]?.id;
  }

  #move(by: number): void {
    if (this.#isOpen) this.#top += by;
    else {
      const all = this.#source.list();
      const next = Math.min(all.length - 1, this.#placeIn(all) + by);
      // At the top the cursor stays with the newest one.
      this.#selected = next <= 0 ? undefined : all[next]?.id;
    }
  }

  #replay(): void {
    const id = this.#isOpen ? this.#selected : this.#current();
    if (id === undefined) return;
    this.#note = `Sending ${id} again…`;
    void this.#sendAgain(id);
  }

  async #sendAgain(id: number): Promise<void> {
    try {
      const sent = await this.#source.replay(id);
      this.#note = `Sent again, as ${sent}.`;
      this.#selected = sent;
      this.#top = 0;
    } catch (error) {
      this.#note = error instanceof Error ? error.message : String(error);
    }
  }

  #list(columns: number): [head: Line, lines: Line[]] {
    const all = this.#source.list();
    const at = this.#placeIn(all);
    const first = Math.max(0, Math.min(at - Math.floor(this.#rows / 2), all.length - this.#rows));
    const rows = all
      .slice(first, first + this.#rows)
      .map((request, row) => [
        span(first + row === at ? '> ' : '  ', 'strong'),
        ...requestRow(request, undefined, columns - 2),
      ]);
    const { label, isRaw } = this.#source;
    const what = isRaw ? 'connections' : 'requests';
    const name = label === undefined ? what : `${what} of ${label}`;
    return [
      [span(name, 'strong'), span(`   Enter shows${isRaw ? '' : '   r repeats'}   i back`, 'dim')],
      rows.length > 0 ? rows : [[span(`No ${what} yet.`, 'dim')]],
    ];
  }

  /** The part of the open request that is scrolled to. */
  #detail(): [head: Line, lines: Line[]] {
    const id = this.#selected;
    const detail = id === undefined ? undefined : this.#source.detail(id);
    const lines: Line[] =
      detail === undefined ? [[span('This request is no longer available.')]] : requestLines(detail);
    this.#top = Math.max(0, Math.min(this.#top, lines.length - this.#rows));
    const shown = lines.slice(this.#top, this.#top + this.#rows);
    const [name, repeats] = this.#source.isRaw ? ['connection', ''] : ['request', '   r repeats'];
    return [
      [span(`${name} ${id}`, 'strong'), span(`   Up and Down scroll${repeats}   Esc back`, 'dim')],
      shown,
    ];
  }
}

/** A request and its response, the response first. */
export function requestLines(detail: ViewedRequest): Line[] {
  return viewText(detail, detail.listed)
    .trimEnd()
    .split('\n')
    .map((line, row) => [span(messageLine(line.replaceAll('\t', '  ')), row === 0 ? 'strong' : 'plain')]);
}

/* The last requests, one line each. */

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

/** @param label of the tunnel, padded to the width of the others; `undefined` if there is only one tunnel */
function requestRow(request: RequestSummary, label: string | undefined, columns: number): Line {
  const isWide = columns >= WIDE_COLUMNS;
  return [
    span(isWide ? `${clockTime(request.startedAt)}  ` : '', 'dim'),
    span(
      label === undefined
        ? ''
        : `${isWide ? label : shorten(label.trimEnd(), NARROW_LABEL_COLUMNS).padEnd(NARROW_LABEL_COLUMNS)}  `,
      'dim',
    ),
    span(`${shorten(escapeVisitorText(methodText(request)), METHOD_COLUMNS).padEnd(METHOD_COLUMNS)} `),
    ...outcome(request),
    span(isWide ? sizes(request) : '  ', 'dim'),
    span(origin(request), 'dim'),
    span(request.visitor === undefined ? '' : `${escapeVisitorText(request.visitor)}  `, 'dim'),
    span(request.webhook === undefined ? '' : `${WEBHOOK_PROVIDERS[request.webhook]}  `, 'strong'),
    span(request.messages === undefined ? '' : `${countsText(request.messages)}  `),
    span(targetText(request.target)),
  ];
}

/** Only the bytes of a response are of interest; a connection has some both ways. */
function sizes({ bytesIn, bytesOut, connection }: RequestSummary): string {
  if (connection === undefined) return `${byteSize(bytesOut).padStart(10)}  `;
  return `${byteSize(bytesIn).padStart(10)} in${byteSize(bytesOut).padStart(10)} out  `;
}

/** Who has sent it, if no visitor has. */
function origin({ replayOf, isImported, rehearsed }: RequestSummary): string {
  if (rehearsed !== undefined) return `${rehearsed} on purpose: `;
  if (isImported) return 'imported: ';
  return replayOf === undefined ? '' : `again ${replayOf}: `;
}

function outcome(request: RequestSummary): Line {
  if (isUnsent(request)) return [span('not sent'.padStart(13), 'dim')];
  const { status, durationMs, isBroken, connection, messages } = request;
  if (connection === 'done') return [span(duration(durationMs ?? 0).padStart(13), 'dim')];
  if (connection !== undefined)
    return [span(CONNECTION_TEXTS[connection].padStart(13), isBroken ? 'bad' : 'good')];
  const text = String(status ?? (isBroken ? '' : '…')).padStart(4);
  const open = messages === undefined ? '' : 'open';
  const time = isBroken ? 'cut' : durationMs === undefined ? open : duration(durationMs);
  return [span(text, styleOf(status)), span(time.padStart(9), isBroken ? 'bad' : 'dim')];
}

function styleOf(status: number | undefined): Style {
  if (status === undefined) return 'dim';
  if (status >= 500) return 'bad';
  return status >= 400 ? 'warning' : 'good';
}
