/**
 * A request in the window, in words: its line in the log, the phases of its time, the messages of its WebSocket, and its
 * signature.
 */
import { escapeUnprintable } from '../../../../shared/unprintable.ts';
import { REDACTED } from '../../../../shared/version.ts';
import {
  closeText,
  countsText,
  isUnsent,
  matchingMessages,
  readableTarget,
  textIn,
  utf8Text,
} from '../../../client/inspector/readable.ts';
import {
  fieldValues,
  LOG_START,
  type MessageCounts,
  type LogPoint,
  type LogUpdate,
  type MessageView,
  type RecordedMessage,
  type RequestDetail,
  type RequestSummary,
  type SignatureView,
  type SocketMessage,
  type SocketMessages,
  type Verdict,
} from '../../../client/inspector/records.ts';
import { agentWords } from '../../ipc/snapshot.ts';
import type { Imported, WrittenHar } from '../../ipc/request-views.ts';
import { t } from '../../messages/translate.ts';
import { bytesText, clockText, countText, latencyText, preciseClockText } from './numbers.ts';

type Outcome = 'unsent' | 'pending' | 'live' | 'fine' | 'refused' | 'failed' | 'broken';

/**
 * The outcome of a request, which its row shows in words as well as in colour: `refused` with a status of 4xx, `failed`
 * from 500 on.
 */
export function outcome(request: RequestSummary): Outcome {
  if (request.isBroken) return 'broken';
  if (request.connection !== undefined) return request.connection === 'open' ? 'live' : 'fine';
  if (isUnsent(request)) return 'unsent';
  if (request.status === undefined) return 'pending';
  if (request.status >= 500) return 'failed';
  if (request.status >= 400) return 'refused';
  return request.durationMs === undefined ? 'live' : 'fine';
}

/** The status code, or a word if there is none; `200 cut` for a response that broke off. How a raw connection has ended. */
export function statusText(request: RequestSummary): string {
  if (request.connection !== undefined) return t(`connection.${request.connection}`);
  if (outcome(request) === 'unsent') return t('request.status.notSent');
  if (request.status === undefined)
    return request.isBroken ? t('request.status.broken') : t('request.status.waiting');
  return request.isBroken ? t('request.status.cut', { status: request.status }) : String(request.status);
}

/** What the status says in words, as it was sent: `Internal Server Error`. */
export function reasonText({ response, isBroken }: Pick<RequestDetail, 'response' | 'isBroken'>): string {
  if (response === undefined || isBroken) return '';
  return escapeUnprintable(utf8Text(/^\S+ \d{3} (.*)$/.exec(response.startLine)?.[1] ?? ''));
}

/** Who sent it: `Safari on iPhone, 203.0.113.9`; `undefined` of a request that no visitor sent. */
export function fromText({ from }: Pick<RequestSummary, 'from'>): string | undefined {
  if (from === undefined) return undefined;
  const { agent, address } = from;
  return [agent && agentWords(agent), escapeUnprintable(address)].filter(Boolean).join(', ');
}

/** How the tries of a visit ended, the last few of them: `3 tries: 500, 500, 201`. */
export function triesText(tries: readonly RequestSummary[]): string {
  const last = tries.slice(-MOST_STATUSES).map(statusText);
  const states = tries.length > MOST_STATUSES ? ['…', ...last] : last;
  return t('log.tries', { count: tries.length, states: states.join(', ') });
}

const MOST_STATUSES = 5;

/** The code of the error with which Culvert itself answered, instead of the local server. */
export function faultCode({
  response,
  status = 0,
}: Pick<RequestDetail, 'response' | 'status'>): string | undefined {
  return response === undefined || status < 500 ? undefined : fieldValues(response, 'culvert-error')[0];
}

const FAULTS = ['local-refused', 'local-reset', 'local-malformed'] as const;

/** What failed, in a sentence. */
export function faultWords(code: string): string {
  const known = FAULTS.find((each) => each === code);
  return known === undefined
    ? t('request.fault.other', { code: escapeUnprintable(code) })
    : t(`request.fault.${known}`);
}

/** The duration; `live` while the response arrives, `open` while messages do. */
export function timeText(request: RequestSummary): string {
  if (outcome(request) === 'unsent') return '';
  if (request.durationMs !== undefined) return latencyText(request.durationMs);
  if (request.connection !== undefined) return '';
  if (request.messages !== undefined && !request.isBroken) return t('log.open');
  return request.status === undefined || request.isBroken ? '' : t('request.status.live');
}

