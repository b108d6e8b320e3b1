/**
 * Data sockets offered to the relay ahead of need (contract.md, WebSockets): a visitor who gets one is served after one
 * round trip instead of three or four. How many there are follows demand.
 */
import type { DataStream } from './bridge.ts';
import type { Clock } from './clock.ts';
import { RelayRefusal } from './errors.ts';
import { WARM_INITIAL, WARM_KEEP_MS, WARM_MAX } from './limits.ts';
import { ReplayStream } from './replay-stream.ts';

export interface WarmSocketsOptions {
  readonly clock: Clock;
  /** Offers a data socket; aborting cuts it, then and later. */
  open(signal: AbortSignal): Promise<DataStream>;
  /** Serves the visitor who has come over one. */
  serve(stream: DataStream, connection: AbortController): void;
}

export class WarmSockets {
  readonly #options: WarmSocketsOptions;
  /** offered and unused, or being offered */
  readonly #idle = new Set<AbortController>();
  #wanted = 0;
  #isOffering = false;
  #lastVisitor = 0;

  constructor(options: WarmSocketsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#idle.size;
  }

  /** The tunnel is online: sockets are offered from now on. */
  start(): void {
    this.#isOffering = true;
    this.#wanted = WARM_INITIAL;
    this.#lastVisitor = this.#options.clock.now();
    this.#fill();
  }

  /** The tunnel is not online: what is unused is cut. */
  stop(): void {
    this.#isOffering = false;
    for (const connection of this.#idle) connection.abort();
    this.#idle.clear();
  }

  /** A visitor had to be announced, because there was no socket left for it. */
  missed(): void {
    this.#lastVisitor = this.#options.clock.now();
    this.#wanted = Math.min(WARM_MAX, this.#wanted + 1);
    this.#fill();
  }

  #fill(): void {
    while (this.#isOffering && this.#idle.size < this.#wanted) {
      const connection = new AbortController();
      this.#idle.add(connection);
      void this.#offer(connection);
    }
  }

  async #offer(connection: AbortController): Promise<void> {
    try {
      const stream = await this.#options.open(connection.signal);
      stream.attach({
        onData: (first) => this.#use(new ReplayStream(stream, first), connection),
        onDrain: () => {},
        onClose: () => this.#endUnused(connection),
      });
    } catch (error) {
      // A stop has forgotten it already.
      if (this.#idle.delete(connection)) this.#giveIn(error);
    }
  }

  #use(stream: DataStream, connection: AbortController): void {
    this.#idle.delete(connection);
    this.#lastVisitor = this.#options.clock.now();
    this.#options.serve(stream, connection);
    this.#fill();
  }

  /** The relay closes what nobody used: fewer are wanted, and after a long quiet none. */
  #endUnused(connection: AbortController): void {
    if (!this.#idle.delete(connection)) return;
    const isQuiet = this.#options.clock.now() - this.#lastVisitor > WARM_KEEP_MS;
    this.#wanted = Math.max(isQuiet ? 0 : 1, this.#wanted - 1);
    this.#fill();
  }

  /** No socket can be offered now; visitors are announced, and the next of them makes for another try. */
  #giveIn(error: unknown): void {
    this.#wanted = this.#idle.size;
    // The relay has no room, or knows no such sockets. The former passes, the latter until the next connection not.
    if (error instanceof RelayRefusal && error.status !== 429) this.#isOffering = false;
  }
}
