/** The visitors' connections of one tunnel. */
import { CloseCode } from '../../../shared/control.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { DataSocket, DataSource } from '../data/data-dialer.ts';
import type { FilterMaker } from '../data/stream-filter.ts';
import { CONNECTIONS_MAX, CONTROL_BUSY_FOR_MS, LOCAL_SLOW_LOOK_MS, LOCAL_SLOW_MS } from '../limits.ts';
import type { LocalDialer } from '../local/local-dialer.ts';
import { describeTarget, type LocalTarget, usesTls } from '../local/local-service.ts';
import { findHostRefusal, LocalFailure } from '../local/local-error.ts';
import { LocalPool } from '../local/local-pool.ts';
import { type Message, type MessageCode, toMessage, type MessageValue } from '../messages.ts';
import { describeNetworkError } from '../network/dial.ts';
import { RelayRefusal, type RelayUnreachable } from '../relay/errors.ts';
import { VisitorConnection, type VisitorContext } from './visitor-connection.ts';

/** A problem with one visitor's connection. None of these ends the tunnel. */
export interface ConnectionProblem {
  readonly code:
    /** nothing listens on the local port: the visitor got an error page */
    | 'local-refused'
    /** the local service closed a connection without a response: the visitor got an error page */
    | 'local-reset'
    /** the local service does not speak HTTP/2: the visitor got an error page */
    | 'local-not-http2'
    /** a WebSocket for a service that is used over HTTP/2: the visitor got an error page */
    | 'local-no-websocket'
    /** the local service allows no further request at the moment: the visitor got an error page */
    | 'local-busy'
    /** a visitor has waited a long time for a response of the local service, and keeps waiting */
    | 'local-slow'
    /** the local service rejects the host name that visitors use */
    | 'host-blocked'
    /** the visitor left before the data socket was open */
    | 'visitor-gone'
    /** the relay refused the data socket for another reason */
    | 'data-refused'
    /** the relay could not be reached for the data socket */
    | 'data-failed'
    /** more simultaneous visitors than {@link CONNECTIONS_MAX} */
    | 'too-many-connections';
  /** for people */
  readonly text: MessageValue;
}

interface ConnectionsOptions {
  readonly data: DataSource;
  readonly local: LocalDialer;
  readonly deadlines: Deadlines;
  /** filters around the data sockets, starting at the socket; none by default */
  readonly filters?: readonly FilterMaker[];
  /** whether the local service receives the host name that visitors use, and may reject it */
  readonly keepsHost?: boolean;
  readonly onProblem: (problem: ConnectionProblem) => void;
}

/** Serves visitors until {@link Connections.cut}. */
export class Connections implements Expiring {
  readonly #data: DataSource;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #pool: LocalPool;
  readonly #context: VisitorContext;
  readonly #visitors = new Set<VisitorConnection>();
  readonly #deadlines: Deadlines;
  readonly #target: LocalTarget;
  #isLooking = false;
  /** when the last connection has ended, monotonic ms */
  #leftAt = -Infinity;

