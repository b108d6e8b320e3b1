/** Keeps one tunnel online: the state machine around its control connection. */
import type { KnockMessage } from '../../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import { DRAIN_SPREAD_MS, RETRY_BASE_MS, STABLE_CONNECTION_MS, SUSPENDED_RETRY_MS } from '../limits.ts';
import { toMessage, type MessageValue } from '../messages.ts';
import type { ControlEnd, ControlHandler } from './control-connection.ts';
import { judge, type OfflineReason, retryDelay, type Verdict } from './verdict.ts';

/** `idle → connecting → online ⇄ reconnecting`, and from any of them to `offline`, which is final. */
export type TunnelState =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting' }
  | { readonly name: 'online' }
  | {
      readonly name: 'reconnecting';
      /** consecutive failed tries */
      readonly attempt: number;
      /** ms until the next try; 0 while one is under way */
      readonly retryInMs: number;
      /** why the connection ended, for people */
      readonly why: MessageValue;
    }
  | { readonly name: 'offline'; readonly reason: OfflineReason; readonly why: MessageValue };

export interface TunnelSessionOptions {
  readonly clock: Clock;
  /** from 0 up to 1, as `Math.random` */
  random(): number;
  /** Opens a control connection; `close` ends it without another call to the handler. */
  openControl(handler: ControlHandler): Control;
  /** Serves a visitor's pending connection. */
  serve(connectionId: string): void;
  /** A visitor asks the owner for approval. */
  onKnock(knock: KnockMessage): void;
  onState(state: TunnelState): void;
  /**
   * The relay of the control connection is shutting down. The tunnel stays online through it until another connection
   * is open.
   */
  onDraining(): void;
  /** The tunnel is online through another control connection, without a gap. */
  onRenewed(): void;
}

interface Control {
  close(): void;
}

/** A control connection and its role in the session. */
interface Link {
  control: Control | undefined;
  /** Whether the relay asked for it: its failure then says nothing about the current connection. */
  readonly isMove: boolean;
}

/** Replaces the current connection at the request of its relay, which is shutting down. */
interface Move {
  /** failed tries */
  failures: number;
  /** Whether one of the tries may have reached the relay and replaced the current connection. */
  mayHaveArrived: boolean;
}

/**
 * Keeps a tunnel connected. Creating and deleting it belongs to the REST interface. A session ends when the tunnel is
 * gone, taken over or refused, or when {@link TunnelSession.stop} is called. It never cuts visitors.
 */
export class TunnelSession {
  readonly #options: TunnelSessionOptions;
  #state: TunnelState = { name: 'idle' };
  /** the open connection */
  #current: Link | undefined;
  /** the connection being opened, possibly to replace the current one */
  #next: Link | undefined;
  #retry: Timer | undefined;
  #move: Move | undefined;
  #failures = 0;
  /** the reason that would have ended the tunnel at the last refused handshake */
  #doubted: OfflineReason | undefined;
  #onlineSince: number | undefined;
  /** when the tunnel was lost or first tried */
  #awaySince = 0;

  constructor(options: TunnelSessionOptions) {
    this.#options = options;
  }

  get state(): TunnelState {
    return this.#state;
  }

  /** Connects, and reconnects from then on. Only the first call has an effect. */
  start(): void {
    if (this.#state.name !== 'idle') return;
    this.#awaySince = this.#options.clock.monotonic();
    this.#enter({ name: 'connecting' });
    this.#connect();
  }

  /**
   * Call when the machine has woken up, or its network has changed: an open connection may be dead without notice, and
   * a missing network may be back. Connects immediately, and keeps an open control connection until the new one is
   * open.
   */
  wake(): void {
    const state = this.#state;
    if (state.name === 'idle' || state.name === 'offline') return;
    this.#failures = 0;
    this.#awaySince = this.#options.clock.monotonic();
    this.#connect();
    if (state.name === 'reconnecting') this.#enter({ ...state, attempt: 0, retryInMs: 0 });
  }

  /** Call before the machine sleeps. Disconnects from the relay; {@link TunnelSession.wake} connects again. */
  suspend(): void {
    if (this.#state.name === 'idle' || this.#state.name === 'offline') return;
    this.#disconnect();
    this.#failures = 0;
    // In case the machine stays awake after all.
    this.#retryIn(SUSPENDED_RETRY_MS, toMessage('tunnel.sleeps'));
  }

  /** Disconnects permanently. */
  stop(): void {
    this.#goOffline('stopped', toMessage('tunnel.stopped'));
  }

  #connect(isMove = false): void {
    this.#retry?.cancel();
    this.#next?.control?.close();
    const link: Link = { control: undefined, isMove };
    this.#next = link;
    link.control = this.#options.openControl({
      onOpen: () => this.#onOpen(link),
      onConnection: (id) => this.#options.serve(id),
      onDrain: () => this.#onDrain(link),
      onKnock: (knock) => this.#options.onKnock(knock),
      onEnd: (end) => (link === this.#next ? this.#onFailure(link, end) : this.#onLoss(end)),
    });
  }

