/** Recorded requests as text for a terminal, and as JSON for programs. */
import { escapeUnprintable } from '../../../shared/unprintable.ts';
import { decodeBody } from '../../client/inspector/decode-body.ts';
import {
  byteSize,
  closeText,
  countsText,
  indentJson,
  isUnsent,
  methodText,
  textIn,
} from '../../client/inspector/readable.ts';
import {
  type MessageCounts,
  type RawState,
  type RecordedMessage,
  type RequestDetail,
  type RequestSummary,
  type SocketMessage,
  type SocketMessages,
  WEBHOOK_PROVIDERS,
} from '../../client/inspector/records.ts';
import { clockTime, duration, escapeVisitorText, table, targetText } from '../output/format.ts';

const TARGET_MAX = 100;
/** A longer text body is shown up to here; `--json` has all of it. */
const SHOWN_BODY_MAX = 16 * 1024;

/** A list, in the order given. */
export function summaryTable(summaries: readonly RequestSummary[]): string {
  const isRaw = summaries.some(({ connection }) => connection !== undefined);
  const what = isRaw ? ['PROTOCOL', 'FROM'] : ['METHOD', 'PATH'];
  const heading = ['NUMBER', 'TIME', ...what, 'STATUS', 'TOOK', 'IN', 'OUT'];
  const hasVisitors = summaries.some(({ visitor }) => visitor !== undefined);
  const hasSenders = summaries.some(({ webhook }) => webhook !== undefined);
  const hasMessages = summaries.some(({ messages }) => messages !== undefined);
  // The columns that few tunnels need come last.
  const more = [
    ...(hasMessages ? ['MESSAGES'] : []),
    ...(hasVisitors ? ['VISITOR'] : []),
    ...(hasSenders ? ['SENDER'] : []),
  ];
  return table([
    [...heading, ...more],
    ...summaries.map((summary) => [
      ...row(summary),
      ...(hasMessages ? [messageCounts(summary)] : []),
      ...(hasVisitors ? [visitorText(summary)] : []),
      ...(hasSenders ? [senderText(summary)] : []),
    ]),
  ]);
}

/** One line while watching. */
export function summaryLine(summary: RequestSummary): string {
  const more = [messageCounts, visitorText, senderText]
    .map((text) => text(summary))
    .filter((text) => text !== '');
  return `${[...row(summary), ...more].join('  ')}\n`;
}

function row(summary: RequestSummary): string[] {
  const { id, startedAt, durationMs, bytesIn, bytesOut } = summary;
  const target = targetText(summary.target);
  return [
    `${id}${origin(summary)}`,
    new Date(startedAt).toTimeString().slice(0, 8),
    escapeVisitorText(methodText(summary)),
    target.length > TARGET_MAX ? `${target.slice(0, TARGET_MAX - 1)}…` : target,
    statusText(summary),
    durationMs === undefined ? '…' : durationMs < 10 ? `${durationMs.toFixed(1)} ms` : duration(durationMs),
    byteSize(bytesIn),
    byteSize(bytesOut),
  ];
}

function messageCounts({ messages }: RequestSummary): string {
  return messages === undefined ? '' : countsText(messages);
}

function visitorText({ visitor = '' }: RequestSummary): string {
  return escapeUnprintable(visitor);
}

/** The claimed sender of a webhook. */
function senderText({ webhook }: RequestSummary): string {
  return webhook === undefined ? '' : WEBHOOK_PROVIDERS[webhook];
}

/** Who has sent it, if no visitor has. */
function origin({ replayOf, isImported, rehearsed }: RequestSummary): string {
  if (rehearsed !== undefined) return ` (${rehearsed} on purpose)`;
  if (isImported) return ' (imported)';
  return replayOf === undefined ? '' : ` (again ${replayOf})`;
}

/** How a raw connection has ended. Each fits into 13 columns. */
export const CONNECTION_TEXTS: Readonly<Record<RawState, string>> = {
  open: 'open',
  done: 'ended',
  'visitor-reset': 'visitor reset',
  'service-reset': 'service reset',
  refused: 'refused',
  cut: 'cut off',
};

function statusText(request: RequestSummary): string {
  if (request.connection !== undefined) return CONNECTION_TEXTS[request.connection];
  if (isUnsent(request)) return 'not sent';
  const { status, isBroken } = request;
  if (!isBroken) return status === undefined ? '…' : String(status);
  return status === undefined ? 'cut' : `${status} cut`;
}

