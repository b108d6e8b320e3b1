/** Rewrites the heads of responses that are, or could have been, compressed, and of requests that refer to them. */
import { type Field, listMembers } from '../../../shared/http1/fields.ts';
import { fieldsStart, HeadWriter, type RequestHead, type ResponseHead } from '../../../shared/http1/head.ts';
import { WEAKENED_TAG_MAX_CHARS, WEAKENED_TAGS_MAX } from '../limits.ts';
import type { Coding } from './eligibility.ts';

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
