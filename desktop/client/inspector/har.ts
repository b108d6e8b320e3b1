/** Exports recorded requests as an HTTP archive. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as otherWork } from 'node:timers/promises';
import { array, boolean, type InferType, number, object, string, ValidationError } from 'yup';
import { REDACTED, VERSION } from '../../../shared/version.ts';
import { toMessage } from '../messages.ts';
import { CallRefused } from '../methods/method.ts';
import {
  type ImportedRequest,
  type ImportedResponse,
  ImportRefused,
  isOwnField,
  percentEncoded,
  targetOf,
} from './edit.ts';
import { decodeBody } from './decode-body.ts';
import { cookiesOf, fieldValues, type RecordedMessage, type RequestDetail } from './records.ts';

const UNKNOWN_TYPE = 'application/octet-stream';
const CUT = 'The rest of this body was not recorded.';

/** Maximum size of an exported HAR file: what `culvert inspect import` takes. */
export const HAR_MAX_BYTES = 32 * 1024 * 1024;

/**
 * Makes an archive of requests, in this order. Secrets are written as `detailOf` has them; if any are redacted, the archive
 * notes that. Yields to visitors' requests in between.
 *
 * @param detailOf reads one of them; `undefined` leaves it out
 * @param origin scheme and authority that visitors use, such as the tunnel's `public_url`
 * @throws CallRefused if it is too large
 */
export async function exportHar(
  ids: readonly number[],
  detailOf: (id: number) => Promise<RequestDetail | undefined>,
  origin: string,
): Promise<Har> {
  const entries: HarEntry[] = [];
  let size = 0;
  let hasRedacted = false;
  for (const id of ids) {
    const detail = await detailOf(id);
    // An archive has no entry for a raw connection.
    if (detail === undefined || detail.connection !== undefined) continue;
    const entry = harEntry(detail, origin);
    const text = JSON.stringify(entry);
    size += Buffer.byteLength(text);
    if (size > HAR_MAX_BYTES) {
      const values = { max: HAR_MAX_BYTES / 1024 / 1024, count: entries.length };
      throw new CallRefused('too-large', toMessage('har.tooLarge', values));
    }
    hasRedacted ||= text.includes(REDACTED);
    entries.push(entry);
    await otherWork();
  }
  const comment = `Secrets are replaced by ${REDACTED}.`;
  return {
    log: {
      version: '1.2',
      creator: { name: 'Culvert', version: VERSION },
      entries,
      ...(hasRedacted ? { comment } : {}),
    },
  };
}

/** A request, unless it is no longer available, or has not arrived yet. */
export async function ifAvailable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof CallRefused && error.code === 'unknown-request') return undefined;
    throw error;
  }
}

function harEntry(detail: RequestDetail, origin: string): HarEntry {
  const { connectedMs, answeredMs } = detail.timing;
  const time = detail.durationMs ?? 0;
  const answered = Math.min(answeredMs ?? time, time);
  const connected = Math.min(connectedMs ?? 0, answered);
  return {
    startedDateTime: new Date(detail.startedAt).toISOString(),
    time,
    request: requestOf(detail, origin.replace(/\/$/, '')),
    response: responseOf(detail.response),
    cache: {},
    // They must add up to the total time; sending counts as 0, because bytes are forwarded as they arrive.
    timings: {
      connect: connectedMs === undefined ? -1 : connected,
      send: 0,
      wait: answered - connected,
      receive: time - answered,
    },
  };
}

