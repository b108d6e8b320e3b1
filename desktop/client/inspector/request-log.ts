import { BodyError, trackServiceBody } from '../../../shared/http1/body.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { RawEnd, RawRecording, Recorder, Recording } from '../data/stream-filter.ts';
import type { RawProtocol } from '../local/local-service.ts';
import { Capture } from './capture.ts';
import { Exchange, type Visibility } from './exchange.ts';
import { ConnectionRecording, type ExchangeStore, HeadScan, type Origin, VISITOR } from './recording.ts';
import {
  isBrokenEnd,
  type LogPoint,
  type LogUpdate,
  type TrafficSecond,
  type RecordedMessage,
  type RequestDetail,
  type RequestSummary,
  type SocketMessages,
  trimBlanks,
  triesOf,
  RECORDED_BODY_MAX_BYTES,
} from './records.ts';
import { redactField, redactTarget } from './redaction.ts';
import { InflateBudget } from './messages/inflate.ts';
import { extensionsOf, MessageLog } from './messages/message-log.ts';

/**
 * Number of requests that are kept per tunnel by default; also the length of `culvert inspect`'s list.
 * @limit owner: Requests in the request log of a tunnel | the oldest are dropped
 */
export const RECORDED_REQUESTS_MAX = 200;
/**
 * Maximum memory used for each tunnel's recorded requests and responses: enough for the last 200 with the
 * largest heads, and bodies of 64 KiB.
 * @limit owner: Memory for the request log of a tunnel | the oldest content is dropped
 */
export const RECORDED_BYTES_MAX = 50 * 1024 * 1024;
/**
 * How soon new counts of an open connection are shown. What passes in between is shown with them, so that this costs the
 * same at any speed.
 */
const COUNTS_SHOWN_MS = 250;
/** Maximum number of requests whose changes are sent to a window at a time: a few ms of its time. */
export const LOG_PART_MAX = 1000;
/** Period that the traffic sparkline covers. */
export const SPARKLINE_SECONDS = 60;

const REDACTED: Visibility = { reveal: false };

const FIRST_REFUSED_STATUS = 400;
const FIRST_FAILED_STATUS = 500;

/** What a change of a request may mean for its tunnel. */
type Watched = Pick<Exchange, 'status' | 'isImported' | 'rehearsed' | 'connection' | 'connectedMs'>;

/**
 * Called when a request's head has arrived, when its response begins and when it ends; of a connection that carries messages
 * or bytes, also when more of them have passed.
 */
type LogListener = (summary: RequestSummary) => void;

/**
 * The last requests of one tunnel, in memory only. Values of secrets are replaced when they are shown (redaction.ts),
 * unless `reveal` is set. Once all messages need {@link RECORDED_BYTES_MAX}, those of the oldest requests are dropped,
 * which keep only their line.
 */
export class RequestLog implements Recorder, ExchangeStore {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #keptBody: () => number;
  /** by number modulo the size of the ring */
  readonly #ring: (Exchange | undefined)[] = [];
  readonly #listeners = new Map<LogListener, Visibility>();
  readonly #watchers: ((exchange: Watched) => void)[] = [];
  readonly #pulse = new Pulse();
  readonly #budget: InflateBudget;
  #visits = 0;
  #lastId = 0;
  #clearedUpTo = 0;
  /** the highest number that is hidden */
  #hiddenUpTo = 0;
  /** Another log of the same tunnel, such as one of an earlier process, began at another time. */
  #epoch: number;
  /** counts the calls of {@link RequestLog.changed} */
  #revision = 0;
  #capturedBytes = 0;
  /** connections whose counts have changed since they were shown */
  readonly #counted = new Set<Exchange>();
  /** the messages of all earlier requests are dropped */
  #oldestWithMessages = 1;

