/** Keeps one tunnel online: the state machine around its control connection. */
import { retryDelay } from './backoff.ts';
import type { Clock, Timer } from './clock.ts';
import type { ControlEnd, ControlHandler } from './control-connection.ts';
import { STABLE_CONNECTION_MS } from './limits.ts';
import { judge, type OfflineReason } from './verdict.ts';

/** `idle → connecting → online ⇄ reconnecting`, and from everywhere to `offline`, which is final. */
export type TunnelState =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting' }
  | { readonly name: 'online' }
  | {
      readonly name: 'reconnecting';
      /** tries that failed in a row */
      readonly attempt: number;
      /** ms from now until the next try */
      readonly retryInMs: number;
      /** what ended the connection, for people */
      readonly why: string;
    }
  | { readonly name: 'offline'; readonly reason: OfflineReason; readonly why: string };

export interface TunnelSessionOptions {
  readonly clock: Clock;
  /** from 0 up to 1, as `Math.random` */
  random(): number;
  /** Opens a control connection; `close` ends it without a further call to the handler. */
  openControl(handler: ControlHandler): { close(): void };
  /** Serves a visitor's pending connection. */
  serve(connectionId: string): void;
  onState(state: TunnelState): void;
}

/**
 * The tunnel itself is an object of the relay's REST interface: a session neither creates nor deletes it, and lives
 * until the tunnel is gone, taken over, refused, or {@link TunnelSession.stop} is called.
 */
export class TunnelSession {
  readonly #options: TunnelSessionOptions;
  #state: TunnelState = { name: 'idle' };
  #control: { close(): void } | undefined;
  #retry: Timer | undefined;
  #failures = 0;
  #onlineSince: number | undefined;

  constructor(options: TunnelSessionOptions) {
    this.#options = options;
  }

  get state(): TunnelState {
    return this.#state;
  }

  /** Connects, and from then on reconnects. Only the first call has an effect. */
  start(): void {
    if (this.#state.name !== 'idle') return;
    this.#enter({ name: 'connecting' });
    this.#connect();
  }

  /** Disconnects for good. */
  stop(): void {
    if (this.#state.name === 'offline') return;
    this.#retry?.cancel();
    this.#control?.close();
    this.#enter({ name: 'offline', reason: 'stopped', why: 'Stopped.' });
  }

  #connect(): void {
    this.#control = this.#options.openControl({
      onOpen: () => this.#onOpen(),
      onConnection: (id) => this.#options.serve(id),
      onEnd: (end) => this.#onEnd(end),
    });
  }

  #onOpen(): void {
    this.#onlineSince = this.#options.clock.now();
    this.#enter({ name: 'online' });
  }

  #onEnd(end: ControlEnd): void {
    const verdict = judge(end);
    if (!verdict.retry) {
      this.#enter({ name: 'offline', reason: verdict.reason, why: verdict.why });
      return;
    }
    // A relay that takes connections and drops them at once must not be called without a pause.
    if (this.#wasStable()) this.#failures = 0;
    this.#onlineSince = undefined;
    const retryInMs = retryDelay(this.#failures, this.#options.random(), verdict.retryAfterMs);
    this.#failures += 1;
    this.#retry = this.#options.clock.setTimeout(() => this.#connect(), retryInMs);
    this.#enter({ name: 'reconnecting', attempt: this.#failures, retryInMs, why: verdict.why });
  }

  #wasStable(): boolean {
    const since = this.#onlineSince;
    return since !== undefined && this.#options.clock.now() - since >= STABLE_CONNECTION_MS;
  }

  #enter(state: TunnelState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}
