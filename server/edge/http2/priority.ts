/** Which responses of a connection are sent first (RFC 9218). Those of the same urgency take turns, incremental or not. */
import { ConnectionError, FRAME_MAX, FRAME_SIZE_ERROR, PROTOCOL_ERROR, WINDOW_MAX } from './frames.ts';

const URGENCIES = 8;
const DEFAULT_URGENCY = 3;
/** Three frames of four are the most urgent ones. */
const URGENT_BYTES = 3 * FRAME_MAX;
/** Streams that the visitor has not opened, whose urgency is remembered: as many as it may open. */
const EARLY_MAX = 100;

/** A member of a dictionary of structured fields (RFC 9651 section 3.2), and what decides of it. */
const URGENCY = /^[ \t]*u=([0-7])[ \t]*(?:;.*)?$/;
/** Real values have two members. */
export const PRIORITY_MAX_LENGTH = 100;

/** The urgency that a `priority` field asks for: from 0, which comes first, to 7. */
export function urgencyOf(value: string): number {
  let urgency = DEFAULT_URGENCY;
  if (value.length > PRIORITY_MAX_LENGTH) return urgency;
  for (const member of value.split(',')) urgency = Number(URGENCY.exec(member)?.[1] ?? urgency);
  return urgency;
}

/** Reads PRIORITY_UPDATE (RFC 9218 section 7.1). @throws ConnectionError */
export function priorityUpdate(
  stream: number,
  payload: Buffer,
): { readonly id: number; readonly urgency: number } {
  if (stream !== 0) throw new ConnectionError(PROTOCOL_ERROR, 'PRIORITY_UPDATE of a stream');
  if (payload.length < 4) throw new ConnectionError(FRAME_SIZE_ERROR, 'a short PRIORITY_UPDATE');
  const id = payload.readUInt32BE() & WINDOW_MAX;
  if (id % 2 === 0)
    throw new ConnectionError(PROTOCOL_ERROR, 'PRIORITY_UPDATE of a stream that no visitor opens');
  return { id, urgency: urgencyOf(payload.toString('latin1', 4)) };
}

/** The urgencies of streams that the visitor has not opened yet. */
export class EarlyUrgencies {
  readonly #byStream = new Map<number, number>();

  set(id: number, urgency: number): void {
    if (this.#byStream.size < EARLY_MAX || this.#byStream.has(id)) this.#byStream.set(id, urgency);
  }

  /** The stream is opened, and with it all before it. */
  take(id: number): number | undefined {
    const urgency = this.#byStream.get(id);
    if (this.#byStream.size > 0)
      for (const each of this.#byStream.keys()) if (each <= id) this.#byStream.delete(each);
    return urgency;
  }
}

interface Sender {
  readonly urgency: number;
  /** Whether it has something to send that only its own window may hold up. */
  readonly hasOutput: boolean;
  /** Whether it cannot send anything while the connection may not carry content. */
  readonly needsWindow: boolean;
}

/** Streams with something to send. */
export class ReadyStreams<S extends Sender> {
  /** by urgency, in the order of their turns */
  readonly #levels: (Set<S> | undefined)[] = [];
  /** bytes that only urgency has decided about since all had their turn */
  #urgent = 0;
  /** the urgency that had that turn */
  #last = 0;

  get isEmpty(): boolean {
    return this.#levels.every((level) => level === undefined || level.size === 0);
  }

  add(stream: S): void {
    (this.#levels[stream.urgency] ??= new Set()).add(stream);
  }

  /** @returns whether it was there */
  delete(stream: S): boolean {
    return this.#levels[stream.urgency]?.delete(stream) === true;
  }

  /**
   * Takes the stream whose turn it is: the most urgent, but after each {@link URGENT_BYTES} one of another urgency, so
   * that none waits for as long as there is something more urgent.
   *
   * @param hasWindow whether the connection may carry content
   */
  take(hasWindow: boolean): S | undefined {
    const isTurn = this.#urgent >= URGENT_BYTES;
    if (isTurn) this.#urgent = 0;
    for (let count = 0; count < URGENCIES; count += 1) {
      if (isTurn) this.#last = (this.#last + 1) % URGENCIES;
      const stream = this.#first(this.#levels[isTurn ? this.#last : count], hasWindow);
      if (stream !== undefined) return stream;
    }
    return undefined;
  }

  /** A stream that was taken has sent content. */
  sent(bytes: number): void {
    this.#urgent += bytes;
  }

  #first(level: Set<S> | undefined, hasWindow: boolean): S | undefined {
    if (level === undefined) return undefined;
    for (const stream of level) {
      if (!hasWindow && stream.needsWindow) continue;
      level.delete(stream);
      if (stream.hasOutput) return stream;
    }
    return undefined;
  }
}