  /**
   * @param max number of requests to keep
   * @param keptBody number of bytes of each body to keep; a change applies to what arrives from then on
   */
  constructor(clock = systemClock, max = RECORDED_REQUESTS_MAX, keptBody = () => RECORDED_BODY_MAX_BYTES) {
    this.#clock = clock;
    this.#max = max;
    this.#keptBody = keptBody;
    this.#epoch = clock.now();
    this.#budget = new InflateBudget(() => clock.monotonic());
  }

  /** number of requests of visitors so far, including those that are no longer kept */
  get visits(): number {
    return this.#visits;
  }

  /** the traffic of visitors in the last seconds, earliest first */
  get pulse(): readonly TrafficSecond[] {
    return this.#pulse.list(this.#clock.now());
  }

  get keptBody(): number {
    return this.#keptBody();
  }

  /** Memory used by recorded bytes. */
  get capturedBytes(): number {
    return this.#capturedBytes;
  }

  /** Where a reader of everything is. */
  get point(): LogPoint {
    return { epoch: this.#epoch, revision: this.#revision };
  }

  /** Records one connection. */
  open(waitedMs = 0): Recording {
    return new ConnectionRecording(this, undefined, waitedMs);
  }

  /** Records a raw connection, without its bytes. */
  openRaw(protocol: RawProtocol, visitor: string | undefined): RawRecording {
    const exchange = this.begin(VISITOR);
    exchange.becomeRaw(protocol.toUpperCase(), visitor);
    return new RawCounter(this, exchange);
  }

  /** Records the connection of a repeated request. */
  openReplay(replayOf: number): ConnectionRecording {
    return new ConnectionRecording(this, { replayOf });
  }

  /**
   * The recorded requests, newest first.
   *
   * @param count limit of summaries
   */
  list(visibility = REDACTED, count = this.#max): RequestSummary[] {
    const summaries: RequestSummary[] = [];
    for (let id = this.#lastId; id >= this.#oldest && summaries.length < count; id--) {
      const exchange = this.find(id);
      if (exchange !== undefined) summaries.push(exchange.summary(visibility));
    }
    return summaries;
  }

  /** The next changes, the earliest first. Asking again from the end of the result misses nothing. */
  changes(since: LogPoint): LogUpdate {
    const { changed, isWhole } = this.changedSince(since);
    const first = changed.sort((one, other) => one.revision - other.revision).slice(0, LOG_PART_MAX);
    const isMore = first.length < changed.length;
    return {
      at: { epoch: this.#epoch, revision: (isMore ? first.at(-1)?.revision : undefined) ?? this.#revision },
      isWhole,
      isMore,
      oldest: this.#oldest,
      requests: first.map((exchange) => exchange.summary(REDACTED)),
    };
  }

  /** The requests that have changed, newest first. @returns also whether these are all, because the reader knows none */
  changedSince({ epoch, revision }: LogPoint) {
    const isWhole = epoch !== this.#epoch;
    const changed: Exchange[] = [];
    for (let id = this.#lastId; id >= this.#oldest; id--) {
      const exchange = this.find(id);
      if (exchange !== undefined && exchange.revision > (isWhole ? 0 : revision)) changed.push(exchange);
    }
    return { changed, isWhole };
  }

  /** Everything about one request; `undefined` if the number is unknown or was dropped. */
  detail(id: number, visibility = REDACTED): RequestDetail | undefined {
    const exchange = this.find(id);
    return exchange && requestDetail(exchange, visibility);
  }

  /** All tries of the visit that a request belongs to, oldest first. */
  tries(id: number, visibility = REDACTED): readonly RequestSummary[] {
    const ids = new Set([id]);
    for (let each = this.#oldest; each <= this.#lastId; each++) {
      const replayOf = this.find(each)?.replayOf;
      if (replayOf !== undefined) ids.add(replayOf).add(each);
    }
    const summaries = [...ids]
      .sort((one, other) => one - other)
      .flatMap((each) => this.find(each)?.summary(visibility) ?? []);
    return triesOf(summaries).get(id) ?? [];
  }

  /**
   * The messages of a WebSocket or an event stream; `undefined` for any other request, and once they are dropped.
   *
   * @param after number of the last message that is known
   */
  messages(id: number, after = 0): SocketMessages | undefined {
    const exchange = this.find(id);
    if (exchange?.captures === undefined || exchange.messages === undefined) return undefined;
    const before = exchange.messages.memory;
    const messages = exchange.messages.list(after);
    // Decompressed, they may need more.
    this.grew(exchange.messages.memory - before);
    return messages;
  }

  find(id: number): Exchange | undefined {
    return id > this.#hiddenUpTo ? this.#kept(id) : undefined;
  }

  /** Hides all requests so far, until they are shown again, or forgotten for good. */
  hide(): { readonly show: () => void; readonly forget: () => void } {
    const before = this.#hiddenUpTo;
    const upTo = this.#lastId;
    this.#hiddenUpTo = upTo;
    this.tellAnew();
    return {
      show: () => {
        if (this.#hiddenUpTo !== upTo) return;
        this.#hiddenUpTo = before;
        this.tellAnew();
      },
      forget: () => this.clear(upTo),
    };
  }

  /** Its requests are shown differently from now on: readers have to read all of them again. */
  tellAnew(): void {
    this.#epoch += 1;
  }

  /** Drops every request up to a number. Numbering continues. */
  clear(upTo = Infinity): void {
    for (const [slot, exchange] of this.#ring.entries()) {
      if (exchange === undefined || exchange.id > upTo) continue;
      this.#capturedBytes -= exchange.capturedBytes;
      exchange.release();
      this.#ring[slot] = undefined;
    }
    this.#clearedUpTo = Math.max(this.#clearedUpTo, Math.min(upTo, this.#lastId));
  }

  /** @returns a function that ends the subscription */
  subscribe(listener: LogListener, visibility = REDACTED): () => void {
    this.#listeners.set(listener, visibility);
    return () => void this.#listeners.delete(listener);
  }

  /** Calls back at each change of a request, without the cost of a summary. */
  watch(watcher: (exchange: Watched) => void): void {
    this.#watchers.push(watcher);
  }

  begin({ replayOf, isImported = false }: Origin): Exchange {
    const exchange = this.#begin(replayOf);
    exchange.isImported = isImported;
    if (isOfVisitor(exchange)) {
      this.#visits += 1;
      this.#pulse.count(exchange.startedAt);
    }
    return exchange;
  }

  elapsed(exchange: Exchange): number {
    return this.#clock.monotonic() - exchange.startedMs;
  }

  grew(bytes: number): void {
    this.#capturedBytes += bytes;
    this.#oldestWithMessages = Math.max(this.#oldestWithMessages, this.#oldestKept);
    while (this.#capturedBytes > RECORDED_BYTES_MAX) {
      const oldest = this.#kept(this.#oldestWithMessages);
      this.#capturedBytes -= oldest?.capturedBytes ?? 0;
      oldest?.forgetMessages();
      this.#oldestWithMessages += 1;
    }
  }

  changed(exchange: Exchange): void {
    if (this.#kept(exchange.id) !== exchange) return;
    this.#revision += 1;
    exchange.revision = this.#revision;
    for (const watcher of this.#watchers) watcher(exchange);
    if (this.find(exchange.id) === undefined) return;
    for (const [listener, visibility] of this.#listeners) listener(exchange.summary(visibility));
  }

  counted(exchange: Exchange): void {
    if (this.#counted.size === 0) this.#clock.setTimeout(() => this.#showCounts(), COUNTS_SHOWN_MS);
    this.#counted.add(exchange);
  }

  streams(exchange: Exchange, isEncoded: boolean): void {
    exchange.messages ??= MessageLog.ofEvents(isEncoded, () => this.elapsed(exchange));
  }

  switched(exchange: Exchange): boolean {
    const response = readMessage(exchange.captures?.response.bytes ?? Buffer.alloc(0), 0, { reveal: true });
    const extensions = response && extensionsOf(exchange.status ?? 0, response);
    if (extensions === undefined) return false;
    exchange.messages = MessageLog.ofSocket(extensions, () => this.elapsed(exchange), this.#budget);
    return true;
  }

  finish(exchange: Exchange, isBroken: boolean): void {
    exchange.isBroken = isBroken;
    exchange.durationMs = this.elapsed(exchange);
    this.#counted.delete(exchange);
    const { status = 0 } = exchange;
    const now = this.#clock.now();
    if (isOfVisitor(exchange)) {
      if (isBroken || status >= FIRST_FAILED_STATUS) this.#pulse.countError(now);
      else if (status >= FIRST_REFUSED_STATUS) this.#pulse.countRefused(now);
    }
    this.changed(exchange);
  }

  #showCounts(): void {
    const counted = [...this.#counted];
    this.#counted.clear();
    for (const exchange of counted) this.changed(exchange);
  }

  #begin(replayOf: number | undefined): Exchange {
    const id = (this.#lastId += 1);
    const slot = id % this.#max;
    const dropped = this.#ring[slot];
    this.#capturedBytes -= dropped?.capturedBytes ?? 0;
    const captures = dropped?.release() ?? { request: new Capture(), response: new Capture() };
    const exchange = new Exchange(id, replayOf, this.#clock.now(), this.#clock.monotonic(), captures);
    this.#capturedBytes += exchange.capturedBytes;
    this.#ring[slot] = exchange;
    return exchange;
  }

  /** The request with that number, hidden or not. */
  #kept(id: number): Exchange | undefined {
    const exchange = this.#ring[id % this.#max];
    return exchange?.id === id ? exchange : undefined;
  }

  /** Number of the oldest request that is kept, hidden or not. */
  get #oldestKept(): number {
    return Math.max(this.#clearedUpTo, this.#lastId - this.#max) + 1;
  }

  /** Number of the oldest request that is shown. */
  get #oldest(): number {
    return Math.max(this.#oldestKept, this.#hiddenUpTo + 1);
  }
}

/** Counts the bytes of a raw connection. */
class RawCounter implements RawRecording {
  readonly #log: RequestLog;
  readonly #exchange: Exchange;

  constructor(log: RequestLog, exchange: Exchange) {
    this.#log = log;
    this.#exchange = exchange;
  }

  connected(): void {
    this.#exchange.connectedMs = this.#log.elapsed(this.#exchange);
    this.#log.changed(this.#exchange);
  }

  toLocal(bytes: number): void {
    this.#exchange.bytesIn += bytes;
    this.#log.counted(this.#exchange);
  }

  toVisitor(bytes: number): void {
    this.#exchange.bytesOut += bytes;
    this.#log.counted(this.#exchange);
  }

  ended(how: RawEnd): void {
    this.#exchange.connection = how;
    this.#log.finish(this.#exchange, isBrokenEnd(how));
  }
}

function isOfVisitor({ replayOf, isImported }: Exchange): boolean {
  return replayOf === undefined && !isImported;
}

/* Recorded bytes as messages, parsed when they are shown. */

function requestDetail(exchange: Exchange, visibility: Visibility): RequestDetail | undefined {
  if (exchange.connection !== undefined) return rawDetail(exchange, visibility);
  const { captures } = exchange;
  if (captures === undefined) return undefined;
  const isWebSocket = exchange.messages?.counts.kind === 'websocket';
  // The messages of a WebSocket are neither request nor response.
  const total = (capture: Capture, bytes: number): number => (isWebSocket ? capture.length : bytes);
  const request = readMessage(captures.request.bytes, total(captures.request, exchange.bytesIn), visibility);
  if (request === undefined) return undefined;
  const { timing, status, bytesOut } = exchange;
  const response = readMessage(captures.response.bytes, total(captures.response, bytesOut), visibility);
  return {
    ...exchange.summary(visibility),
    timing,
    request,
    response: status === undefined ? undefined : response,
  };
}

/** A raw connection has no messages. */
function rawDetail(exchange: Exchange, visibility: Visibility): RequestDetail {
  const summary = exchange.summary(visibility);
  const startLine = `${summary.method} ${summary.target}`.trim();
  const request = { startLine, fields: [], body: new Uint8Array(), isTruncated: false };
  return { ...summary, timing: exchange.timing, request, response: undefined };
}

/**
 * Reads one message.
 *
 * @param bytes the recorded bytes
 * @param total length of the message in bytes
 * @returns `undefined` without a complete head
 */
export function readMessage(
  bytes: Buffer,
  total: number,
  { reveal }: Visibility,
): RecordedMessage | undefined {
  const scan = new HeadScan();
  if (!scan.scan(bytes)) return undefined;
  const [startLine = '', ...lines] = bytes
    .toString('latin1', 0, scan.end)
    .replace(/\r?\n\r?\n$/, '')
    .split(/\r?\n/);
  const fields = lines.map(readField);
  const { body, isWhole } = readBody(scan.isChunked, bytes.subarray(scan.end));
  return {
    startLine: reveal ? startLine : redactTarget(startLine),
    fields: reveal ? fields : fields.map(([name, value]) => [name, redactField(name, value)]),
    body,
    isTruncated: !isWhole || total > bytes.length,
  };
}

/** Accepts any line: everything that passed is shown, even if shared/http1 would reject it. */
function readField(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [trimBlanks(line), ''];
  return [trimBlanks(line.slice(0, colon)), trimBlanks(line.slice(colon + 1))];
}

/** A copy of the body, without chunked coding. */
function readBody(isChunked: boolean, bytes: Buffer): { body: Uint8Array; isWhole: boolean } {
  if (!isChunked) return { body: Uint8Array.from(bytes), isWhole: true };
  const pieces: Buffer[] = [];
  const tracker = trackServiceBody({ kind: 'chunked' }, { onPayload: (piece) => pieces.push(piece) });
  try {
    tracker.advance(bytes, 0);
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
  }
  return { body: Uint8Array.from(Buffer.concat(pieces)), isWhole: tracker.done };
}

const SECOND_MS = 1000;

/** Counts requests and failures of a tunnel in each of the last {@link SPARKLINE_SECONDS} seconds. */
export class Pulse {
  /** by second, modulo their number */
  readonly #seconds: (TrafficSecond | undefined)[] = Array.from({ length: SPARKLINE_SECONDS });

  /** Counts a request. @param now wall-clock ms */
  count(now: number): void {
    const second = this.#at(now);
    this.#set({ ...second, requests: second.requests + 1 });
  }

  /** Counts a request that was refused. @param now wall-clock ms */
  countRefused(now: number): void {
    const second = this.#at(now);
    this.#set({ ...second, refused: second.refused + 1 });
  }

  /** Counts a failure. @param now wall-clock ms */
  countError(now: number): void {
    const second = this.#at(now);
    this.#set({ ...second, errors: second.errors + 1 });
  }

  /** The last seconds with any traffic, earliest first. @param now wall-clock ms */
  list(now: number): readonly TrafficSecond[] {
    const after = Math.floor(now / SECOND_MS) - SPARKLINE_SECONDS;
    return this.#seconds
      .filter((second) => second !== undefined)
      .filter(({ id }) => id > after)
      .toSorted((one, other) => one.id - other.id);
  }

  #at(now: number): TrafficSecond {
    const id = Math.floor(now / SECOND_MS);
    const second = this.#seconds[id % SPARKLINE_SECONDS];
    return second?.id === id ? second : { id, requests: 0, refused: 0, errors: 0 };
  }

  #set(second: TrafficSecond): void {
    this.#seconds[second.id % SPARKLINE_SECONDS] = second;
  }
}
