/** The request log in the view: a list that can be searched, and one request with both messages. */
import { byteSize, isUnsent } from '../../client/inspector/readable.ts';
import {
  matching,
  type RequestDetail,
  type RequestSummary,
  WEBHOOK_PROVIDERS,
} from '../../client/inspector/records.ts';
import { clockTime, duration, escapeVisitorText, targetText } from '../output/format.ts';
import { detailText } from '../inspect/inspect-format.ts';
import type { PanelState, Size } from './state.ts';
import { fit, type Line, shorten, span, type Style } from './text.ts';

/** Maximum number of characters in a request search: more than anybody types. */
export const LOG_SEARCH_MAX = 200;

/** The requests of one tunnel. */
interface LogSource {
  readonly label: string | undefined;
  /** newest first */
  readonly list: () => readonly RequestSummary[];
  readonly detail: (id: number) => RequestDetail | undefined;
  /** Sends a request to the local port again; rejects with an Error whose message is for people. */
  readonly replay: (id: number) => Promise<number>;
}

/** From this width on, the list and a request are side by side. */
const PANES_COLUMNS = 110;
/** The list's share of the width. */
const LIST_SHARE = 0.45;
/** Lines above the list and above a request. */
const HEAD_LINES = 2;

export class LogPage {
  readonly #source: LogSource;
  #typed = '';
  #isTyping = false;
  /** number of the request that the cursor is at; `undefined`: the newest */
  #selected: number | undefined;
  #isOpen = false;
  #top = 0;
  #note = '';
  #rows = 0;

  constructor(source: LogSource) {
    this.#source = source;
  }