  #onOpen(link: Link): void {
    const before = this.#current;
    this.#current = link;
    this.#next = undefined;
    this.#move = undefined;
    this.#doubted = undefined;
    this.#onlineSince = this.#options.clock.monotonic();
    before?.control?.close();
    if (this.#state.name === 'online') this.#options.onRenewed();
    else this.#enter({ name: 'online' });
  }

  /**
   * The relay is shutting down. It tells all its clients at the same time, so they spread their moves over some time.
   */
  #onDrain(link: Link): void {
    if (link !== this.#current || this.#move !== undefined) return;
    this.#move = { failures: 0, mayHaveArrived: false };
    this.#options.onDraining();
    if (this.#next === undefined) this.#moveIn(Math.floor(this.#options.random() * DRAIN_SPREAD_MS));
  }

  #moveIn(ms: number): void {
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimeout(() => this.#connect(true), ms);
  }

  /** The connection that was being opened has failed. */
  #onFailure(link: Link, end: ControlEnd): void {
    this.#next = undefined;
    const judged = judge(end);
    const verdict = this.#believed(judged);
    // Any response means that the network works, and so does the current connection.
    if (verdict.retry && this.#current !== undefined && (link.isMove || end.kind !== 'lost')) {
      if (this.#move !== undefined) this.#moveAgain(this.#move, end, verdict);
      else if (verdict !== judged) this.#moveIn(Math.floor(this.#options.random() * RETRY_BASE_MS));
      return;
    }
    this.#disconnect();
    this.#follow(verdict);
  }

  /** A single handshake response may be forged or meant for another client: only a repeated one ends the tunnel. */
  #believed(verdict: Verdict): Verdict {
    if (verdict.retry || verdict.reason === this.#doubted) return verdict;
    this.#doubted = verdict.reason;
    return { retry: true, why: verdict.why, reach: 'answered' };
  }

  /** Retries until the relay ends the current connection, a matter of seconds. */
  #moveAgain(move: Move, end: ControlEnd, { reach, retryAfterMs }: Extract<Verdict, { retry: true }>): void {
    move.mayHaveArrived ||= end.kind === 'lost';
    this.#moveIn(
      retryDelay({ attempt: move.failures, random: this.#options.random(), reach, awayMs: 0, retryAfterMs }),
    );
    move.failures += 1;
  }

  /** The open connection has ended. */
  #onLoss(end: ControlEnd): void {
    const move = this.#move;
    this.#current = undefined;
    this.#move = undefined;
    if (this.#wasStable()) this.#awaySince = this.#options.clock.monotonic();
    const verdict = judge(end);
    const isReplaced = !verdict.retry && verdict.reason === 'replaced';
    // It may have been replaced by our own connection, whose response was lost or is still on its way.
    if (isReplaced && move?.mayHaveArrived === true && this.#next === undefined) return this.#connect();
    if (this.#next === undefined) return this.#follow(verdict);
    if (isReplaced) return;
    if (!verdict.retry) return this.#follow(verdict);
    this.#enter({ name: 'reconnecting', attempt: this.#failures, retryInMs: 0, why: verdict.why });
  }

  #follow(verdict: Verdict): void {
    if (!verdict.retry) return this.#goOffline(verdict.reason, verdict.why);
    // Pause between tries at a relay that accepts connections and drops them immediately.
    if (this.#wasStable()) this.#failures = 0;
    this.#onlineSince = undefined;
    const retryInMs = retryDelay({
      attempt: verdict.isDraining === true ? Math.min(this.#failures, 1) : this.#failures,
      random: this.#options.random(),
      reach: verdict.reach,
      awayMs: this.#options.clock.monotonic() - this.#awaySince,
      retryAfterMs: verdict.retryAfterMs,
    });
    this.#failures += 1;
    this.#retryIn(retryInMs, verdict.why);
  }

  #retryIn(retryInMs: number, why: MessageValue): void {
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimeout(() => this.#connect(), retryInMs);
    this.#enter({ name: 'reconnecting', attempt: this.#failures, retryInMs, why });
  }

  #wasStable(): boolean {
    const since = this.#onlineSince;
    return since !== undefined && this.#options.clock.monotonic() - since >= STABLE_CONNECTION_MS;
  }

  #disconnect(): void {
    this.#retry?.cancel();
    for (const link of [this.#current, this.#next]) link?.control?.close();
    this.#current = undefined;
    this.#next = undefined;
    this.#move = undefined;
  }

  #goOffline(reason: OfflineReason, why: MessageValue): void {
    if (this.#state.name === 'offline') return;
    this.#disconnect();
    this.#enter({ name: 'offline', reason, why });
  }

  #enter(state: TunnelState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}
