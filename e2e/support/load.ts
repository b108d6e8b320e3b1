/** Tunnels of one account, and what the relay has acknowledged about them. */
import { setTimeout as delay } from 'node:timers/promises';
import { CREATES_AN_ACCOUNT } from './accounts.ts';
import type { Api } from './api.ts';
import { formatRequest, RawConnection, type Request, type Response } from './raw-http.ts';
import { Scope } from './scope.ts';

export class Ledger {
  readonly api: Api;
  /** id to the `expires_at` that was acknowledged last */
  readonly open = new Map<string, string>();
  readonly closed = new Set<string>();
  /** tunnels whose last operation got no response */
  readonly unsure = new Set<string>();
  unansweredCreates = 0;

  constructor(api: Api) {
    this.api = api;
  }

  /**
   * Closes the tunnels that are left from before, and creates new ones.
   *
   * @throws Error when a request gets no response, or is refused
   */
  async work(onAcknowledged: () => void): Promise<void> {
    for (const id of this.open.keys()) await this.#close(id, onAcknowledged);
    for (let count = 0; count < CREATES_AN_ACCOUNT; count += 1) {
      this.unansweredCreates += 1;
      const { id, expires_at } = await this.api.create({ local_port: 1 });
      this.unansweredCreates -= 1;
      this.open.set(id, expires_at);
      onAcknowledged();
      if (count === 1) await this.#extend(id);
      if (count % 4 === 0) await this.#close(id, onAcknowledged);
    }
  }

  async #extend(id: string): Promise<void> {
    this.open.set(id, (await this.api.extend(id, { ttl: '2h' })).expires_at);
  }

  async #close(id: string, onAcknowledged: () => void): Promise<void> {
    this.unsure.add(id);
    await this.api.close(id);
    this.unsure.delete(id);
    this.open.delete(id);
    this.closed.add(id);
    onAcknowledged();
  }

  /** Compares with the state of a new relay, and continues from it. @returns what was acknowledged and has been lost */
  async settle(): Promise<string[]> {
    const lost: string[] = [];
    const found = new Map((await this.api.list()).map(({ id, expires_at }) => [id, expires_at]));
    for (const [id, expiresAt] of this.open) {
      const stored = found.get(id);
      if (stored === undefined && !this.unsure.has(id)) lost.push(`${id} was created`);
      // An extension that got no response may have been stored.
      if (stored !== undefined && stored < expiresAt) lost.push(`${id} was extended`);
    }
    for (const id of this.closed) if (found.has(id)) lost.push(`${id} was closed`);
    const unknown = [...found.keys()].filter((id) => !this.open.has(id));
    if (unknown.length > this.unansweredCreates) lost.push(`${unknown.join()} came from nowhere`);
    this.open.clear();
    for (const [id, expiresAt] of found) this.open.set(id, expiresAt);
    this.unsure.clear();
    this.unansweredCreates = 0;
    return lost;
  }
}

/* Counts a load's requests, and describes each failure. */

/**
 * The results of {@link Asked} requests to a service that always responds with this text.
 *
 * @returns `failed`: those that got no response, another status than 200, or another body than the service sends
 */
export function tallyOf(asked: readonly Asked[], expected: (request: Request) => string) {
  const failed = asked.filter(
    ({ request, outcome }) =>
      request === undefined ||
      outcome instanceof Error ||
      outcome.status !== 200 ||
      outcome.text !== expected(request),
  );
  return { sent: asked.length, good: asked.length - failed.length, failed };
}

/** A failure in a few words. `since` is the `performance.now()` that its times are relative to. */
export function describeFailure({ request, at, outcome }: Asked, since: number): string {
  const what = outcome instanceof Error ? outcome.message : `${outcome.status} ${outcome.text.slice(0, 120)}`;
  return `${request?.method ?? 'GET'} ${request?.target ?? '(no connection)'} at ${Math.round(at - since)} ms: ${what}`;
}

/* Visitors that send requests all the time, and record for each whether it was in flight at a given moment. */

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

const BODY = 'x'.repeat(20_000);

/** Requests with different targets. Every fourth one is a POST, every eighth one has a larger body. */
export function mixedRequests(host: string): () => Request {
  let next = 0;
  return () => {
    next += 1;
    const target = `/${next}`;
    if (next % 4 !== 0) return { host, target };
    return { host, method: 'POST', target, body: next % 8 === 0 ? BODY : 'x' };
  };
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
        let isClosed = false;
        void connection.ending.then(() => (isClosed = true));
        while (again) {
          again = (await this.#ask(connection, inFlight)) && keeps && !this.#over;
          if (again) await delay(Math.max(0, start + turn * pauseMs - performance.now()));
          // A visitor opens another connection instead of one that it saw being closed.
          if (isClosed) break;
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