  /** @returns false if the key leaves the log */
  key(key: string): boolean {
    if (this.#isTyping) this.#type(key);
    else if (this.#isOpen) this.#inDetail(key);
    else return this.#inList(key);
    return true;
  }

  /** Pastes a text into the search, if it is open. */
  paste(text: string): void {
    if (!this.#isTyping) return;
    for (const character of text) this.#type(character);
  }

  frame(size: Size): Line[] {
    this.#rows = Math.max(1, size.rows - HEAD_LINES);
    if (size.columns >= PANES_COLUMNS) return this.#paneFrame(size);
    return this.#isOpen ? this.#detailFrame() : this.#listFrame(size);
  }

  get #found(): readonly RequestSummary[] {
    return matching(this.#source.list(), this.#typed);
  }

  #type(key: string): void {
    this.#selected = undefined;
    if (key === 'enter') this.#isTyping = false;
    else if (key === 'escape') {
      this.#isTyping = false;
      this.#typed = '';
    } else if (key === 'backspace') this.#typed = this.#typed.slice(0, -1);
    else if (/^[\u{20}-\u{7e}]$/u.test(key) && this.#typed.length < LOG_SEARCH_MAX) this.#typed += key;
  }

  #inList(key: string): boolean {
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
      case '/':
        this.#isTyping = true;
        break;
      case 'enter':
        this.#selected = this.#current()?.id;
        this.#isOpen = this.#selected !== undefined;
        this.#top = 0;
        break;
      case 'r':
        this.#replay();
        break;
      case 'escape':
        if (this.#typed === '') return false;
        this.#typed = '';
        break;
      case 'i':
      case 'q':
        return false;
    }
    return true;
  }

  #inDetail(key: string): void {
    this.#note = '';
    switch (key) {
      case 'up':
      case 'k':
        this.#top -= 1;
        break;
      case 'down':
      case 'j':
        this.#top += 1;
        break;
      case 'page-up':
        this.#top -= this.#rows;
        break;
      case 'page-down':
      case ' ':
        this.#top += this.#rows;
        break;
      case 'r':
        this.#replay();
        break;
      case 'enter':
      case 'escape':
      case 'i':
      case 'q':
        this.#isOpen = false;
        break;
    }
  }

  #current(): RequestSummary | undefined {
    const found = this.#found;
    return found.find(({ id }) => id === this.#selected) ?? found[0];
  }

  #move(by: number): void {
    const found = this.#found;
    const at = Math.max(
      0,
      found.findIndex(({ id }) => id === this.#selected),
    );
    const next = Math.min(found.length - 1, Math.max(0, at + by));
    // At the top the cursor stays with the newest one.
    this.#selected = next <= 0 ? undefined : found[next]?.id;
    this.#top = 0;
  }

  #replay(): void {
    const request = this.#current();
    if (request === undefined) return;
    this.#note = `Sending ${request.id} again…`;
    void this.#sendAgain(request.id);
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

  #listFrame({ columns }: Size): Line[] {
    const found = this.#found;
    const current = this.#current();
    const at = Math.max(
      0,
      found.findIndex(({ id }) => id === current?.id),
    );
    const first = Math.max(0, Math.min(at - Math.floor(this.#rows / 2), found.length - this.#rows));
    const rows = found
      .slice(first, first + this.#rows)
      .map((request) => [
        span(request.id === current?.id ? '> ' : '  ', 'strong'),
        ...requestRow(request, undefined, columns - 2),
      ]);
    const { label } = this.#source;
    const name = label === undefined ? 'requests' : `requests of ${label}`;
    const keys = '   Enter shows   / finds   r repeats   i back';
    const none = this.#typed === '' ? 'No requests yet.' : 'No requests match this search.';
    return [
      [span(name, 'strong'), span(keys, 'dim')],
      this.#statusLine(found.length),
      ...(rows.length > 0 ? rows : [[span(none, 'dim')]]),
    ];
  }

  /** The list on the left, and the request at the cursor on the right. */
  #paneFrame({ columns, rows }: Size): Line[] {
    const left = Math.floor(columns * LIST_SHARE);
    const [head = [], status = [], ...list] = this.#listFrame({ columns: left, rows });
    const current = this.#isOpen ? this.#selected : this.#current()?.id;
    const detail = current === undefined ? [] : this.#detailLines(current);
    const count = Math.max(list.length, detail.length);
    const panes = Array.from({ length: count }, (_, at) => [
      ...fit(list[at] ?? [], left),
      span(' │ ', this.#isOpen ? 'strong' : 'dim'),
      ...(detail[at] ?? []),
    ]);
    return [this.#isOpen ? detailHead(this.#selected) : head, status, ...panes];
  }

  #statusLine(count: number): Line {
    if (this.#isTyping) return [span(`/${this.#typed}`, 'strong'), span('_')];
    if (this.#note !== '') return [span(escapeVisitorText(this.#note), 'warning')];
    return this.#typed === '' ? [] : [span(`/${this.#typed}   ${count} found, Esc shows all`, 'dim')];
  }

  #detailFrame(): Line[] {
    const note: Line = this.#note === '' ? [] : [span(escapeVisitorText(this.#note), 'warning')];
    return [detailHead(this.#selected), note, ...this.#detailLines(this.#selected)];
  }

  /** The part of a request that is scrolled to. */
  #detailLines(id: number | undefined): Line[] {
    const detail = id === undefined ? undefined : this.#source.detail(id);
    const text = detail === undefined ? 'This request is no longer available.' : detailText(detail);
    const lines = text.trimEnd().split('\n');
    this.#top = Math.max(0, Math.min(this.#top, lines.length - this.#rows));
    const shown = lines.slice(this.#top, this.#top + this.#rows);
    return shown.map((line) => [span(escapeVisitorText(line.replaceAll('\t', '  ')))]);
  }
}

function detailHead(id: number | undefined): Line {
  return [span(`request ${id}`, 'strong'), span('   Up and Down scroll   r repeats   Esc back', 'dim')];
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
    span(`${shorten(escapeVisitorText(request.method), METHOD_COLUMNS).padEnd(METHOD_COLUMNS)} `),
    ...outcome(request),
    span(isWide ? `${byteSize(request.bytesOut).padStart(10)}  ` : '  ', 'dim'),
    span(origin(request), 'dim'),
    span(request.visitor === undefined ? '' : `${escapeVisitorText(request.visitor)}  `, 'dim'),
    span(request.webhook === undefined ? '' : `${WEBHOOK_PROVIDERS[request.webhook]}  `, 'strong'),
    span(targetText(request.target)),
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
