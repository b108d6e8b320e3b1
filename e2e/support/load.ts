/** Visitors that send requests all the time, and record for each whether it was in flight at a given moment. */
import { setTimeout as delay } from 'node:timers/promises';
import { formatRequest, RawConnection, type Request, type Response } from './raw-http.ts';
import { Scope } from './scope.ts';

/** One request and its outcome. */
export interface Asked {
  /** `undefined` if there was no connection to send it on. */
  readonly request: Request | undefined;
  /** `performance.now()` when it was sent, or when the connection was tried. */
  readonly at: number;
  /** ms until its outcome */
  readonly ms: number;
  /** Whether its connection was open, as far as its visitor could see, when {@link Load.mark} was called. */
  readonly inFlight: boolean;
  /** The whole response, or the reason why there is none. */
  readonly outcome: Response | Error;
}

/**
 * A steady number of requests a second. Half of the visitors keep their connection as long as its responses allow, the
 * others open one for each request.
 */
export class Load {
  readonly asked: Asked[] = [];
  /** called for each whole response */
  onResponse: () => void = () => {};
  readonly #open: (scope: Scope) => Promise<RawConnection>;
  readonly #request: () => Request;
  readonly #visitors: Promise<void>[];
  #marked = false;
  #over = false;

  /**
   * @param to a port of this machine, or a function that opens a connection
   * @param perSecond requests a second, of all visitors
   * @param request creates the next request
   */
  constructor(
    to: number | ((scope: Scope) => Promise<RawConnection>),
    perSecond: number,
    visitors: number,
    request: () => Request,
  ) {
    this.#open = typeof to === 'number' ? (scope) => RawConnection.open(scope, to) : to;
    this.#request = request;
    const pauseMs = (1000 * visitors) / perSecond;
    this.#visitors = Array.from({ length: visitors }, (_, index) => this.#visit(index % 2 === 0, pauseMs));
  }

  /** The moment after which a new connection counts as not in flight. */
  mark(): void {
    this.#marked = true;
  }

  /** Lets every visitor finish its last request. */
  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#visitors);
  }

  async #visit(keeps: boolean, pauseMs: number): Promise<void> {
    const start = performance.now();
    await delay(Math.random() * pauseMs);
    for (let turn = 1; !this.#over; turn += 1) {
      const scope = new Scope();
      const at = performance.now();
      try {
        const connection = await this.#open(scope);
        const inFlight = !this.#marked;
        let again = true;
        while (again) {
          again = (await this.#ask(connection, inFlight)) && keeps && !this.#over;
          if (again) await delay(Math.max(0, start + turn * pauseMs - performance.now()));
          if (again) turn += 1;
        }
      } catch (error) {
        this.#note({ request: undefined, at, inFlight: false, outcome: error as Error });
      } finally {
        await scope.end();
      }
      await delay(Math.max(1, start + turn * pauseMs - performance.now()));
    }
  }

  /** @returns whether the connection can carry another request */
  async #ask(connection: RawConnection, inFlight: boolean): Promise<boolean> {
    const request = this.#request();
    const at = performance.now();
    try {
      await connection.write(formatRequest(request));
      const outcome = await connection.response(request.method);
      this.#note({ request, at, inFlight, outcome });
      this.onResponse();
      return outcome.head.field('connection') !== 'close';
    } catch (error) {
      this.#note({ request, at, inFlight, outcome: error as Error });
      return false;
    }
  }
  #note(asked: Omit<Asked, 'ms'>): void {
    this.asked.push({ ...asked, ms: performance.now() - asked.at });
  }
}

/**
 * How late a busy machine was: a relay that waits for the processor is also late to store.
 *
 * @param before `performance.now()`
 * @returns ms of the slowest response in the preceding three seconds
 */
export function latenessOf(asked: readonly Asked[], before: number): number {
  const late = asked.filter(
    ({ at, ms, outcome }) => !(outcome instanceof Error) && at + ms < before && at + ms > before - 3000,
  );
  return Math.max(0, ...late.map(({ ms }) => ms));
}
