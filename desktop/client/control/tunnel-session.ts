/** Keeps one tunnel online: the state machine around its control connection. */
import type { KnockMessage, RelayProblem } from '../../../shared/control.ts';
import type { Clock, Timer } from '../clock.ts';
import { toMessage, type MessageValue } from '../messages.ts';
import type { ControlConnection, ControlEnd, ControlHandler } from './control-connection.ts';
import { judge, type OfflineReason, retryDelay, type Verdict, RETRY_BASE_MS } from './verdict.ts';

/**
 * Period over which clients spread the opening of new control sockets after a trunk has broken: a restarting
 * reverse proxy breaks the trunks of all clients at the same time.
 */
const LOST_TRUNK_SPREAD_MS = 500;
/**
 * How long after the client has given up an attempt to open a control socket the relay may still receive it and
 * replace a newer control socket with it. Operating systems repeat the data of a closed connection for up to about 100
 * s.
 */
const LOST_TRY_MS = 120_000;
/** How long a connection must last to be considered stable: the next failure starts with short delays again. */
const STABLE_CONNECTION_MS = 10_000;
/**
 * Period over which clients spread their moves when a relay that is shutting down notifies all of them at once.
 */
const DRAIN_SPREAD_MS = 2000;
/** How long after a sleep notification a machine that is still awake is assumed to have stayed awake. */
const SUSPENDED_RETRY_MS = 60_000;

type Retriable = Extract<Verdict, { retry: true }>;

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

interface TunnelSessionOptions {
  readonly clock: Clock;
  /** from 0 up to 1, as `Math.random` */
  readonly random: () => number;
  /**
   * Opens a control connection; `close` ends it without another call to the handler.
   *
   * @param isCut whether the line was cut, and may swallow what is sent
   */
  readonly openControl: (handler: ControlHandler, isCut: boolean) => Control;
  /** Serves a visitor's pending connection. */
  readonly serve: (connectionId: string, peers?: string) => void;
  /** A visitor asks the owner for approval. */
  readonly onKnock: (knock: KnockMessage) => void;
  /** The relay has found a problem with the local service. */
  readonly onProblem: (problem: RelayProblem) => void;
  readonly onState: (state: TunnelState) => void;
  /**
   * The relay of the control connection is shutting down. The tunnel stays online through it until another connection
   * is open.
   */
  readonly onDraining: () => void;
  /** The tunnel is online through another control connection, without a gap. */
  readonly onRenewed: () => void;
}

type Control = Pick<ControlConnection, 'mayHaveArrived' | 'strays' | 'probe' | 'close'>;

/** A control connection and its role in the session. */
interface Link {
  control: Control | undefined;
  /** Whether its failure says nothing about the current connection, such as when the relay asked for it. */
  isExtra: boolean;
}