function requestOf({ method, target, request }: RequestDetail, origin: string): HarRequest {
  const path = percentEncoded(target);
  const query = /\?([^#]*)/.exec(path)?.[1] ?? '';
  const body = bodyOf(request);
  return {
    method,
    url: origin + path,
    httpVersion: 'HTTP/1.1',
    cookies: cookiesOf(request).map(pairOf),
    headers: request.fields.map(pairOf),
    queryString: [...new URLSearchParams(query)].map(pairOf),
    ...(body === undefined ? {} : { postData: body }),
    headersSize: -1,
    bodySize: request.isTruncated ? -1 : request.body.length,
  };
}

function responseOf(response: RecordedMessage | undefined): HarResponse {
  if (response === undefined)
    return {
      status: 0,
      statusText: '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: [],
      content: { size: 0, mimeType: UNKNOWN_TYPE },
      redirectURL: '',
      headersSize: -1,
      bodySize: -1,
    };
  const [httpVersion = '', status = '', ...reason] = response.startLine.split(' ');
  return {
    status: Number(status) || 0,
    statusText: reason.join(' '),
    httpVersion,
    cookies: cookiesOf(response).map(([name, value]) => pairOf([name, value.split(';', 1)[0] ?? ''])),
    headers: response.fields.map(pairOf),
    content: contentOf(response),
    redirectURL: fieldValues(response, 'location')[0] ?? '',
    headersSize: -1,
    bodySize: response.isTruncated ? -1 : response.body.length,
  };
}

function bodyOf(message: RecordedMessage): HarBody | undefined {
  const { body, isTruncated } = message;
  if (body.length === 0 && !isTruncated) return undefined;
  const { text, isBase64 } = textOf(body);
  return {
    mimeType: typeOf(message),
    text,
    ...(isBase64 ? { _encoding: 'base64' } : {}),
    ...(isTruncated ? { _truncated: true, comment: CUT } : {}),
  };
}

function contentOf(message: RecordedMessage): HarContent {
  const { bytes } = decodeBody(message);
  const { text, isBase64 } = textOf(bytes);
  return {
    size: bytes.length,
    mimeType: typeOf(message),
    text,
    ...(isBase64 ? { encoding: 'base64' } : {}),
    ...(message.isTruncated ? { _truncated: true, comment: CUT } : {}),
  };
}

function textOf(bytes: Uint8Array): { text: string; isBase64: boolean } {
  const isBase64 = !isUtf8(bytes);
  return { text: Buffer.from(bytes).toString(isBase64 ? 'base64' : 'utf8'), isBase64 };
}

function typeOf(message: RecordedMessage): string {
  return fieldValues(message, 'content-type')[0] ?? UNKNOWN_TYPE;
}

function pairOf([name, value]: readonly [string, string]): HarPair {
  return { name, value };
}

/* Reads an HTTP archive of any program as requests with their responses. */

const word = () => string().strict().defined();
const pairList = () => array(object({ name: word(), value: word() })).strict();
const BODY = object({
  text: string().strict(),
  encoding: string().strict(),
  _encoding: string().strict(),
  _truncated: boolean().strict(),
});
const ENTRY = object({
  time: number().strict(),
  request: object({
    method: word(),
    url: word(),
    headers: pairList().required(),
    postData: BODY.shape({ params: pairList().optional() }).default(undefined).nullable(),
  }).required(),
  response: object({
    status: number().strict().integer(),
    statusText: string().strict(),
    headers: pairList().optional(),
    content: BODY.default(undefined).nullable(),
  }).default(undefined),
});
const HAR = object({ log: object({ entries: array().strict().required() }).required() });

/** yup's error types for a missing field. */
const MISSING = new Set<string | undefined>(['optionality', 'nullable', 'required']);

type Entry = InferType<typeof ENTRY>;
type Body = InferType<typeof BODY>;

/**
 * Reads custom fields of har.ts for what HAR does not cover, and ignores those of other programs. Reads no files that
 * the archive names.
 *
 * Yields the requests in their order.
 *
 * @throws ImportRefused
 */
export function* importHar(text: string): Generator<ImportedRequest> {
  const { entries } = checked('', HAR, parsed(text)).log;
  for (const [index, entry] of entries.entries())
    yield importedOf(checked(`log.entries[${index}].`, ENTRY, entry));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ImportRefused(toMessage('import.notJson'));
  }
}

function checked<T>(place: string, schema: { validateSync(value: unknown): T }, value: unknown): T {
  try {
    return schema.validateSync(value);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    // Without its message, which contains the value, however large.
    const field = `${place}${error.path ?? ''}`.replace(/\.$/, '') || 'log';
    if (MISSING.has(error.type)) throw new ImportRefused(toMessage('import.harMissing', { field }));
    const wanted = error.params?.['type'];
    const type = typeof wanted === 'string' ? wanted : (error.type ?? '');
    throw new ImportRefused(toMessage('import.harType', { field, type }));
  }
}

function importedOf({ request, response, time }: Entry): ImportedRequest {
  const { method, url, headers, postData } = request;
  return {
    method,
    target: targetOf(url),
    fields: fieldsOf(headers).filter(([name]) => !isOwnField(name)),
    body: bytesOf(postData) ?? formOf(postData?.params ?? []),
    isCut: postData?.['_truncated'] === true,
    response: harImportResponseOf(response, time ?? 0),
  };
}

function harImportResponseOf(
  response: Entry['response'] | undefined,
  durationMs: number,
): ImportedResponse | undefined {
  const { status = 0, statusText = '', headers = [], content } = response ?? {};
  if (status < 100 || status > 999) return undefined;
  return {
    status,
    reason: statusText,
    fields: fieldsOf(headers).filter(
      ([name]) => !isOwnField(name) && name.toLowerCase() !== 'content-encoding',
    ),
    body: bytesOf(content) ?? new Uint8Array(),
    isCut: content?.['_truncated'] === true,
    durationMs: Math.max(0, durationMs),
  };
}

/** Without the pseudo-headers of HTTP/2, which browsers list among the others. */
function fieldsOf(pairs: readonly { name: string; value: string }[]): [string, string][] {
  return pairs.filter(({ name }) => !name.startsWith(':')).map(({ name, value }) => [name, value]);
}

function bytesOf(content: Body | null | undefined): Uint8Array | undefined {
  if (content?.text === undefined) return undefined;
  const encoding = content.encoding ?? content['_encoding'];
  return Uint8Array.from(Buffer.from(content.text, encoding === 'base64' ? 'base64' : 'utf8'));
}

/** The body of a form that is recorded only as parameters. */
function formOf(params: readonly { name: string; value: string }[]): Uint8Array {
  return new TextEncoder().encode(
    new URLSearchParams(params.map(({ name, value }): [string, string] => [name, value])).toString(),
  );
}

/** The written part of the HTTP archive format, HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/). */

export interface Har {
  readonly log: {
    readonly version: '1.2';
    readonly creator: { readonly name: string; readonly version: string };
    readonly entries: readonly HarEntry[];
    readonly comment?: string;
  };
}

interface HarEntry {
  /** ISO 8601 */
  readonly startedDateTime: string;
  /** ms */
  readonly time: number;
  readonly request: HarRequest;
  readonly response: HarResponse;
  readonly cache: Record<string, never>;
  /** ms */
  readonly timings: {
    /** -1: unknown */
    readonly connect: number;
    readonly send: number;
    readonly wait: number;
    readonly receive: number;
  };
}

interface HarPair {
  readonly name: string;
  readonly value: string;
}

interface HarMessage {
  readonly httpVersion: string;
  readonly cookies: readonly HarPair[];
  readonly headers: readonly HarPair[];
  /** bytes; -1: unknown */
  readonly headersSize: number;
  readonly bodySize: number;
}

interface HarRequest extends HarMessage {
  readonly method: string;
  readonly url: string;
  readonly queryString: readonly HarPair[];
  readonly postData?: HarBody;
}

/** HAR has no encoding for request bodies; names of extensions begin with an underscore. */
interface HarBody {
  readonly mimeType: string;
  readonly text: string;
  readonly _encoding?: 'base64';
  /** the body was longer */
  readonly _truncated?: true;
  readonly comment?: string;
}

interface HarResponse extends HarMessage {
  /** 0: no response */
  readonly status: number;
  readonly statusText: string;
  readonly redirectURL: string;
  readonly content: HarContent;
}

interface HarContent {
  /** bytes of the content, without content coding */
  readonly size: number;
  readonly mimeType: string;
  readonly text?: string;
  readonly encoding?: 'base64';
  readonly _truncated?: true;
  readonly comment?: string;
}