/** Both messages of a request, unchanged except that bodies are decompressed. A raw connection has none. */
export function detailText(detail: RequestDetail): string {
  const { request, response, connection } = detail;
  if (connection !== undefined) return summaryTable([detail]);
  const answer = response === undefined ? 'No response yet.\n' : messageText(response);
  const noAnswer = detail.isBroken && response === undefined ? 'There was no response.\n' : answer;
  return `${summaryTable([detail])}\n${messageText(request)}\n${noAnswer}`;
}

/**
 * The same for the view, where the response is what people look for: it comes before the headers of the request, and after
 * the messages, the newest first.
 */
export function viewText(detail: RequestDetail, listed?: SocketMessages): string {
  const { request, response, isBroken, connection } = detail;
  if (connection !== undefined) return summaryTable([detail]);
  const none = isBroken ? 'There was no response.\n' : 'No response yet.\n';
  const open = detail.messages === undefined ? '' : ', open';
  const took = detail.durationMs === undefined ? open : `, ${duration(detail.durationMs)}`;
  const title = `${escapeUnprintable(request.startLine)}\n${statusText(detail)}${took}\n`;
  const messages = listed && { ...listed, messages: listed.messages.toReversed() };
  return `${title}${messages === undefined ? '' : messagesText(detail, messages, false)}\n${response === undefined ? none : messageText(response)}\nRequest\n${partsText(request)}`;
}

function messageText(message: RecordedMessage): string {
  return `${escapeUnprintable(message.startLine)}\n${partsText(message)}`;
}

/** The headers and the body. */
function partsText(message: RecordedMessage): string {
  const fields = message.fields.map(([name, value]) => `${escapeUnprintable(`${name}: ${value}`)}\n`);
  return `${fields.join('')}\n${bodyText(message)}`;
}

function bodyText(message: RecordedMessage): string {
  const more = message.isTruncated ? '[the rest of the body was not recorded]\n' : '';
  if (message.body.length === 0) return more;
  const { bytes, codings } = decodeBody(message);
  const what = codings.length > 0 ? codings.join(', ') : 'binary';
  const isText = codings.length === 0 && textIn(bytes, message.isTruncated) !== undefined;
  if (!isText) return `[${byteSize(bytes.length)}, ${what}; use --json to see them]\n${more}`;
  const whole = bytes.length > SHOWN_BODY_MAX ? undefined : indentJson(Buffer.from(bytes).toString());
  const shown = whole ?? Buffer.from(bytes).toString('utf8', 0, SHOWN_BODY_MAX);
  const text = escapeUnprintable(shown, '\n\t\r');
  const rest =
    bytes.length > SHOWN_BODY_MAX
      ? `\n[${byteSize(bytes.length - SHOWN_BODY_MAX)} more; use --json to see them]`
      : '';
  return `${text.replaceAll('\r\n', '\n').replaceAll('\r', '\\x0d')}${rest}\n${more}`;
}

/** Longest text of a WebSocket message on its line; `--json` has all of it. */
const MESSAGE_MAX = 200;
/** Bytes of a binary message that are shown. */
const MESSAGE_HEX_MAX = 32;

/** The messages of a connection, a line each. @param isFiltered whether they are only some of them */
export function messagesText(
  { startedAt, messages: counts }: RequestSummary,
  { count, messages, problem }: SocketMessages,
  isFiltered: boolean,
): string {
  const heading = ['MESSAGE', 'TIME', 'FROM', 'KIND', 'SIZE', 'CONTENT'];
  const rows = messages.map((message) => [
    String(message.id),
    messageTime(startedAt + message.atMs),
    message.isFromVisitor ? 'visitor' : 'service',
    message.kind,
    byteSize(message.size),
    messageContent(message),
  ]);
  const shown = isFiltered ? `${messages.length} of ${count} messages match` : countedText(counts);
  const last = !isFiltered && messages.length < count ? `; the last ${messages.length}:` : '';
  return [
    `\n${shown}${last}\n`,
    rows.length > 0 ? table([heading, ...rows]) : '',
    problem === undefined ? '' : `[${MESSAGE_PROBLEMS[problem]}]\n`,
  ].join('');
}