/** When a connection that carried messages ended; `undefined` while it is open, and for any other request. */
export function endedText({
  messages,
  startedAt,
  durationMs,
}: Pick<RequestSummary, 'messages' | 'startedAt' | 'durationMs'>): string | undefined {
  if (messages === undefined || durationMs === undefined) return undefined;
  return t('request.endedAt', { time: clockText(startedAt + durationMs) });
}

/** Why a raw connection has broken off; `undefined` for one that has not, and for any request. */
export function breakText({ connection }: Pick<RequestSummary, 'connection'>): string | undefined {
  if (connection === undefined || connection === 'open' || connection === 'done') return undefined;
  return t(`connection.why.${connection}`);
}

/** The bytes of both directions. */
export function sizesText({ bytesIn, bytesOut }: Pick<RequestSummary, 'bytesIn' | 'bytesOut'>): string {
  return t('request.inAndOut', { received: bytesText(bytesIn), sent: bytesText(bytesOut) });
}

/** The address in readable form, with characters made visible that hide or reverse text. */
export function targetText({ target }: Pick<RequestSummary, 'target'>): string {
  return escapeUnprintable(readableTarget(target));
}

/** The length of the duration bar, from 0 to 1: each factor of ten adds as much, up to 10 s. */
export function durationFraction(ms: number): number {
  return Math.min(1, Math.log10(1 + Math.max(0, ms)) / 4);
}

/** The messages of a connection, short: `↑ 12 ↓ 340`, or `9 events`. */
export function countsMark(counts: MessageCounts): string {
  return counts.kind === 'websocket' ? countsText(counts, countText) : countsWords(counts);
}

/** The same in words. */
export function countsWords({ kind, fromVisitor, fromService }: MessageCounts): string {
  if (kind === 'event-stream') return t('log.events', { count: fromService });
  if (fromVisitor + fromService === 0) return t('log.noMessages');
  return t('log.messages', { visitor: fromVisitor, service: fromService });
}

/** The time since a request: `now`, `12 s`, `5 min`, `3 h`, `2 d`. Times in wall-clock ms. */
export function agoText(startedAt: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - startedAt) / 1000));
  if (seconds < 5) return t('log.now');
  if (seconds < 60) return t('time.seconds', { seconds: Math.floor(seconds / 5) * 5 });
  if (seconds < 3600) return t('time.minutes', { minutes: Math.floor(seconds / 60) });
  return seconds < 86_400
    ? t('time.hours', { hours: Math.floor(seconds / 3600) })
    : t('time.days', { days: Math.floor(seconds / 86_400) });
}

/* What can be done with a request, and what of it is hidden. */

export type MessageKind = 'request' | 'response';

const SWITCHING_PROTOCOLS = 101;

/** The number of replaced secrets in a message. */
export function hiddenSecrets({ startLine, fields }: Pick<RecordedMessage, 'startLine' | 'fields'>): number {
  return [startLine, ...fields.map(([, value]) => value)].reduce(
    (count, text) => count + text.split(REDACTED).length - 1,
    0,
  );
}

/**
 * Why a request cannot be sent again; `undefined` if it can.
 *
 * @param canReach whether its tunnel is online
 */
export function replayProblem(
  {
    request,
    status,
    durationMs,
    isBroken,
  }: Pick<RequestDetail, 'request' | 'status' | 'durationMs' | 'isBroken'>,
  canReach: boolean,
): string | undefined {
  if (request.isTruncated) return t('request.cutBody');
  if (status === SWITCHING_PROTOCOLS) return t('request.webSocket');
  if (status === undefined && durationMs === undefined && isBroken) return t('request.incomplete');
  return canReach ? undefined : t('request.needsOnline');
}

/**
 * Returns the previous message if nothing has arrived since: a running request is read repeatedly while it is shown,
 * and its unchanged parts must not be redrawn.
 *
 * @param before the same message, read earlier with the same secrets shown
 */
export function savedMessage(before: MessageView | undefined, next: MessageView): MessageView {
  const isSame = before?.body.length === next.body.length && before.isTruncated === next.isTruncated;
  return isSame ? before : next;
}

/*
 * Describes who made a request.
 *
 * @param visitor as the request log has it: `link:for the review`, `basic:ann`, `token:ci`, `password`, `knock`,
 * `user:ann@example.com`, `agent:claude.ai;user:ann@example.com`
 */

export function visitorWords(visitor: string): string {
  const [way = '', ...rest] = visitor.split(':');
  const name = rest.join(':');
  switch (way) {
    case 'link':
      return name === '' ? t('visitor.withLink') : t('visitor.withTheLink', { name });
    case 'basic':
    case 'user':
      return t('visitor.as', { name });
    case 'agent': {
      const [host = '', who = ''] = name.split(';user:', 2);
      return who === '' ? t('visitor.agent', { host }) : t('visitor.agentOf', { host, who });
    }
    case 'token':
      return t('visitor.withToken', { name });
    case 'password':
      return t('visitor.withPassword');
    case 'knock':
      return t('visitor.admitted');
    default:
      return t('visitor.asVisitor', { visitor });
  }
}

