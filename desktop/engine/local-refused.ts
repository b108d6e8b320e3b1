/** The answer a visitor gets when nothing listens on the local port (contract.md, Inbound requests). */
import { CloseCode } from '../../shared/control.ts';
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { HeadReader } from '../../shared/http1/head-reader.ts';
import { parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
import { errorAnswer } from '../../shared/page.ts';
import type { DataStream } from './bridge.ts';
import type { Clock } from './clock.ts';
import { REQUEST_HEAD_MAX_BYTES, REQUEST_HEAD_TIMEOUT_MS } from './limits.ts';

/** The relay has refused what is longer; here only the method and `Accept` matter. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

/**
 * Waits for the request on a data socket, answers it with 502 `local-refused` and closes the socket. A stream that
 * brings no request head within {@link REQUEST_HEAD_TIMEOUT_MS} is closed with 1011.
 *
 * @param onEnd called once, when the answer has been written or the stream has ended
 */
export function answerLocalRefused(stream: DataStream, port: number, clock: Clock, onEnd: () => void): void {
  const reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  const timer = clock.setTimeout(() => finish(CloseCode.internalError), REQUEST_HEAD_TIMEOUT_MS);
  let ended = false;

  stream.attach({ onData, onDrain: () => {}, onClose: end });

  function onData(chunk: Buffer): void {
    if (ended) return;
    const head = reader.push(chunk);
    if (head === undefined) return;
    const request = typeof head === 'string' ? undefined : parseRequestHead(head.head, NO_LIMITS);
    if (request === undefined || typeof request === 'string') {
      finish(CloseCode.internalError);
      return;
    }
    stream.write(localRefusedResponse(request, port));
    finish(CloseCode.normal);
  }

  function finish(code: number): void {
    stream.close(code);
    end();
  }

  function end(): void {
    if (ended) return;
    ended = true;
    timer.cancel();
    onEnd();
  }
}

/** The whole response, in the form the visitor asks for; no content for HEAD. */
export function localRefusedResponse(request: RequestHead, port: number): Buffer {
  const accept = request.fields.filter((field) => field.is('accept')).map((field) => field.value);
  const text = `${VISITOR_ERRORS['local-refused'].text} The port is ${port}.`;
  const answer = errorAnswer('local-refused', accept.length === 0 ? undefined : accept.join(', '), text);
  const body = Buffer.from(answer.body);
  const head = Buffer.from(
    `HTTP/1.1 ${answer.status} Bad Gateway\r\nCulvert-Error: local-refused\r\n` +
      `Content-Type: ${answer.contentType}\r\nContent-Length: ${body.length}\r\n` +
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n" +
      'Cache-Control: no-store\r\nVary: Accept\r\nConnection: close\r\n\r\n',
  );
  return request.method === 'HEAD' ? head : Buffer.concat([head, body]);
}
