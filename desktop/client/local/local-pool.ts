import type { Deadlines, Expiring } from '../clock.ts';
import { LOCAL_IDLE_MAX, LOCAL_IDLE_MS } from '../limits.ts';
import type { Attempt } from '../network/dial.ts';
import type { LocalConnection, LocalHandler } from './local-service.ts';

/** The idle local connections of one tunnel, which wait for another request. */
export class LocalPool {
  readonly #deadlines: Deadlines;
  /** oldest first */
  readonly #idle: IdleConnection[] = [];

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get size(): number {
    return this.#idle.length;
  }

  /** Keeps a connection for at most {@link LOCAL_IDLE_MS}, or closes it if it cannot be kept. */
  put(local: LocalConnection): void {
    if (!local.isOpen || !local.isQuiet || this.#idle.length >= LOCAL_IDLE_MAX) {
      local.destroy();
      return;
    }
    const idle = new IdleConnection(local, this);
    this.#idle.push(idle);
    this.#deadlines.add(idle, LOCAL_IDLE_MS);
    local.attach(idle);
  }

  /** Hands out the connection that was used last: its service will keep it open longest. */
  take(): LocalConnection | undefined {
    for (let idle = this.#idle.at(-1); idle !== undefined; idle = this.#idle.at(-1)) {
      // Data that has arrived and waits for its turn belongs to no request.
      if (!idle.local.isQuiet) {
        this.drop(idle);
        continue;
      }
      this.#idle.pop();
      this.#deadlines.delete(idle);
      return idle.local;
    }
    return undefined;
  }

  /** Closes a connection that must not be reused, or forgets one that has closed. */
  drop(idle: IdleConnection): void {
    const at = this.#idle.indexOf(idle);
    if (at === -1) return;
    this.#idle.splice(at, 1);
    this.#deadlines.delete(idle);
    idle.local.destroy();
  }

  /** Closes all connections. */
  clear(): void {
    for (let idle = this.#idle.at(-1); idle !== undefined; idle = this.#idle.at(-1)) this.drop(idle);
  }
}

/** Any event on an idle connection means that it can no longer be reused. */
class IdleConnection implements LocalHandler, Expiring {
  readonly local: LocalConnection;
  readonly #pool: LocalPool;

  constructor(local: LocalConnection, pool: LocalPool) {
    this.local = local;
    this.#pool = pool;
  }

  onLocalData(): void {
    this.#pool.drop(this);
  }

  onLocalDrain(): void {}

  onLocalEnd(): void {
    this.#pool.drop(this);
  }

  onLocalClose(): void {
    this.#pool.drop(this);
  }

  expire(): void {
    this.#pool.drop(this);
  }
}

/** Called once with the outcome of a request over a reused connection, never before it has been sent. */
export interface ReuseHandler {
  /** @param first bytes of the response; the new holder must attach to the connection before it returns */
  answered(local: LocalConnection, first: Buffer): void;
  /** The service had closed the connection: the request may be sent again over another one. */
  unanswered(): void;
}

/**
 * Sends a request over a reused connection.
 *
 * @param request the complete request, of a kind that may be sent twice
 */
export function reuse(local: LocalConnection, request: Buffer, handler: ReuseHandler): Attempt {
  const attempt = new ReuseAttempt(local, handler);
  local.attach(attempt);
  local.write(request);
  return attempt;
}

/** A request on a reused connection, until the first byte of its response. */
class ReuseAttempt implements Attempt, LocalHandler {
  readonly #local: LocalConnection;
  readonly #handler: ReuseHandler;
  #isOver = false;

  constructor(local: LocalConnection, handler: ReuseHandler) {
    this.#local = local;
    this.#handler = handler;
  }

  onLocalData(chunk: Buffer): void {
    // Some servers send a 408 when they close an idle connection (RFC 9110 section 15.5.9), which is not a response to
    // this request.
    if (chunk.toString('latin1', 9, 12) === '408') return this.#giveUp();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.answered(this.#local, chunk);
  }

  onLocalDrain(): void {}

  onLocalEnd(): void {
    this.#giveUp();
  }

  onLocalClose(): void {
    this.#giveUp();
  }

  cancel(): void {
    this.#isOver = true;
    this.#local.destroy();
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.cancel();
    this.#handler.unanswered();
  }
}
