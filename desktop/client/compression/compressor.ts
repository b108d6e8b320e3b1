/**
 * Compresses one response in Node's thread pool, so that even a large one does not stall the event loop
 * (docs/decisions/0025-compression-by-the-client.md).
 */
import * as zlib from 'node:zlib';
import type { Clock, Timer } from '../clock.ts';
import type { Coding } from './heads.ts';

/**
 * Maximum number of responses that the client compresses at the same time, over all tunnels of the process;
 * others are sent uncompressed. Each uses up to 1.5 MB (docs/decisions/0025-compression-by-the-client.md).
 */
const COMPRESSORS_MAX = 64;
/**
 * Delay after which compressed data is flushed to the visitor. Including the time for compression, the data
 * arrives within 50 ms (protocol.md section 6.3). Flushing this often makes a download hardly larger.
 */
export const COMPRESSION_FLUSH_MS = 10;

interface Encoder {
  readonly create: () => zlib.BrotliCompress | zlib.Gzip;
  /** makes everything written so far readable, without an end */
  readonly flush: number;
}

const { constants } = zlib;
/** The function exists since Node 22.15. */
const { createZstdCompress } = zlib as Partial<typeof zlib>;

/** Levels for responses that are compressed once; docs/decisions/0025-compression-by-the-client.md has the measurements. */
const ENCODERS: Readonly<Record<Coding, Encoder | undefined>> = {
  br: {
    create: () =>
      zlib.createBrotliCompress({
        params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 },
      }),
    flush: constants.BROTLI_OPERATION_FLUSH,
  },
  zstd: createZstdCompress && {
    create: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 3 } }),
    flush: constants.ZSTD_e_flush,
  },
  gzip: { create: () => zlib.createGzip({ level: 5 }), flush: constants.Z_SYNC_FLUSH },
};

/** Whether this version of Node has the coding. */
export function hasCoding(coding: Coding): boolean {
  return ENCODERS[coding] !== undefined;
}

export interface CompressorHandler {
  /** @returns `false` if the compressor should pause until {@link Compressor.resume} */
  onCompressed(piece: Buffer): boolean;
  /** There is room again. Called only after a `write` that returned `false`, and not after `end`. */
  onRoom(): void;
  /** All compressed data was handed over. */
  onCompressedEnd(): void;
  /** It cannot continue. */
  onCompressorFailed(): void;
}

/** Flushes by itself, so that no data waits for more. After {@link Compressor.destroy}, the handler is not called. */
export class Compressor {
  readonly #stream: zlib.BrotliCompress | zlib.Gzip;
  readonly #flushKind: number;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #release: () => void;
  #timer: Timer | undefined;

  private constructor(
    { create, flush }: Encoder,
    handler: CompressorHandler,
    clock: Pick<Clock, 'setTimeout'>,
    release: () => void,
  ) {
    this.#flushKind = flush;
    this.#clock = clock;
    this.#release = release;
    const stream = create();
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => {
      if (!handler.onCompressed(piece)) stream.pause();
    });
    stream.on('drain', () => handler.onRoom());
    stream.on('end', () => {
      this.destroy();
      handler.onCompressedEnd();
    });
    stream.on('error', () => {
      this.destroy();
      handler.onCompressorFailed();
    });
  }

  /** @returns `undefined` if as many as allowed are at work, or there is no memory for another */
  static create(
    coding: Coding,
    handler: CompressorHandler,
    clock: Pick<Clock, 'setTimeout'>,
    slots: CompressorSlots = COMPRESSOR_SLOTS,
  ): Compressor | undefined {
    const encoder = ENCODERS[coding];
    if (encoder === undefined) return undefined;
    const release = slots.take();
    if (release === undefined) return undefined;
    try {
      return new Compressor(encoder, handler, clock, release);
    } catch {
      // Memory is short, so the response passes uncompressed.
      release();
      return undefined;
    }
  }

  /**
   * @param piece must not be changed afterwards
   * @returns `false` if too much is queued: wait for `onRoom`
   */
  write(piece: Buffer): boolean {
    // Counted from the first piece, because later ones may keep coming in.
    this.#timer ??= this.#clock.setTimeout(() => this.flush(), COMPRESSION_FLUSH_MS);
    return this.#stream.write(piece);
  }

  /**
   * Hands over everything written so far.
   *
   * @param done called once all of it was compressed, and handed over unless the handler paused; may also be called
   *   after {@link destroy}
   */
  flush(done?: () => void): void {
    this.#stopTimer();
    this.#stream.flush(this.#flushKind, done);
  }

  /** Nothing more is written. */
  end(): void {
    this.#stopTimer();
    this.#stream.end();
  }

  resume(): void {
    this.#stream.resume();
  }

  destroy(): void {
    this.#stopTimer();
    this.#release();
    // What is still in the thread pool may fail.
    this.#stream.removeAllListeners().on('error', () => {});
    this.#stream.destroy();
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** Limits how many compressors exist. */
export class CompressorSlots {
  readonly #max: number;
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @returns frees the slot, once; `undefined` if none is free */
  take(): (() => void) | undefined {
    if (this.#taken >= this.#max) return undefined;
    this.#taken += 1;
    let isFree = false;
    return () => {
      if (!isFree) this.#taken -= 1;
      isFree = true;
    };
  }
}

/** Shared by the tunnels of this process. */
const COMPRESSOR_SLOTS = new CompressorSlots(COMPRESSORS_MAX);
