/**
 * Counters of this process since its start, as plain numbers. Code on a visitor's path adds to them directly: one
 * addition, no label lookup, whether or not anything reads them. `/metrics` reads them on request (metrics.ts). There
 * is one set for the process, as for its memory and its event loop; tests compare before and after.
 */
import { ALL_API_ERRORS, type ApiError, VISITOR_ERRORS, type VisitorErrorCode } from '../../shared/errors.ts';

/** Counts values by size, as a histogram of Prometheus does, at the cost of a few comparisons. */
export class Distribution {
  /** upper bounds, ascending */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  add(value: number): void {
    this.#count += 1;
    this.#sum += value;
    const { bounds } = this;
    for (let bucket = 0; bucket < bounds.length; bucket += 1) {
      if (value > (bounds[bucket] ?? Infinity)) continue;
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
      return;
    }
  }

  /** @returns for each bound the number of values not above it */
  cumulative(): number[] {
    let total = 0;
    return this.#counts.map((count) => (total += count));
  }
}

/** How requests have ended; each ends in exactly one way. */
export interface RequestCounts {
  /** The response reached its end. */
  answered: number;
  /** The connection became a WebSocket. */
  upgraded: number;
  /** The relay responded instead of the target; {@link refusals} says why. */
  refused: number;
  /** The response broke off, and the visitor's connection with it. */
  broken: number;
  /** The visitor left before its response was complete, or stalled and was cut. */
  abandoned: number;
}

function noRequestCounts(): RequestCounts {
  return { answered: 0, upgraded: 0, refused: 0, broken: 0, abandoned: 0 };
}

/** Requests by upstream. */
export const requests = {
  tunnel: noRequestCounts(),
  /** the API and the WebSocket endpoints */
  relay: noRequestCounts(),
  /** refused before the upstream was known */
  nowhere: noRequestCounts(),
};

/** Lines of the access log. */
export const accessLines = {
  /** lines lost because the disk was too slow or too full */
  dropped: 0,
};

export const traffic = {
  /** connections accepted */
  connections: 0,
  /** bytes from visitors sent to clients */
  bytesIn: 0,
  /** bytes from clients sent to visitors */
  bytesOut: 0,
  /**
   * data sockets opened by clients: announced ones, those opened in advance, and those that streams of trunks move to
   */
  dataSockets: 0,
  /** visitors served through trunks */
  trunkStreams: 0,
};

/** Large streams of trunks whose client was asked to continue on a data socket, by result. */
export const moves = {
  /** the data socket was opened */
  moved: 0,
  /** it was not opened in time */
  timeout: 0,
};

/** ACME orders, by result. */
export const certificateOrders = {
  issued: 0,
  /** the authority has refused, or found no proof */
  failed: 0,
  /** the authority could not be used */
  authority: 0,
  /** the hourly limit was reached */
  limited: 0,
};

/** Queries to the relay's DNS port, by result. */
export const dnsQuestions = {
  /** with authority: records, or that there are none */
  answered: 0,
  /** not about the names of challenges, or unsupported */
  refused: 0,
  /** the store could not be read */
  failed: 0,
  /** too many from one network: redirected to TCP */
  truncated: 0,
  /** no response: too many from one network or in all, or not a valid query */
  dropped: 0,
};

/** Responses of the relay itself to visitors, by `Culvert-Error` code. */
export const refusals = Object.fromEntries(Object.keys(VISITOR_ERRORS).map((code) => [code, 0])) as Record<
  VisitorErrorCode,
  number
>;

/**
 * Seconds from when a visitor needs a stream to its data socket. A client on the same continent takes about 10 ms; one
 * that reconnects in time takes up to 10 s.
 */
export const rendezvousWait = new Distribution([
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]);

/** Responses of the API by status, method and route, such as `201 POST /v1/tunnels`. */
export const apiAnswers = new Map<string, number>();

/** Requests refused by the API and the WebSocket endpoints, by the code of the error. */
export const apiRefusals = new Map<string, number>();

for (const { code } of ALL_API_ERRORS) apiRefusals.set(code, 0);

export function countApiRefusal(error: ApiError): void {
  increment(apiRefusals, error.body.code);
}

/** Adds one to the value of a key in a map. */
export function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Durations and failures of one operation of the store. */
interface StoreOperation {
  /** seconds, including the wait in the queue */
  readonly seconds: Distribution;
  failures: number;
}

/** By name, such as `insertTunnel`. */
export const storeOperations = new Map<string, StoreOperation>();

/** From the duration of a query of cached pages to the longest wait for a locked file. */
const STORE_BOUNDS = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** @param seconds duration; `failed`: the database failed, as opposed to a violated constraint */
export function countStoreOperation(name: string, seconds: number, failed: boolean): void {
  let operation = storeOperations.get(name);
  if (operation === undefined) {
    operation = { seconds: new Distribution(STORE_BOUNDS), failures: 0 };
    storeOperations.set(name, operation);
  }
  operation.seconds.add(seconds);
  if (failed) operation.failures += 1;
}

/** Gauges: current numbers of everything. */

/** The clients of all tunnels. */
export interface ClientGauges {
  /** tunnels with a control socket */
  readonly online: number;
  /** data sockets and streams of trunks in use */
  readonly streams: number;
  /** trunks that accept visitors */
  readonly trunks: number;
  /** streams on trunks */
  readonly trunkStreams: number;
  /** inbound connections that wait for a data socket */
  readonly pending: number;
}

/** Certificates that the relay has ordered itself, or that are in files. */
interface CertificateGauges {
  readonly stored: number;
  /** handshakes that wait for one */
  readonly waiting: number;
  /** of the relay's own name; `undefined` if it does not serve TLS */
  readonly ownSecondsLeft: number | undefined;
}

/** Computed on request. */
export interface Gauges {
  readonly tunnels: () => number;
  readonly links: () => ClientGauges;
  readonly visitors: () => number;
  readonly certificates: () => CertificateGauges;
}
