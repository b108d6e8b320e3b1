import {
  beginningOf,
  type DecodedBody,
  type DetailView,
  fieldValues,
  type MessageView,
  type RecordedMessage,
  type RequestDetail,
} from './records.ts';

/** Maximum size to which a compressed body is decompressed for display. */
export const DECODED_BODY_MAX_BYTES = 1024 * 1024;
/**
 * Maximum number of content encodings that are decoded to show one body; servers apply one. Each costs as much
 * as the largest body.
 */
export const DECODED_CODINGS_MAX = 4;

/** The largest window of a conforming zstd decoder (RFC 9659 section 3): 2^23 bytes are 8 MiB. */
const ZSTD_WINDOW_LOG_MAX = 23;

/**
 * Decodes the content coding of a body (RFC 9110 section 8.4) to show it, as far as it was recorded. A body that
 * decodes to more than {@link DECODED_BODY_MAX_BYTES}, or has more than {@link DECODED_CODINGS_MAX} codings, is left
 * unchanged.
 */
export function decodeBody(message: RecordedMessage): DecodedBody {
  const { body, isTruncated } = message;
  const codings = fieldValues(message, 'content-encoding')
    .flatMap((value) => value.toLowerCase().split(','))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const left = (problem: DecodedBody['problem']): DecodedBody => ({ bytes, removed, codings, problem });
  const removed: string[] = [];
  let bytes = body;
  if (codings.length > DECODED_CODINGS_MAX) return left('too-many');
  for (;;) {
    const coding = codings.at(-1);
    if (coding === undefined) return left(undefined);
    const decoder = decoders().get(coding);
    if (decoder === undefined) return left('unknown');
    try {
      const decoded = decoder(bytes);
      // The recorded part of a cut body may be too short to decode.
      if (decoded.length === 0 && bytes.length > 0 && isTruncated) return left('damaged');
      bytes = decoded;
    } catch (error) {
      return left((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too-large' : 'damaged');
    }
    codings.pop();
    removed.push(coding);
  }
}

/** Fewer recorded bytes are not worth another try. */
const BEGINNING_MIN_BYTES = 1024;

/** The same, but a body that decodes to too much is decoded as far as about half of the limit, or more. */
function decodeBeginning(message: RecordedMessage): DecodedBody {
  const whole = decodeBody(message);
  if (whole.problem !== 'too-large') return whole;
  const { body } = message;
  for (let size = body.length >> 1; size >= BEGINNING_MIN_BYTES; size >>= 1) {
    const decoded = decodeBody({ ...message, body: body.subarray(0, size), isTruncated: true });
    if (decoded.problem === undefined) return { ...decoded, isCut: true };
  }
  return whole;
}

/** A request as a window shows it: its bodies are decoded, up to {@link DECODED_BODY_MAX_BYTES}. */
export function detailView(detail: RequestDetail): DetailView {
  const { request, response } = detail;
  return { ...detail, request: messageView(request), response: response && messageView(response) };
}

function messageView(message: RecordedMessage): MessageView {
  const decoded = decodeBeginning(message);
  const shown = isPicture(message) ? message : beginningOf(message, DECODED_BODY_MAX_BYTES);
  if (decoded.removed.length + decoded.codings.length === 0) return shown;
  if (decoded.removed.length === 0) return { ...shown, decoded: { ...decoded, bytes: shown.body } };
  // A copy, because all of the memory behind a Uint8Array goes to the window.
  return { ...message, body: shown.body, decoded: { ...decoded, bytes: Uint8Array.from(decoded.bytes) } };
}

/** Part of a picture is no picture. */
function isPicture({ fields }: RecordedMessage): boolean {
  const type = fields.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
  return /^image\/(?!svg)/i.test(type);
}

type Decoder = (bytes: Uint8Array) => Uint8Array;

/** The low half of a zlib stream's first byte is the method, deflate (RFC 1950 section 2.2). */
const METHOD = 0x0f;
const DEFLATE = 8;

let loaded: ReadonlyMap<string, Decoder> | undefined;

/** Loads `node:zlib` when the first body is shown, because loading delays the start of a command by 5 ms. */
function decoders(): ReadonlyMap<string, Decoder> {
  loaded ??= loadDecoders();
  return loaded;
}

function loadDecoders(): ReadonlyMap<string, Decoder> {
  const zlib = process.getBuiltinModule('node:zlib');
  const { brotliDecompressSync, constants, gunzipSync, inflateRawSync, inflateSync } = zlib;
  const maxOutputLength = DECODED_BODY_MAX_BYTES;
  // The recorded data may be incomplete.
  const flush = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength };
  const brotliFlush = { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength };
  const zstdFlush = {
    finishFlush: constants.ZSTD_e_continue,
    maxOutputLength,
    params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX },
  };
  const gunzip: Decoder = (bytes) => gunzipSync(bytes, flush);
  // Some servers omit the zlib wrapper (RFC 9110 section 8.4.1.2).
  const inflate: Decoder = (bytes) =>
    (((bytes[0] ?? 0) & METHOD) === DEFLATE ? inflateSync : inflateRawSync)(bytes, flush);
  const known: [string, Decoder][] = [
    ['gzip', gunzip],
    ['x-gzip', gunzip],
    ['deflate', inflate],
    ['br', (bytes) => brotliDecompressSync(bytes, brotliFlush)],
  ];
  // Node supports zstd since 22.15.
  if ('zstdDecompressSync' in zlib)
    known.push(['zstd', (bytes) => zlib.zstdDecompressSync(bytes, zstdFlush)]);
  return new Map(known);
}