/* The page's copy of a request log, updated with its changes. */

export interface KnownLog {
  /** the last update */
  readonly at: LogPoint;
  /** newest first */
  readonly requests: readonly RequestSummary[];
}

export const NOTHING_KNOWN: KnownLog = { at: LOG_START, requests: [] };

/** Applies an update to the log. Unchanged requests stay the same objects, and so does an unchanged list. */
export function updated(known: KnownLog, { at, isWhole, oldest, requests }: LogUpdate): KnownLog {
  const before = isWhole ? [] : known.requests;
  const isSame = requests.length === 0 && (before.at(-1)?.id ?? oldest) >= oldest;
  if (isSame) return { at, requests: before };
  const changed = new Map(requests.map((request) => [request.id, request]));
  const kept = before.filter(({ id }) => id >= oldest && !changed.has(id));
  return { at, requests: [...requests, ...kept].sort((one, other) => other.id - one.id) };
}

interface Phase {
  readonly name: 'waiting' | 'connection' | 'server' | 'rest';
  /** `undefined` while it lasts */
  readonly ms: number | undefined;
}

/** The phases of a request so far. Each ends where the next begins. */
export function phases({
  timing,
  durationMs,
}: Pick<RequestDetail, 'timing' | 'durationMs'>): readonly Phase[] {
  const { waitedMs, connectedMs, answeredMs } = timing;
  const found: Phase[] = [{ name: 'waiting', ms: waitedMs }];
  /** ends of the phases, from the first byte of the request, in this order */
  let from = 0;
  const add = (name: Phase['name'], until: number | undefined): void => {
    found.push({ name, ms: until === undefined ? undefined : until - from });
    from = until ?? from;
  };
  add('connection', connectedMs ?? answeredMs ?? durationMs);
  if (connectedMs !== undefined) add('server', answeredMs ?? durationMs);
  if (answeredMs !== undefined) add('rest', durationMs);
  return found;
}

/** The parts of the whole, from 0 to 1 each. A running phase fills a bar that is otherwise empty. */
export function shares(all: readonly Phase[]): readonly { name: Phase['name']; share: number }[] {
  const total = all.reduce((sum, { ms = 0 }) => sum + ms, 0);
  return all.map(({ name, ms }) => {
    if (total === 0) return { name, share: ms === undefined ? 1 : 0 };
    return { name, share: (ms ?? 0) / total };
  });
}

/** Each phase in words, in order: `Your server 45 ms`. @param isBroken whether the last one was cut off */
export function phaseTexts(
  all: readonly Phase[],
  isBroken: boolean,
): readonly { name: Phase['name']; words: string }[] {
  const open = isBroken ? t('request.timeBrokeOff') : t('request.soFar');
  return all.map(({ name, ms }) => ({
    name,
    words: t(`request.phase.${name}`, { took: ms === undefined ? open : latencyText(ms) }),
  }));
}

/** Whose messages are listed. */
export type Sender = 'both' | 'visitor' | 'service';

/** Number of the last message that need not be read again. */
export function knownUpTo(known: SocketMessages | undefined): number {
  if (known === undefined) return 0;
  const waiting = known.messages.find(({ form }) => form === 'waiting');
  return waiting === undefined ? known.count : waiting.id - 1;
}

/** Adds what was read after {@link knownUpTo}. Messages that stay the same stay the same objects. */
export function joinedMessages(known: SocketMessages | undefined, read: SocketMessages): SocketMessages {
  const upTo = knownUpTo(known);
  const kept = known?.messages.filter(({ id }) => id <= upTo && id >= read.oldest) ?? [];
  const isSame = read.messages.length === 0 && kept.length === known?.messages.length;
  return { ...read, messages: isSame ? known.messages : [...kept, ...read.messages] };
}

/** The messages that are listed, newest first like requests. */
export function listedMessages(
  messages: readonly SocketMessage[],
  sender: Sender,
  typed: string,
): readonly SocketMessage[] {
  const of = messages.filter(
    ({ isFromVisitor }) => sender === 'both' || isFromVisitor === (sender === 'visitor'),
  );
  return matchingMessages(of, typed).toReversed();
}

const PREVIEW_BYTES = 200;
const HEX_BYTES = 24;
const lenient = new TextDecoder();

