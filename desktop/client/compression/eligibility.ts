/** Decides which responses are compressed, and with which coding (RFC 9110 sections 8.4 and 12.5.3). */
import type { Framing } from '../../../shared/http1/body.ts';
import { type Field, fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import type { RequestHead, ResponseHead } from '../../../shared/http1/head.ts';
import { COMPRESSED_MIN_BYTES } from '../limits.ts';

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
