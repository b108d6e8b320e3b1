/** The seam between the path of visitors' bytes and whoever wants to see them. */

/** Told of every visitor's connection. Without one, nothing is spent on it. */
export interface Recorder {
  /**
   * A visitor's first bytes are about to come.
   *
   * @param waitedMs ms from the visitor's announcement until its data socket was open; 0 where it came through one that was
   */
  open(waitedMs: number): Recording;
}

/**
 * What one visitor's connection and the local service say to each other, piece by piece as it passes; an answer that
 * Culvert gives in place of the service counts as the service's. The bytes belong to others: what is kept is copied
 * before the call returns.
 */
export interface Recording {
  /** There is a local connection for what comes from now on; once more where another takes its place. */
  connected(): void;
  toLocal(bytes: Buffer): void;
  toVisitor(bytes: Buffer): void;
  /**
   * Nothing follows. Called once.
   *
   * @param isBroken the connection did not end as its two sides meant it to
   */
  end(isBroken: boolean): void;
}