function countedText(counts: MessageCounts | undefined): string {
  if (counts === undefined) return '';
  const [what, more] = counts.kind === 'websocket' ? ['messages', 'control frame'] : ['events', 'comment'];
  const { control } = counts;
  const others = control === 0 ? '' : `, and ${control} ${more}${control === 1 ? '' : 's'}`;
  return `${countsText(counts)} ${what}${others}`;
}

const MESSAGE_PROBLEMS = {
  extension: 'the messages use an extension that culvert cannot read',
  encoded: 'the stream is compressed as a whole, so its events cannot be read one by one',
  damaged: 'the rest is not a WebSocket connection',
} as const;

/** @param at wall-clock ms, to a millisecond because messages follow each other quickly */
function messageTime(at: number): string {
  const ms = Math.floor(at);
  return `${clockTime(ms)}.${String(ms % 1000).padStart(3, '0')}`;
}

function messageContent(message: SocketMessage): string {
  const { name, id } = message.event ?? {};
  const fields = `${name === undefined ? '' : `event: ${name}  `}${id === undefined ? '' : `id: ${id}  `}`;
  return `${escapeUnprintable(fields)}${contentText(message)}`;
}

function contentText({ kind, form, body, isCut }: SocketMessage): string {
  if (form === 'waiting') return '[compressed; run the command again to see it]';
  if (form === 'unreadable') return '[could not be decompressed]';
  if (kind === 'close') return escapeUnprintable(closeText(body));
  const isText = textIn(body, isCut) !== undefined;
  const whole = isText
    ? escapeUnprintable(Buffer.from(body).toString('utf8', 0, MESSAGE_MAX * 4)).slice(0, MESSAGE_MAX)
    : (Buffer.from(body.subarray(0, MESSAGE_HEX_MAX)).toString('hex').match(/../g) ?? []).join(' ');
  const isAll = isText ? body.length <= Buffer.byteLength(whole) : body.length <= MESSAGE_HEX_MAX;
  return isAll && !isCut ? whole : `${whole}…`;
}

/** What `--json` prints about a request. */
export function summaryJson(summary: RequestSummary) {
  return {
    number: summary.id,
    started_at: new Date(summary.startedAt).toISOString(),
    method: summary.method,
    target: summary.target,
    status: summary.status ?? null,
    duration_ms: summary.durationMs ?? null,
    bytes_in: summary.bytesIn,
    bytes_out: summary.bytesOut,
    broken: summary.isBroken,
    visitor: summary.visitor ?? null,
    replay_of: summary.replayOf ?? null,
    imported: summary.isImported,
    webhook: summary.webhook ?? null,
    ...(summary.connection === undefined ? {} : { connection: summary.connection }),
    ...(summary.messages === undefined ? {} : { message_counts: countsJson(summary.messages) }),
    ...(summary.rehearsed === undefined ? {} : { rehearsed: summary.rehearsed }),
  };
}

function countsJson({ kind, fromVisitor, fromService, control }: MessageCounts) {
  return { kind, from_visitor: fromVisitor, from_service: fromService, control };
}

/** The same with both messages; bodies are base64, as they were recorded but without chunked coding. */
export function detailJson(detail: RequestDetail) {
  const { request, response, timing } = detail;
  return {
    ...summaryJson(detail),
    waited_ms: timing.waitedMs,
    connected_ms: timing.connectedMs ?? null,
    answered_ms: timing.answeredMs ?? null,
    request: messageJson(request),
    response: response === undefined ? null : messageJson(response),
  };
}

function messageJson({ startLine, fields, body, isTruncated }: RecordedMessage) {
  return {
    start_line: startLine,
    fields,
    body: Buffer.from(body).toString('base64'),
    truncated: isTruncated,
  };
}

/** Adds the messages of a connection to those; their bodies are base64, decompressed. */
export function messagesJson({ startedAt }: RequestSummary, { messages, problem }: SocketMessages) {
  return {
    messages: messages.map((message) => ({
      number: message.id,
      time: new Date(startedAt + message.atMs).toISOString(),
      from: message.isFromVisitor ? 'visitor' : 'service',
      kind: message.kind,
      ...(message.event && { event: message.event.name ?? null, id: message.event.id ?? null }),
      size: message.size,
      compressed: message.form !== 'plain',
      readable: message.form === 'plain' || message.form === 'compressed',
      body: Buffer.from(message.body).toString('base64'),
      truncated: message.isCut,
    })),
    messages_problem: problem ?? null,
  };
}
