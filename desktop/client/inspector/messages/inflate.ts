/** Compressed messages of a WebSocket (permessage-deflate, RFC 7692), decompressed to show them. */
import { constants, inflateRawSync } from 'node:zlib';
import { DECODED_BODY_MAX_BYTES } from '../decode-body.ts';

/**
 * Number of decompressed bytes of WebSocket messages per second and tunnel: decompressing them takes a few per
 * cent of a processor core, no matter what visitors send.
 */
export const INFLATED_BYTES_PER_SECOND = 8 * 1024 * 1024;
/** What a message counts for at least, because a smaller one takes as long. */
const MESSAGE_MIN_BYTES = 256;

/** How the messages of a WebSocket are compressed. */
export interface Compression {
  /** whether messages of the visitor refer to earlier ones */
  readonly visitorKeepsContext: boolean;
  /** the same for messages of the service */
  readonly serviceKeepsContext: boolean;
}

/**
 * Reads the extensions that a service has accepted (RFC 7692 section 7.1).
 *
 * @param value of `Sec-WebSocket-Extensions`, `''` without one
 * @returns `undefined` without compression; `'unknown'` with other extensions, whose frames cannot be read
 */
export function compressionOf(value: string): Compression | 'unknown' | undefined {
  const extensions = value
    .split(',')
    .map((extension) => extension.trim().toLowerCase())
    .filter((extension) => extension !== '');
  const [first, ...others] = extensions;
  if (first === undefined) return undefined;
  const [name, ...parameters] = first.split(';').map((part) => part.trim());
  if (name !== 'permessage-deflate' || others.length > 0) return 'unknown';
  return {
    visitorKeepsContext: !parameters.includes('client_no_context_takeover'),
    serviceKeepsContext: !parameters.includes('server_no_context_takeover'),
  };
}

/**
 * Limits the decompressed bytes of a tunnel per second, because a visitor can make a few bytes decompress to a
 * thousand times as many.
 */
export class InflateBudget {
  readonly #now: () => number;
  #left = INFLATED_BYTES_PER_SECOND;
  #at: number;

  /** @param now monotonic ms */
  constructor(now: () => number) {
    this.#now = now;
    this.#at = now();
  }

  /** Bytes that may be decompressed now. */
  get left(): number {
    const now = this.#now();
    this.#left = Math.min(
      INFLATED_BYTES_PER_SECOND,
      this.#left + ((now - this.#at) * INFLATED_BYTES_PER_SECOND) / 1000,
    );
    this.#at = now;
    return this.#left;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }
}

/** Largest distance that deflate refers back (RFC 1951 section 3.2.5). */
const WINDOW_BYTES = 32 * 1024;
/** The end of a message, which its sender leaves out (RFC 7692 section 7.2.1). */
const TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff]);

/** Decompresses the messages of one direction in their order. */
export class Inflater {
  readonly #keepsContext: boolean;
  readonly #budget: InflateBudget;
  /** the last decompressed bytes, which later messages may refer to; `undefined` once they are unknown */
  #window: Buffer | undefined = Buffer.alloc(0);

  constructor(keepsContext: boolean, budget: InflateBudget) {
    this.#keepsContext = keepsContext;
    this.#budget = budget;
  }

  /** Memory used for the context. */
  get memory(): number {
    return this.#window?.length ?? 0;
  }

  /** Whether there is enough budget for any message. */
  get isReady(): boolean {
    return this.#budget.left >= DECODED_BODY_MAX_BYTES;
  }

  /**
   * Decompresses messages that follow each other.
   *
   * @param isWhole whether all of their bytes are known
   * @returns `undefined` if that cannot be done; later messages that depend on these cannot be read either
   */
  inflate(messages: readonly Buffer[], isWhole: boolean): Buffer | undefined {
    const dictionary = this.#window;
    const inflated = isWhole && dictionary !== undefined ? this.#inflate(messages, dictionary) : undefined;
    if (!this.#keepsContext) return inflated;
    // A copy, because a view would keep all of a large message in memory.
    this.#window =
      inflated &&
      Buffer.from(Buffer.concat([dictionary ?? Buffer.alloc(0), inflated]).subarray(-WINDOW_BYTES));
    return inflated;
  }

  /** Takes messages that nobody will see, because later ones may refer to them. */
  skip(messages: readonly Buffer[], isWhole: boolean): void {
    if (this.#keepsContext) this.inflate(messages, isWhole);
  }

  #inflate(messages: readonly Buffer[], dictionary: Buffer): Buffer | undefined {
    const maxOutputLength = Math.floor(Math.min(DECODED_BODY_MAX_BYTES, this.#budget.left));
    if (maxOutputLength < 1) return undefined;
    const compressed = Buffer.concat(messages.flatMap((message) => [message, TAIL]));
    try {
      const { buffer: inflated, engine } = inflateRawSync(compressed, {
        maxOutputLength,
        finishFlush: constants.Z_SYNC_FLUSH,
        info: true,
        ...(dictionary.length > 0 ? { dictionary } : {}),
      }) as unknown as { readonly buffer: Buffer; readonly engine: { readonly bytesWritten: number } };
      this.#budget.spend(Math.max(inflated.length, messages.length * MESSAGE_MIN_BYTES));
      // A sender may end its stream with a message, and what follows would have to be read by itself.
      return messages.length > 1 && engine.bytesWritten < compressed.length ? undefined : inflated;
    } catch {
      // How much was decompressed before that is not known.
      this.#budget.spend(maxOutputLength);
      return undefined;
    }
  }
}