/** Its beginning on one line: text, or the hexadecimal digits of other content. */
export function previewText({ kind, form, body, isCut }: SocketMessage): string {
  if (form === 'waiting') return t('socket.waiting');
  if (form === 'unreadable') return t('socket.unreadable');
  if (kind === 'close') return escapeUnprintable(closeText(body));
  const start = body.subarray(0, PREVIEW_BYTES);
  // A character may be cut in the middle.
  const isText =
    body.length > PREVIEW_BYTES || isCut
      ? !start.includes(0) && kind !== 'binary'
      : textIn(body) !== undefined;
  if (isText) return escapeUnprintable(lenient.decode(start));
  const hex = Array.from(body.subarray(0, HEX_BYTES), (byte) => byte.toString(16).padStart(2, '0'));
  return `${hex.join(' ')}${body.length > HEX_BYTES ? ' …' : ''}`;
}

/** When it came. */
export function messageTime(startedAt: number, { atMs }: SocketMessage): string {
  return preciseClockText(startedAt + atMs);
}

/** What it is, for screen readers and above its content. */
export function messageWords(startedAt: number, message: SocketMessage): string {
  const { id } = message.event ?? {};
  const words = t('socket.message', {
    id: message.id,
    sender: t(message.isFromVisitor ? 'socket.fromVisitor' : 'socket.fromService'),
    kind: kindWords(message),
    time: messageTime(startedAt, message),
    size: sizeText(message),
  });
  return id === undefined ? words : `${words}, ${t('socket.eventId', { id: escapeUnprintable(id) })}`;
}

/** What it is, or the type of an event. */
export function kindWords({ kind, event }: SocketMessage): string {
  return event?.name === undefined ? t(`socket.kind.${kind}`) : escapeUnprintable(event.name);
}

/** Size on its row: of its content, as far as that is known. */
export function rowSize({ form, size, body, isCut }: SocketMessage): string {
  return bytesText(form === 'compressed' && !isCut ? body.length : size);
}

function sizeText(message: SocketMessage): string {
  const { form, size, isCut } = message;
  if (form !== 'compressed' || isCut) return bytesText(size);
  return `${rowSize(message)} (${t('socket.compressed', { size: bytesText(size) })})`;
}

/** Its content as an HTTP message: both have the same views. */
export function messageBody({ body, isCut }: SocketMessage): RecordedMessage {
  return { startLine: '', fields: [], body, isTruncated: isCut };
}

/** How it is shown in addition to its words. */
type SignatureTone = 'good' | 'bad' | 'open';

const TONES: Readonly<Record<Verdict, SignatureTone>> = {
  valid: 'good',
  mismatch: 'bad',
  'body-changed': 'bad',
  'too-old': 'bad',
  'too-new': 'bad',
  malformed: 'bad',
  unsigned: 'bad',
  'no-secret': 'open',
  'body-cut': 'open',
};

/** A log line shows nothing if nothing could be checked. */
type Marked = Exclude<Verdict, 'no-secret' | 'body-cut'>;

export function signatureTone({ verdict }: SignatureView): SignatureTone {
  return TONES[verdict];
}

/** A word or two for the log; `undefined` if nothing could be checked. */
export function signatureMark({ verdict }: SignatureView): string | undefined {
  return isMarked(verdict) ? t(`signature.mark.${verdict}`) : undefined;
}

/** The provider's name for the secret, and where to find it. */
export function secretWords({ provider }: SignatureView): { label: string; hint: string } {
  return { label: t(`signature.secret.${provider}`), hint: t(`signature.secret.${provider}.hint`) };
}

/** The verdict in full. */
export function signatureWords({ verdict }: SignatureView): string {
  return t(`signature.verdict.${verdict}`);
}

function isMarked(verdict: Verdict): verdict is Marked {
  return verdict !== 'no-secret' && verdict !== 'body-cut';
}

/** The number of left out requests that are listed. */
const MOST_LEFT_OUT = 5;

/** The number of imported requests, followed by further notes, one sentence each. */
export function importedWords({ ids, leftOut, hasRedacted }: Imported): readonly string[] {
  const more = leftOut.length - MOST_LEFT_OUT;
  return [
    t('import.done', { count: ids.length }),
    ...leftOut.slice(0, MOST_LEFT_OUT).map((text) => escapeUnprintable(text)),
    ...(more > 0 ? [t('import.moreLeftOut', { count: more })] : []),
    ...(hasRedacted ? [t('import.redacted', { mark: REDACTED })] : []),
  ];
}

/** The number of written requests, and the file. */
export function writtenText({ path, count, missing, hidesSecrets }: WrittenHar): string {
  return t('log.harWritten', {
    count,
    path: escapeUnprintable(path),
    hidesSecrets: String(hidesSecrets),
    missing,
  });
}
