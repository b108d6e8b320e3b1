import { isWritable } from '../editing/check-edit.ts';
import { composeRequest } from '../editing/compose-request.ts';
import { fieldBytes } from '../editing/field-bytes.ts';
import { RECORDED_BODY_MAX_BYTES, RECORDED_HEAD_MAX_BYTES } from '../../limits.ts';
import type { Capture } from '../capture.ts';
import type { RequestLog } from '../request-log.ts';
import type { ImportedRequest, ImportedResponse } from './imported.ts';

/**
 * Puts a request into a log as if it had been recorded, so that it can be looked at, repeated and edited. Nothing is sent.
 *
 * @param request that {@link checkEdit} finds no fault with
 * @param host the Host that the local service gets
 * @returns its number
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

/** @returns how many bytes there were; of what was cut, at least one more than there are */
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
