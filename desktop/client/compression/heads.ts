/** Decides which responses are compressed, and with which coding (RFC 9110 sections 8.4 and 12.5.3), and rewrites heads. */
import type { Framing } from '../../../shared/http1/body.ts';
import { type Field, fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import { fieldsStart, HeadWriter, type RequestHead, type ResponseHead } from '../../../shared/http1/head.ts';

/** Minimum size of a response that is compressed: for smaller ones, compression saves less than one packet. */
const COMPRESSED_MIN_BYTES = 1024;
/**
 * Maximum number of ETags that the client remembers for each tunnel, to recognize them in later requests: more
 * than a site has files. If one is forgotten, some services send the whole response again.
 */
export const WEAKENED_TAGS_MAX = 4096;
/** Maximum length of an ETag that the client remembers: services use hashes. */
export const WEAKENED_TAG_MAX_CHARS = 128;

/** A content coding, by its name in HTTP. */
export type Coding = 'br' | 'zstd' | 'gzip';

/** The codings in the order of preference. */
const CODINGS: readonly Coding[] = ['br', 'zstd', 'gzip'];

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

/**
 * The coding that the visitor of a request prefers. An asterisk stands for `br`.
 *
 * @param isAvailable whether this version of Node has the coding
 * @returns `undefined` if the response must not be compressed
 */
export function acceptedCoding(
  { minor, fields }: Pick<RequestHead, 'minor' | 'fields'>,
  isAvailable: (coding: Coding) => boolean,
): Coding | undefined {
  // HTTP/1.0 has no chunked coding, and its proxies do not know `Vary`.
  if (minor === 0 || forbidsTransform(fields)) return undefined;
  const weights = readWeights(fields);
  const any = weights.get('*');
  if (any !== undefined && !weights.has('br')) weights.set('br', any);
  let best: Coding | undefined;
  let bestWeight = 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? 0;
    if (weight <= bestWeight || !isAvailable(coding)) continue;
    best = coding;
    bestWeight = weight;
  }
  return (weights.get('identity') ?? 0) > bestWeight ? undefined : best;
}

/** The lowest weight of each coding. A malformed weight counts as 0. */
function readWeights(fields: readonly Field[]): Map<string, number> {
  const weights = new Map<string, number>();
  for (const member of listMembers(fields, 'accept-encoding')) {
    const [name = '', parameter, ...more] = member.split(';');
    const weight = parameter === undefined ? 1 : readWeight(more.length > 0 ? '' : parameter.trim());
    const coding = name.trimEnd();
    weights.set(coding, Math.min(weight, weights.get(coding) ?? 1));
  }
  return weights;
}

function readWeight(parameter: string): number {
  return Number(WEIGHT.exec(parameter)?.[1] ?? 0);
}

function forbidsTransform(fields: readonly Field[]): boolean {
  return listMembers(fields, 'cache-control').includes('no-transform');
}

/** Other types than text that shrink. Fonts: only those that are not compressed already, unlike WOFF. */
const COMPRESSIBLE = new Set([
  'application/json',
  'application/json-seq',
  'application/jsonl',
  'application/ndjson',
  'application/x-ndjson',
  'application/javascript',
  'application/x-javascript',
  'application/ecmascript',
  'application/xml',
  'application/xml-dtd',
  'application/wasm',
  'font/ttf',
  'font/otf',
  'font/sfnt',
  'font/collection',
  'application/font-sfnt',
  'application/x-font-ttf',
  'application/x-font-otf',
  'application/x-font-truetype',
  'application/x-font-opentype',
  'application/vnd.ms-fontobject',
]);

/**
 * Whether a response would be compressed for a visitor that accepts it, so that it depends on `Accept-Encoding`. A
 * response to HEAD is judged like the response to GET.
 *
 * @param framing of the response; `none` for one without a body
 */
export function isCompressible({ status, fields }: ResponseHead, framing: Framing, method: string): boolean {
  if (status < 200 || status > 299 || status === 204 || status === 205 || status === 206) return false;
  return (
    isLongEnough(framing, method, fields) &&
    isCompressibleType(fields) &&
    fieldValue(fields, 'content-encoding') === undefined &&
    !forbidsTransform(fields)
  );
}

function isLongEnough(framing: Framing, method: string, fields: readonly Field[]): boolean {
  if (framing.kind === 'length') return framing.length >= COMPRESSED_MIN_BYTES;
  if (framing.kind !== 'none') return true;
  if (method !== 'HEAD') return false;
  const length = fieldValue(fields, 'content-length');
  return length === undefined || Number(length) >= COMPRESSED_MIN_BYTES;
}

function isCompressibleType(fields: readonly Field[]): boolean {
  const types = fields.filter((field) => field.is('content-type'));
  if (types.length !== 1) return false;
  const [type = ''] = (types[0]?.value ?? '').toLowerCase().split(';');
  const media = type.trimEnd();
  // Events must not wait, and gRPC compresses each message itself.
  if (media === 'text/event-stream' || media.startsWith('application/grpc')) return false;
  return (
    media.startsWith('text/') || media.endsWith('+json') || media.endsWith('+xml') || COMPRESSIBLE.has(media)
  );
}

/*
 * The heads of responses that are, or could have been, compressed, and of requests that refer to them.
 */

/** Digests of the content as the service sent it (RFC 9530, RFC 3230, RFC 2616). */
const DIGESTS = new Set(['digest', 'content-digest', 'repr-digest', 'content-md5']);
/** Apply to the service's own framing, or to ranges of the uncompressed content. */
const REMOVED = new Set([...DIGESTS, 'content-length', 'transfer-encoding', 'accept-ranges']);
const VARY = 'Vary: Accept-Encoding\r\n';
/** Space for the added fields. */
const ADDED_BYTES = 160;

