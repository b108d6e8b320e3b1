/** Follows a message body through the bytes that carry it, to know where it ends, without copying it. */

/** Thrown for a body that breaks its own framing; nothing after it on the connection may be read. */
export class BodyError extends Error {}

export interface BodyTracker {
  /** Whether the body is complete. */
  readonly done: boolean;
  /**
   * Takes the next bytes.
   *
   * @param start where in the chunk the body goes on
   * @returns one past the last byte that belongs to the body
   * @throws BodyError
   */
  advance(chunk: Buffer, start: number): number;
}
