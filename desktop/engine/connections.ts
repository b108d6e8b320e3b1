/** The visitors' connections of one tunnel. */
import { CloseCode } from '../../shared/control.ts';
import type { DataStream } from './bridge.ts';
import type { DataHandler } from './data-socket.ts';
import type { Deadlines } from './deadlines.ts';
import type { Attempt } from './dial.ts';
import { describeNetworkError, RelayRefusal, type RelayUnreachable } from './errors.ts';
import { CONNECTIONS_MAX } from './limits.ts';
import type { LocalDialer } from './local-dialer.ts';
import { LocalPool } from './local-pool.ts';
import { describeTarget, type LocalTarget } from './local-target.ts';
import type { FilterMaker } from './stream-filter.ts';
import { Visitor, type VisitorContext } from './visitor.ts';

/** What went wrong with one visitor's connection. None of these ends the tunnel. */
export interface ConnectionProblem {
  readonly code:
    /** nothing answers on the local port: the visitor got a page that says so */
    | 'local-refused'
    /** the visitor left before its data socket was open */
    | 'visitor-gone'
    /** the relay refused the data socket for another reason */
    | 'data-refused'
    /** the relay could not be reached for the data socket */
    | 'data-failed'
    /** more visitors at once than {@link CONNECTIONS_MAX} */
    | 'too-many-connections';
  /** for people */
  readonly text: string;
}

/** Opens data sockets; {@link DataDialer} is the real one. */
export interface DataSource {
  open(connectionId: string, handler: DataHandler): Attempt;
}

export interface ConnectionsOptions {
  readonly data: DataSource;
  readonly local: LocalDialer;
  readonly deadlines: Deadlines;
  /** what stands between the data sockets and their visitors, from the socket on; by default nothing */
  readonly filters?: readonly FilterMaker[];
  readonly onProblem: (problem: ConnectionProblem) => void;
}

/** Serves visitors until {@link Connections.cut}. */
export class Connections {
  readonly #data: DataSource;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #pool: LocalPool;
  readonly #context: VisitorContext;
  readonly #visitors = new Set<Visitor>();

  constructor({ data, local, deadlines, filters = [], onProblem }: ConnectionsOptions) {
    this.#data = data;
    this.#onProblem = onProblem;
    this.#pool = new LocalPool(deadlines);
    this.#context = {
      local,
      deadlines,
      pool: this.#pool,
      filters,
      onLocalRefused: (error) =>
        onProblem({ code: 'local-refused', text: localRefusedText(local.target, error) }),
      onDataFailed: (error) => onProblem(dataProblem(error)),
      onEnd: (visitor) => this.#visitors.delete(visitor),
    };
  }

  /** Connections that are being opened or are open. */
  get size(): number {
    return this.#visitors.size;
  }

  /** Local connections that wait for another request. */
  get idle(): number {
    return this.#pool.size;
  }

  /** Serves the pending connection of that id. */
  accept(id: string): void {
    this.#admit()?.announced((handler) => this.#data.open(id, handler));
  }

  /** Serves the visitor who has come over a data socket that is open already, with its first bytes. */
  acceptStream(stream: DataStream, first: Buffer): void {
    const visitor = this.#admit();
    if (visitor === undefined) stream.close(CloseCode.internalError);
    else visitor.arrived(stream, first);
  }

  /** Closes the local connections that nobody uses. */
  closeIdle(): void {
    this.#pool.clear();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const visitor of this.#visitors) visitor.cancel();
    this.closeIdle();
  }

  #admit(): Visitor | undefined {
    if (this.#visitors.size < CONNECTIONS_MAX) {
      const visitor = new Visitor(this.#context);
      this.#visitors.add(visitor);
      return visitor;
    }
    const text = `More than ${CONNECTIONS_MAX} connections at once: a visitor was turned away.`;
    this.#onProblem({ code: 'too-many-connections', text });
    return undefined;
  }
}

function localRefusedText(target: LocalTarget, error: NodeJS.ErrnoException): string {
  const where = describeTarget(target);
  if (target.https && error.code !== 'ECONNREFUSED' && error.code !== 'ETIMEDOUT')
    return `No HTTPS connection to ${where}: ${describeNetworkError(error)}. The tunnel stays up.`;
  return `Nothing answers on ${where}. Start the service there; the tunnel stays up.`;
}

function dataProblem(error: RelayRefusal | RelayUnreachable): ConnectionProblem {
  const { message } = error;
  if (!(error instanceof RelayRefusal))
    return { code: 'data-failed', text: `A visitor was lost: ${message}` };
  if (error.status === 404)
    return { code: 'visitor-gone', text: 'A visitor left before the connection was open.' };
  return { code: 'data-refused', text: `A visitor was lost: ${message}` };
}
