/**
 * Opens the data sockets of announced visitors, and tries again while their ids are good: a balancer or a relay that is
 * being restarted refuses some that the next one takes, and a refused attempt uses no id up (docs/protocol.md section 6.1).
 */
import { PENDING_TIMEOUT_MS } from '../../../shared/control.ts';
import type { Deadlines, Expiring } from '../deadlines.ts';
import { DATA_RETRY_MS } from '../limits.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal, type RelayUnreachable } from '../relay/errors.ts';
import type { DataHandler, DataSource, DataSocket } from './data-socket.ts';

export class RetriedData implements DataSource {
  readonly #source: DataSource;
  readonly #deadlines: Deadlines;

  constructor(source: DataSource, deadlines: Deadlines) {
    this.#source = source;
    this.#deadlines = deadlines;
  }

  open(connectionId: string, handler: DataHandler): Attempt {
    return new RetriedAttempt(this.#source, connectionId, this.#deadlines, handler);
  }
}

class RetriedAttempt implements Attempt, DataHandler, Expiring {
  readonly #source: DataSource;
  readonly #id: string;
  readonly #deadlines: Deadlines;
  readonly #handler: DataHandler;
  readonly #since: number;
  #attempt: Attempt;

  constructor(source: DataSource, id: string, deadlines: Deadlines, handler: DataHandler) {
    this.#source = source;
    this.#id = id;
    this.#deadlines = deadlines;
    this.#handler = handler;
    this.#since = deadlines.now();
    this.#attempt = source.open(id, this);
  }

  opened(stream: DataSocket): void {
    this.#handler.opened(stream);
  }

  failed(error: RelayRefusal | RelayUnreachable): void {
    const isInTime = this.#deadlines.now() - this.#since + DATA_RETRY_MS < PENDING_TIMEOUT_MS;
    if (isInTime && mayPass(error)) this.#deadlines.add(this, DATA_RETRY_MS);
    else this.#handler.failed(error);
  }

  /** It is time for another try. */
  expire(): void {
    this.#attempt = this.#source.open(this.#id, this);
  }

  cancel(): void {
    this.#deadlines.delete(this);
    this.#attempt.cancel();
  }
}

/** Whether the next try may have another answer: the relay has not said anything about the visitor. */
function mayPass(error: RelayRefusal | RelayUnreachable): boolean {
  return !(error instanceof RelayRefusal) || error.status === 429 || error.status >= 500;
}
