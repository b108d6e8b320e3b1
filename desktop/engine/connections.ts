/** The visitors' connections of one tunnel. */
import { CloseCode } from '../../shared/control.ts';
import { bridge, type DataStream } from './bridge.ts';
import type { Clock } from './clock.ts';
import { RelayRefusal } from './errors.ts';
import { CONNECTIONS_MAX } from './limits.ts';
import type { LocalDialer } from './local-dialer.ts';
import { answerLocalRefused } from './local-refused.ts';

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
  open(connectionId: string, signal: AbortSignal): Promise<DataStream>;
}

export interface ConnectionsOptions {
  readonly data: DataSource;
  readonly local: LocalDialer;
  readonly clock: Clock;
  readonly onProblem: (problem: ConnectionProblem) => void;
}

/** Serves pending connections until {@link Connections.cut}. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Set<AbortController>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Connections that are being opened or are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Serves the pending connection of that id. */
  accept(id: string): void {
    const connection = new AbortController();
    if (!this.#admit(connection)) return;
    const { data } = this.#options;
    void this.#serve(() => data.open(id, connection.signal), connection);
  }

  /**
   * Serves the visitor who has come over a data socket that is open already.
   *
   * @param connection cuts the data socket when aborted
   */
  acceptStream(stream: DataStream, connection: AbortController): void {
    if (this.#admit(connection)) void this.#serve(() => Promise.resolve(stream), connection);
    else stream.close(CloseCode.internalError);
  }

  /** Cuts all connections. */
  cut(): void {
    for (const connection of this.#open) connection.abort();
  }

  #admit(connection: AbortController): boolean {
    if (this.#open.size < CONNECTIONS_MAX) {
      this.#open.add(connection);
      return true;
    }
    const text = `More than ${CONNECTIONS_MAX} connections at once: a visitor was turned away.`;
    this.#options.onProblem({ code: 'too-many-connections', text });
    return false;
  }

  async #serve(open: () => Promise<DataStream>, connection: AbortController): Promise<void> {
    const { local, clock, onProblem } = this.#options;
    const { signal } = connection;
    const onEnd = (): void => void this.#open.delete(connection);
    // Both at once: over a network the data socket takes three round trips, and the local one hides behind them.
    const [stream, socket] = await Promise.allSettled([open(), local.connect(signal)]);
    if (stream.status === 'rejected') {
      if (socket.status === 'fulfilled') socket.value.destroy();
      if (!signal.aborted) onProblem(dataProblem(stream.reason));
      onEnd();
    } else if (socket.status === 'rejected') {
      if (!signal.aborted) onProblem({ code: 'local-refused', text: localRefusedText(local.port) });
      answerLocalRefused(stream.value, local.port, clock, onEnd);
    } else {
      bridge(stream.value, socket.value, clock, onEnd);
    }
  }
}

function localRefusedText(port: number): string {
  return `Nothing answers on port ${port}. Start the service there; the tunnel stays up.`;
}

function dataProblem(error: unknown): ConnectionProblem {
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RelayRefusal)) return { code: 'data-failed', text: `A visitor was lost: ${text}` };
  if (error.status === 404)
    return { code: 'visitor-gone', text: 'A visitor left before the connection was open.' };
  return { code: 'data-refused', text: `A visitor was lost: ${text}` };
}