/** Replaces the current connection at the request of its relay, which is shutting down. */
interface Move {
  /** failed tries */
  failures: number;
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
  /** Whether the line of the open connection may be dead: another one is opened, unless something arrives first. */
  #isInDoubt = false;
  /** Whether the line was cut: nothing came back from the relay lately, or the network has changed. */
  #isCut = false;
  #failures = 0;
  /** tries that failed although the relay may have accepted them or may still do so, and until when, monotonic ms */
  #lostTries = 0;
  #lostTriesUntil = 0;
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
    this.#isInDoubt = this.#current !== undefined;
    this.#isCut = true;
    this.#current?.control?.probe();
    this.#connect();
    if (state.name === 'reconnecting') this.#enter({ ...state, attempt: 0, retryInMs: 0 });
  }

  /** Call when a trunk of the open connection broke: the line may be cut. */
  lostTrunk(): void {
    this.#current?.control?.probe();
    this.#doubt(this.#options.random() * LOST_TRUNK_SPREAD_MS);
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

  #connect(isExtra = false): void {
    this.#retry?.cancel();
    this.#dropNext();
    const link: Link = { control: undefined, isExtra };
    this.#next = link;
    const handler: ControlHandler = {
      onOpen: () => this.#onOpen(link),
      onConnection: (id, peers) => this.#options.serve(id, peers),
      onDrain: () => this.#onDrain(link),
      onKnock: (knock) => this.#options.onKnock(knock),
      onProblem: (problem) => this.#options.onProblem(problem),
      onSilent: () => {
        if (link === this.#current) this.#doubt(0);
      },
      onHeard: () => {
        if (link === this.#current) this.#trust();
      },
      onEnd: (end) => (link === this.#next ? this.#onFailure(link, end) : this.#onLoss(end)),
    };
    link.control = this.#options.openControl(handler, this.#isCut);
  }

  #onOpen(link: Link): void {
    const before = this.#current;
    this.#current = link;
    this.#next = undefined;
    this.#move = undefined;
    this.#isInDoubt = false;
    this.#isCut = false;
    this.#doubted = undefined;
    this.#noteLostTries(link.control?.strays ?? 0);
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
    this.#move = { failures: 0 };
    this.#options.onDraining();
    if (this.#next === undefined) this.#moveIn(Math.floor(this.#options.random() * DRAIN_SPREAD_MS));
  }

  #moveIn(ms: number): void {
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimeout(() => this.#connect(true), ms);
  }

  /**
   * The line may be dead: opens another connection beside the current one, which stays in service until then.
   *
   * @param ms until another connection is opened
   */
  #doubt(ms: number): void {
    if (this.#current === undefined || this.#next !== undefined) return;
    // A move opens another connection anyway.
    if (this.#isInDoubt || this.#move !== undefined) return;
    this.#isInDoubt = true;
    this.#isCut = true;
    this.#awaySince = this.#options.clock.monotonic();
    if (ms === 0) this.#connect();
    else this.#connectIn(ms);
  }

  /** Something has arrived on the current connection, so its line works. */
  #trust(): void {
    if (!this.#isInDoubt) return;
    this.#isInDoubt = false;
    const next = this.#next;
    // The relay may be replacing the current connection with it.
    const isNeeded = this.#move !== undefined || next?.control?.mayHaveArrived === true;
    if (!isNeeded) {
      this.#retry?.cancel();
      this.#dropNext();
    } else if (next !== undefined) next.isExtra = true;
  }

  #connectIn(ms: number): void {
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimeout(() => this.#connect(), ms);
  }

  /** The connection that was being opened has failed. */
  #onFailure(link: Link, end: ControlEnd): void {
    this.#next = undefined;
    // The relay has no further use for one that it broke off, but may have replaced the current one with it.
    if (end.kind === 'lost' && (end.isSilent === true || this.#current !== undefined)) this.#noteLost(link);
    this.#isCut = end.kind === 'lost' && (this.#isCut || end.isSilent === true);
    const judged = judge(end);
    const verdict = this.#believed(judged);
    if (verdict.retry && this.#current !== undefined) {
      // Any response means that the network works, and so does the current connection.
      if (link.isExtra || end.kind !== 'lost') return this.#keepCurrent(end, verdict, verdict !== judged);
      if (this.#isInDoubt && isInconclusive(link, end)) return this.#connectIn(this.#nextDelay(verdict));
    }
    this.#disconnect();
    this.#follow(verdict);
  }

  /** Another connection failed to open. This says nothing about the current one. */
  #keepCurrent(end: ControlEnd, verdict: Retriable, isUnconfirmed: boolean): void {
    if (end.kind !== 'lost') this.#isInDoubt = false;
    if (this.#move !== undefined) this.#moveAgain(this.#move, verdict);
    else if (isUnconfirmed) this.#moveIn(Math.floor(this.#options.random() * RETRY_BASE_MS));
  }

  /** A single handshake response may be forged or meant for another client: only a repeated one ends the tunnel. */
  #believed(verdict: Verdict): Verdict {
    if (verdict.retry || verdict.reason === this.#doubted) return verdict;
    this.#doubted = verdict.reason;
    return { retry: true, why: verdict.why, reach: 'answered' };
  }

  /** Retries until the relay ends the current connection, a matter of seconds. */
  #moveAgain(move: Move, { reach, retryAfterMs }: Retriable): void {
    this.#moveIn(
      retryDelay({ attempt: move.failures, random: this.#options.random(), reach, awayMs: 0, retryAfterMs }),
    );
    move.failures += 1;
  }

  /** The open connection has ended. */
  #onLoss(end: ControlEnd): void {
    this.#current = undefined;
    this.#move = undefined;
    this.#isInDoubt = false;
    if (this.#wasStable()) this.#awaySince = this.#options.clock.monotonic();
    const verdict = judge(end);
    const isReplaced = !verdict.retry && verdict.reason === 'replaced';
    // By the one that is being opened.
    if (isReplaced && this.#next?.control?.mayHaveArrived === true) return;
    if (isReplaced && this.#forgiveLostTry()) return this.#next === undefined ? this.#connect() : undefined;
    if (this.#next === undefined || !verdict.retry) return this.#follow(verdict);
    this.#enter({ name: 'reconnecting', attempt: this.#failures, retryInMs: 0, why: verdict.why });
  }

  /** The relay may still accept this connection, and replace the one in use with it. */
  #noteLost({ control }: Link): void {
    if (control?.mayHaveArrived === true) this.#noteLostTries(1 + control.strays);
  }

  #noteLostTries(count: number): void {
    if (count === 0) return;
    this.#lostTries = this.#hasLostTries ? this.#lostTries + count : count;
    this.#lostTriesUntil = this.#options.clock.monotonic() + LOST_TRY_MS;
  }

  get #hasLostTries(): boolean {
    return this.#lostTries > 0 && this.#options.clock.monotonic() < this.#lostTriesUntil;
  }

  /** @returns whether a connection of this client, rather than another client, may have replaced the current one */
  #forgiveLostTry(): boolean {
    const mayBeOwn = this.#hasLostTries;
    // Each can replace the current one only once.
    if (mayBeOwn) this.#lostTries -= 1;
    return mayBeOwn;
  }

  #dropNext(): void {
    const link = this.#next;
    this.#next = undefined;
    if (link === undefined) return;
    this.#noteLost(link);
    link.control?.close();
  }

  #follow(verdict: Verdict): void {
    if (!verdict.retry) return this.#goOffline(verdict.reason, verdict.why);
    // Pause between tries at a relay that accepts connections and drops them immediately.
    if (this.#wasStable()) this.#failures = 0;
    this.#onlineSince = undefined;
    this.#retryIn(this.#nextDelay(verdict), verdict.why);
  }

  /** Counts a failed try. @returns ms until the next one */
  #nextDelay({ isDraining = false, reach, retryAfterMs }: Retriable): number {
    const ms = retryDelay({
      attempt: isDraining ? Math.min(this.#failures, 1) : this.#failures,
      random: this.#options.random(),
      reach,
      awayMs: this.#options.clock.monotonic() - this.#awaySince,
      retryAfterMs,
    });
    this.#failures += 1;
    return ms;
  }

  #retryIn(retryInMs: number, why: MessageValue): void {
    this.#connectIn(retryInMs);
    this.#enter({ name: 'reconnecting', attempt: this.#failures, retryInMs, why });
  }

  #wasStable(): boolean {
    const since = this.#onlineSince;
    return since !== undefined && this.#options.clock.monotonic() - since >= STABLE_CONNECTION_MS;
  }

  #disconnect(): void {
    this.#retry?.cancel();
    this.#current?.control?.close();
    this.#current = undefined;
    this.#dropNext();
    this.#move = undefined;
    this.#isInDoubt = false;
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

/** Whether a try's failure says nothing about the relay: nothing came back, or the relay may have accepted it. */
function isInconclusive({ control }: Link, end: ControlEnd): boolean {
  return end.kind === 'lost' && (end.isSilent === true || control?.mayHaveArrived === true);
}
