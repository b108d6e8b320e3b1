import { setImmediate as otherWork } from 'node:timers/promises';
import { type Message, toMessage } from '../messages.ts';
import { importCurl } from './curl-import.ts';
import {
  checkEdit,
  composeRequest,
  fieldBytes,
  type ImportedRequest,
  type ImportedResponse,
  ImportRefused,
  isWritable,
} from './edit.ts';
import type { Capture } from './capture.ts';
import { importHar } from './har.ts';
import type { RequestLog } from './request-log.ts';
import { RECORDED_BODY_MAX_BYTES } from './records.ts';
import { RECORDED_HEAD_MAX_BYTES } from './recording.ts';

/**
 * Maximum size of an imported file: a HAR of a few hundred requests with responses. Browsers can filter what
 * they export.
 * @limit owner: Size of an imported file | the import is refused
 */
export const IMPORT_MAX_BYTES = 32 * 1024 * 1024;
/**
 * Maximum number of requests that are imported from one file: half of the command's log, so that imported
 * requests do not push out all of the visitors' requests.
 */
export const IMPORTED_REQUESTS_MAX = 100;

/** The requests found in a text, and why some are left out. */
interface ImportedText {
  readonly requests: readonly ImportedRequest[];
  /** a sentence for each request that is left out */
  readonly leftOut: readonly Message[];
}

/**
 * Reads a HAR or a `curl` command. Reads no files and executes nothing. Yields to visitors' requests in between.
 *
 * @param most limit of requests; the rest is not even parsed
 * @throws ImportRefused for a text that is neither
 */
export async function importText(text: string, most = Infinity): Promise<ImportedText> {
  const isHar = /^\uFEFF?\s*\{/.test(text);
  const all = isHar ? importHar(text.replace(/^\uFEFF/, '')) : [importCurl(text)];
  const requests: ImportedRequest[] = [];
  const leftOut: Message[] = [];
  let number = 0;
  for (const request of all) {
    number += 1;
    if (number > most) throw new ImportRefused(toMessage('import.tooMany', { max: most }));
    const [problem] = checkEdit(request);
    if (problem === undefined) requests.push(request);
    else leftOut.push(toMessage('import.leftOut', { number, why: problem.said }));
    await otherWork();
  }
  return { requests, leftOut };
}

/**
 * Adds a request to a log as if it had been recorded, so that it can be inspected, repeated and edited. Nothing is
 * sent.
 *
 * @param request one without {@link checkEdit} problems
 * @param host the Host that the local service receives
 * @returns the request's number
 */
export function addImported(log: RequestLog, request: ImportedRequest, host: string): number {
  const exchange = log.begin({ isImported: true });
  const { captures } = exchange;
  const { response } = request;
  exchange.bytesIn = keep(log, captures?.request, composeRequest(request, host), request.isCut);
  exchange.isRequestComplete = true;
  if (response !== undefined) {
    exchange.status = response.status;
    exchange.bytesOut = keep(log, captures?.response, composeResponse(response), response.isCut);
  }
  exchange.durationMs = response?.durationMs ?? 0;
  log.changed(exchange);
  return exchange.id;
}

/** @returns the length of the message in bytes; if it was cut, at least one more than recorded */
function keep(log: RequestLog, capture: Capture | undefined, bytes: Buffer, isCut: boolean): number {
  log.grew(capture?.append(bytes, 0, bytes.length, RECORDED_HEAD_MAX_BYTES + RECORDED_BODY_MAX_BYTES) ?? 0);
  return bytes.length + (isCut ? 1 : 0);
}

function composeResponse({ status, reason, fields, body }: ImportedResponse): Buffer {
  const pieces: Buffer[] = [Buffer.from(`HTTP/1.1 ${status} ${reason.replaceAll(/[^ -~]/g, '')}\r\n`)];
  for (const [name, value] of fields)
    if (isWritable(name, value))
      pieces.push(Buffer.from(`${name}: `), fieldBytes(value), Buffer.from('\r\n'));
  return Buffer.concat([...pieces, Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
}