  constructor({ data, local, deadlines, filters = [], keepsHost = true, onProblem }: ConnectionsOptions) {
    this.#data = data;
    this.#onProblem = onProblem;
    this.#deadlines = deadlines;
    this.#target = local.target;
    this.#pool = new LocalPool(deadlines);
    this.#context = {
      local,
      deadlines,
      pool: this.#pool,
      filters,
      onLocalRefused: (error) =>
        onProblem({
          code: error instanceof LocalFailure ? error.code : 'local-refused',
          text: localRefused(local.target, error),
        }),
      onLocalReset: () =>
        onProblem({
          code: 'local-reset',
          text: toMessage('local.reset', { service: describeTarget(local.target) }),
        }),
      inspect: (piece, isNext, request) => keepsHost && this.#inspect(piece, isNext, request),
      onDataFailed: (error) => onProblem(dataProblem(error)),
      onEnd: (visitor) => {
        this.#visitors.delete(visitor);
        this.#leftAt = deadlines.now();
      },
    };
  }

  /** The number of connections open or being opened. */
  get size(): number {
    return this.#visitors.size;
  }

  /** Whether there are connections, or were within {@link CONTROL_BUSY_FOR_MS}. */
  get isBusy(): boolean {
    return this.size > 0 || this.#deadlines.now() - this.#leftAt < CONTROL_BUSY_FOR_MS;
  }

  /** The number of local connections that wait for another request. */
  get idle(): number {
    return this.#pool.size;
  }

  /** Serves the pending connection with that id. */
  accept(id: string): void {
    this.#admit()?.announced((handler) => this.#data.open(id, handler));
  }

  /** Serves a visitor whose data socket is already open, starting with its first bytes. */
  acceptStream(stream: DataSocket, first: Buffer): void {
    const visitor = this.#admit();
    if (visitor === undefined) stream.close(CloseCode.internalError);
    else visitor.arrived(stream, first);
  }

  /** A visitor could not be served, because its data socket could not be opened. */
  failed(error: RelayRefusal | RelayUnreachable): void {
    this.#onProblem(dataProblem(error));
  }

  /** Reports that there are too many visitors. */
  refuse(): void {
    const text = toMessage('visitor.tooMany', { max: CONNECTIONS_MAX });
    this.#onProblem({ code: 'too-many-connections', text });
  }

  /** Closes unused local connections. */
  closeIdle(): void {
    this.#pool.clear();
    this.#context.local.closeIdle();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const visitor of this.#visitors) visitor.cancel();
    this.closeIdle();
    this.#deadlines.delete(this);
    this.#isLooking = false;
  }

  /** Looks for waiting visitors, all together: a deadline each would add a cost to every request. */
  expire(): void {
    this.#isLooking = false;
    let isSlow = false;
    for (const visitor of this.#visitors) {
      if (visitor.looksSlow(LOCAL_SLOW_MS / LOCAL_SLOW_LOOK_MS)) isSlow = true;
    }
    if (isSlow)
      this.#onProblem({
        code: 'local-slow',
        text: toMessage('local.slow', {
          seconds: LOCAL_SLOW_MS / 1000,
          service: describeTarget(this.#target),
        }),
      });
    if (this.#visitors.size > 0) this.#look();
  }

  #look(): void {
    this.#isLooking = true;
    this.#deadlines.add(this, LOCAL_SLOW_LOOK_MS);
  }

  #inspect(piece: Buffer, isNext: boolean, request: Buffer | undefined): boolean {
    const refusal = findHostRefusal(piece, isNext, request);
    if (refusal.kind === 'refused')
      this.#onProblem({
        code: 'host-blocked',
        text: toMessage('local.hostBlocked', {
          service: describeTarget(this.#target),
          setting: refusal.setting,
        }),
      });
    return refusal.kind === 'perhaps';
  }

  #admit(): VisitorConnection | undefined {
    if (this.#visitors.size < CONNECTIONS_MAX) {
      const visitor = new VisitorConnection(this.#context);
      this.#visitors.add(visitor);
      if (!this.#isLooking) this.#look();
      return visitor;
    }
    this.refuse();
    return undefined;
  }
}

const FAILURES = {
  'local-not-http2': 'local.notHttp2',
  'local-no-websocket': 'local.noWebSocket',
  'local-busy': 'local.busy',
} as const satisfies Record<LocalFailure['code'], MessageCode>;

function localRefused(target: LocalTarget, error: NodeJS.ErrnoException): Message {
  const service = describeTarget(target);
  if (error instanceof LocalFailure)
    return toMessage(FAILURES[error.code], { service, upstream: target.upstream ?? 'http1' });
  if (usesTls(target) && error.code !== 'ECONNREFUSED' && error.code !== 'ETIMEDOUT')
    return toMessage('local.noHttps', { service, why: describeNetworkError(error) });
  return toMessage('local.refused', { service });
}

function dataProblem(error: RelayRefusal | RelayUnreachable): ConnectionProblem {
  const { said } = error;
  if (!(error instanceof RelayRefusal))
    return { code: 'data-failed', text: toMessage('visitor.lost', { why: said }) };
  if (error.status === 404) return { code: 'visitor-gone', text: toMessage('visitor.left') };
  return { code: 'data-refused', text: toMessage('visitor.lost', { why: said }) };
}
