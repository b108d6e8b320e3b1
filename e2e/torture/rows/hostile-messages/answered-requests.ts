/** Which requests have come on a connection to a hostile service, and whether anything unasked was sent on it. */
interface Connection {
  readonly requests: Set<number>;
  isOutOfStep: boolean;
}

/**
 * What a hostile service was asked on which connection. Once it has sent a response that nobody asked for, that may be taken
 * for the one to the next request on this connection, the next request's for the one after that, and so on. Proxies send the
 * requests of several visitors on one connection, so it may happen to them without a tunnel, too.
 */
export class AnsweredRequests {
  readonly #connections = new Map<object, Connection>();

  /** A request has come. */
  asked(connection: object, number: number): void {
    this.#of(connection).requests.add(number);
  }

  /** Something was sent on a connection, after a response to the last request on it. */
  sentUnasked(connection: object): void {
    this.#of(connection).isOutOfStep = true;
  }

  /** Whether a request has come, and only on connections on which nothing unasked was sent. */
  isInStep(number: number): boolean {
    const connections = this.#with(number);
    return connections.length > 0 && !connections.some(({ isOutOfStep }) => isOutOfStep);
  }

  /**
   * Whether the service itself may have made somebody take the response to one request for that to another.
   *
   * @param other the number of the request that has got it; it need not have come to the service yet
   */
  mayStray(number: number, other: number): boolean {
    const ofOther = this.#with(other);
    return this.#with(number).some(
      (connection) => connection.isOutOfStep && (ofOther.length === 0 || ofOther.includes(connection)),
    );
  }

  #of(connection: object): Connection {
    const known = this.#connections.get(connection) ?? { requests: new Set(), isOutOfStep: false };
    this.#connections.set(connection, known);
    return known;
  }

  #with(number: number): Connection[] {
    return [...this.#connections.values()].filter(({ requests }) => requests.has(number));
  }
}
