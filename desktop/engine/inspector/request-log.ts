import { type Clock, systemClock } from '../clock.ts';
import type { Recorder, Recording } from '../data/recorder.ts';
import { RECORDED_REQUESTS_MAX } from '../limits.ts';
import { Capture } from './capture.ts';
import { ConnectionRecording, type ExchangeStore } from './connection-recording.ts';
import { Exchange, type Visibility } from './exchange.ts';
import { requestDetail } from './messages.ts';
import type { RequestDetail, RequestSummary } from './records.ts';

const REDACTED: Visibility = { reveal: false };

/** Told of a request when its head has arrived, when its response begins and when it ends. */
export type LogListener = (summary: RequestSummary) => void;

/**
 * The last {@link RECORDED_REQUESTS_MAX} requests of one tunnel, in memory only. When they are shown, the values of secrets
 * are replaced (redaction.ts), unless `reveal` asks for them.
 */
export class RequestLog implements Recorder, ExchangeStore {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** by number, modulo the size of the ring */
  readonly #ring: (Exchange | undefined)[] = Array.from({ length: RECORDED_REQUESTS_MAX });
  readonly #listeners = new Map<LogListener, Visibility>();
  #lastId = 0;

  constructor(clock: Pick<Clock, 'now' | 'monotonic'> = systemClock) {
    this.#clock = clock;
  }

  /** Memory that the recorded bytes take up. */
  get capturedBytes(): number {
    let bytes = 0;
    for (const exchange of this.#ring) {
      const captures = exchange?.captures;
      if (captures !== undefined) bytes += captures.request.capacity + captures.response.capacity;
    }
    return bytes;
  }

  /** Records one connection. */
  open(): Recording {
    return new ConnectionRecording(this);
  }

  /** Records the connection over which a request is repeated. */
  openReplay(replayOf: number): ConnectionRecording {
    return new ConnectionRecording(this, replayOf);
  }

  /**
   * What has been recorded, newest first.
   *
   * @param count of summaries, at most
   */
  list(visibility = REDACTED, count = RECORDED_REQUESTS_MAX): RequestSummary[] {
    const summaries: RequestSummary[] = [];
    const oldest = Math.max(1, this.#lastId - RECORDED_REQUESTS_MAX + 1);
    for (let id = this.#lastId; id >= oldest && summaries.length < count; id--) {
      const exchange = this.find(id);
      if (exchange !== undefined) summaries.push(exchange.summary(visibility));
    }
    return summaries;
  }

  /** Everything about one request; `undefined` when there is none of that number, or no longer. */
  detail(id: number, visibility = REDACTED): RequestDetail | undefined {
    const exchange = this.find(id);
    return exchange && requestDetail(exchange, visibility);
  }

  find(id: number): Exchange | undefined {
    const exchange = this.#ring[id % RECORDED_REQUESTS_MAX];
    return exchange?.id === id ? exchange : undefined;
  }

  /** Forgets everything. Numbering goes on. */
  clear(): void {
    for (const exchange of this.#ring) exchange?.release();
    this.#ring.fill(undefined);
  }

  /** @returns what ends the subscription */
  subscribe(listener: LogListener, visibility = REDACTED): () => void {
    this.#listeners.set(listener, visibility);
    return () => void this.#listeners.delete(listener);
  }

  begin(replayOf: number | undefined): Exchange {
    const id = (this.#lastId += 1);
    const slot = id % RECORDED_REQUESTS_MAX;
    const captures = this.#ring[slot]?.release() ?? { request: new Capture(), response: new Capture() };
    const exchange = new Exchange(id, replayOf, this.#clock.now(), this.#clock.monotonic(), captures);
    this.#ring[slot] = exchange;
    return exchange;
  }

  changed(exchange: Exchange): void {
    if (this.#listeners.size === 0 || exchange.captures === undefined) return;
    for (const [listener, visibility] of this.#listeners) listener(exchange.summary(visibility));
  }

  finish(exchange: Exchange, isBroken: boolean): void {
    exchange.isBroken = isBroken;
    exchange.durationMs = this.#clock.monotonic() - exchange.startedMs;
    this.changed(exchange);
  }
}