/**
 * The head of a response whose body is compressed and sent in chunks. A strong `ETag` becomes weak, because it no
 * longer identifies the bytes (RFC 9110 section 8.8.1).
 *
 * @param closes whether the connection of the response carries no other
 * @param tags remembers the tag that became weak
 */
export function compressedHead(
  head: ResponseHead,
  coding: Coding,
  closes: boolean,
  tags: WeakenedTags,
): Buffer {
  const writer = startOf(head);
  for (const field of head.fields) {
    if (REMOVED.has(field.lower)) continue;
    if (field.is('etag')) writer.text(weakened(field, tags));
    else writer.keep(field.start, field.end);
  }
  if (closes) writer.text('Connection: close\r\n');
  if (!variesAlready(head)) writer.text(VARY);
  writer.text(`Content-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  return writer.end();
}

/** The head of a response that is not compressed for this visitor, but is for others. */
export function varyingHead(head: ResponseHead): Buffer {
  if (variesAlready(head)) return head.bytes;
  const writer = new HeadWriter(head.bytes, ADDED_BYTES);
  writer.keep(0, head.bytes.length - 2);
  writer.text(`${VARY}\r\n`);
  return writer.end();
}

/**
 * The head of a 304, if it has a tag that was weakened earlier: it carries the tag under which the visitor knows the
 * response (RFC 9111 section 4.3.4).
 *
 * @param restored the tags of the request that lost their `W/`
 * @returns the head itself if it has no such tag
 */
export function notModifiedHead(
  head: ResponseHead,
  tags: WeakenedTags,
  restored: ReadonlySet<string>,
): Buffer {
  const tag = head.fields.find((field) => field.is('etag'));
  if (tag === undefined || !tags.has(tag.value)) return head.bytes;
  if (!restored.has(tag.value)) return varyingHead(head);
  const writer = new HeadWriter(head.bytes, ADDED_BYTES);
  writer.keep(0, tag.start);
  writer.text(weakened(tag, tags));
  writer.keep(tag.end, head.bytes.length - 2);
  writer.text(variesAlready(head) ? '\r\n' : `${VARY}\r\n`);
  return writer.end();
}

/** The trailers of a compressed response, without digests of the uncompressed content. Each line ends in CRLF. */
export function compressedTrailers(fields: readonly Field[], tags: WeakenedTags): string {
  return fields
    .filter((field) => !DIGESTS.has(field.lower))
    .map((field) => (field.is('etag') ? weakened(field, tags) : `${field.name}: ${field.value}\r\n`))
    .join('');
}

/** The status line. A response in chunks must be HTTP/1.1. */
function startOf(head: ResponseHead): HeadWriter {
  const writer = new HeadWriter(head.bytes, ADDED_BYTES);
  const version = 'HTTP/1.1';
  if (head.minor === 0) {
    writer.text(version);
    writer.keep(version.length, fieldsStart(head));
  } else {
    writer.keep(0, fieldsStart(head));
  }
  return writer;
}

function variesAlready({ fields }: ResponseHead): boolean {
  const members = listMembers(fields, 'vary');
  return members.includes('accept-encoding') || members.includes('*');
}

/** Without quotation marks, a tag cannot be marked as weak, so it is left out. */
function weakened(field: Field, tags: WeakenedTags): string {
  const { name, value } = field;
  if (value.startsWith('W/')) return `${name}: ${value}\r\n`;
  if (!value.startsWith('"')) return '';
  tags.add(value);
  return `${name}: W/${value}\r\n`;
}

/**
 * Restores the tags in `If-None-Match` and `If-Match` that were weakened in earlier responses: some services compare
 * the whole text, and `If-Match` never matches a weak tag (RFC 9110 section 13.1). Other weak tags are the service's
 * own. `If-Range` stays, because the visitor has a part of the compressed content, and must not get the rest of the
 * uncompressed one.
 *
 * @returns the head to send, and the restored tags
 */
export function restoredTags(
  head: RequestHead,
  tags: WeakenedTags,
): { bytes: Buffer; restored: ReadonlySet<string> } {
  const restored = new Set<string>();
  let writer: HeadWriter | undefined;
  let from = 0;
  for (const field of head.fields) {
    if (!field.is('if-none-match') && !field.is('if-match')) continue;
    const { value } = field;
    const text = value.replaceAll(TAGS, (whole, mark: string | undefined, tag: string) => {
      if (mark === undefined || !tags.has(tag)) return whole;
      restored.add(tag);
      return tag;
    });
    if (text === value) continue;
    writer ??= new HeadWriter(head.bytes, 0);
    writer.keep(from, field.start);
    writer.text(`${field.name}: ${text}\r\n`);
    from = field.end;
  }
  if (writer === undefined) return { bytes: head.bytes, restored };
  writer.keep(from, head.bytes.length);
  return { bytes: writer.end(), restored };
}

const TAGS = /(W\/)?("[^"]*")/g;

/** Strong tags of a service that visitors know as weak. The oldest are forgotten. */
export class WeakenedTags {
  readonly #tags = new Set<string>();

  /** @param tag with its quotation marks */
  add(tag: string): void {
    if (tag.length > WEAKENED_TAG_MAX_CHARS) return;
    this.#tags.delete(tag);
    this.#tags.add(tag);
    if (this.#tags.size <= WEAKENED_TAGS_MAX) return;
    for (const oldest of this.#tags) {
      this.#tags.delete(oldest);
      break;
    }
  }

  has(tag: string): boolean {
    return this.#tags.has(tag);
  }
}
