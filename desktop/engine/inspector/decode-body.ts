import { brotliDecompressSync, constants, gunzipSync, inflateSync } from 'node:zlib';
import { DECODED_BODY_MAX_BYTES } from '../limits.ts';
import type { RecordedMessage } from './records.ts';

/** What happened to a body's content codings. */
export interface DecodedBody {
  readonly bytes: Uint8Array;
  /** codings that are still applied: unknown ones, or those of a body that does not decode */
  readonly codings: readonly string[];
}

/**
 * The body without its content coding (RFC 9110 section 8.4), for showing: as far as it was recorded, and at most
 * {@link DECODED_BODY_MAX_BYTES} of it. One that decodes to more is left as it is.
 */
export function decodeBody({ fields, body }: RecordedMessage): DecodedBody {
  const codings = fields
    .filter(([name]) => name.toLowerCase() === 'content-encoding')
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  let bytes = body;
  for (;;) {
    const coding = codings.at(-1);
    const decoded = coding === undefined ? undefined : decode(bytes, coding);
    if (decoded === undefined) return { bytes, codings };
    bytes = decoded;
    codings.pop();
  }
}

function decode(bytes: Uint8Array, coding: string): Uint8Array | undefined {
  const maxOutputLength = DECODED_BODY_MAX_BYTES;
  // What was recorded may end early.
  const flush = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength };
  try {
    switch (coding) {
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, flush);
      case 'deflate':
        return inflateSync(bytes, flush);
      case 'br':
        return brotliDecompressSync(bytes, {
          finishFlush: constants.BROTLI_OPERATION_FLUSH,
          maxOutputLength,
        });
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}
