/** The answer a visitor gets when nothing listens on the local port (contract.md, Inbound requests). */
import { CloseCode } from '../../shared/control.ts';
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { HeadReader } from '../../shared/http1/head-reader.ts';
import { listMembers, parseRequestHead, type RequestHead } from '../../shared/http1/head.ts';
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
  // The handshake left the socket paused.
  stream.resume();

  function onData(chunk: Buffer): void {
    if (ended) return;
    const head = reader.push(chunk);
    if (head === undefined) return;
    const request = typeof head === 'string' ? undefined : parseRequestHead(head.text, NO_LIMITS);
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

/** The whole response: a page where the visitor prefers HTML, else JSON; no content for HEAD. */
export function localRefusedResponse(request: RequestHead, port: number): Buffer {
  const { status, title, text } = VISITOR_ERRORS['local-refused'];
  const asHtml = prefersHtml(request);
  const message = `${text} The port is ${port}.`;
  const body = Buffer.from(
    asHtml ? page(title, message) : `${JSON.stringify({ error: message, code: 'local-refused' })}\n`,
  );
  const head =
    `HTTP/1.1 ${status} Bad Gateway\r\nCulvert-Error: local-refused\r\n` +
    `Content-Type: ${asHtml ? 'text/html' : 'application/json'}; charset=utf-8\r\n` +
    `Content-Length: ${body.length}\r\nCache-Control: no-store\r\nVary: Accept\r\nConnection: close\r\n\r\n`;
  return request.method === 'HEAD' ? Buffer.from(head) : Buffer.concat([Buffer.from(head), body]);
}

/** Browsers name `text/html`; programs rarely do. Whoever names JSON first gets JSON. */
function prefersHtml(request: RequestHead): boolean {
  const types = listMembers(request.fields, 'accept').map((member) => member.split(';', 1)[0]?.trim());
  const html = types.indexOf('text/html');
  const json = types.indexOf('application/json');
  return html !== -1 && (json === -1 || html < json);
}

function page(title: string, message: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.4rem; }
p:last-child { opacity: 0.65; }
</style>
<h1>${title}</h1>
<p>${message}</p>
<p>502 · local-refused · Culvert</p>
</html>
`;
}
