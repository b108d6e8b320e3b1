/** Recorded requests as an HTTP archive. */
import { isUtf8 } from 'node:buffer';
import { REDACTED } from '../../../../shared/redacted.ts';
import { VERSION } from '../../../../shared/version.ts';
import { decodeBody } from '../decode-body.ts';
import { percentEncoded } from '../editing/editable.ts';
import type { RecordedMessage, RequestDetail } from '../records.ts';
import type { Har, HarBody, HarContent, HarEntry, HarPair, HarRequest, HarResponse } from './har.ts';

const UNKNOWN_TYPE = 'application/octet-stream';
const CUT = 'There was more of this body than was kept.';

/**
 * Secrets are written as `details` have them; if any are redacted, the archive says so.
 *
 * @param details in the order in which they came
 * @param origin scheme and authority that visitors use, such as the tunnel's `public_url`
 */
export function harOf(details: readonly RequestDetail[], origin: string): Har {
  return harOfEntries(details.map((detail) => harEntry(detail, origin)));
}

/** The archive of entries that {@link harEntry} has made, in their order. */
export function harOfEntries(entries: readonly HarEntry[]): Har {
  const hasRedacted = JSON.stringify(entries).includes(REDACTED);
  const comment = `Secrets are written as ${REDACTED}.`;
  return {
    log: {
      version: '1.2',
      creator: { name: 'Culvert', version: VERSION },
      entries,
      ...(hasRedacted ? { comment } : {}),
    },
  };
}

/** One request as it stands in an archive. @param origin as for {@link harOf} */
export function harEntry(detail: RequestDetail, origin: string): HarEntry {
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
    // Together they are the time; to send takes none, as bytes are taken as they come.
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
    cookies: valuesOf(request, 'cookie').flatMap((value) => value.split(';').map(cookieOf)),
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
    cookies: valuesOf(response, 'set-cookie').map((value) => cookieOf(value.split(';', 1)[0] ?? '')),
    headers: response.fields.map(pairOf),
    content: contentOf(response),
    redirectURL: valuesOf(response, 'location')[0] ?? '',
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
  return valuesOf(message, 'content-type')[0] ?? UNKNOWN_TYPE;
}

function valuesOf({ fields }: RecordedMessage, lower: string): string[] {
  return fields.filter(([name]) => name.toLowerCase() === lower).map(([, value]) => value);
}

function pairOf([name, value]: readonly [string, string]): HarPair {
  return { name, value };
}

function cookieOf(pair: string): HarPair {
  const at = pair.indexOf('=');
  return at === -1
    ? { name: '', value: pair.trim() }
    : { name: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() };
}
