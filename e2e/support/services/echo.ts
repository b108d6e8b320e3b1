import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from '../raw-http.ts';
import type { Scope } from '../scope.ts';
import { type HttpService, startHttpService } from './listen.ts';
import { digest } from './payload.ts';

/** What the echo service saw of a request. */
export interface Echo {
  readonly method: string;
  readonly url: string;
  readonly version: string;
  /** Names and values in turn, in their order and case. */
  readonly rawHeaders: readonly string[];
  readonly sha256: string;
  readonly length: number;
  readonly trailers: readonly string[];
}

/** Responds to a request with what arrived of it; the body is described by length and checksum. */
export async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await digest(request);
  const seen: Echo = {
    method: request.method ?? '',
    url: request.url ?? '',
    version: request.httpVersion,
    rawHeaders: request.rawHeaders,
    ...body,
    trailers: request.rawTrailers,
  };
  const text = JSON.stringify(seen);
  // For methods whose responses have no body.
  response.setHeader('Seen-Method', seen.method);
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Starts a service that echoes every request. */
export async function startEchoService(scope: Scope): Promise<HttpService> {
  return await startHttpService(scope, (request, response) => {
    echo(request, response).catch(() => request.destroy());
  });
}

/** Reads the echo service's response. */
export function readEcho(response: Response): Echo {
  if (response.status !== 200) throw new Error(`answered ${response.status}: ${response.text}`);
  return JSON.parse(response.text) as Echo;
}

/** The value of a header field that the echo service saw, or `undefined`; several are joined. */
export function seenField(seen: Echo, name: string): string | undefined {
  const values = seenFields(seen)
    .filter(([key]) => key.toLowerCase() === name.toLowerCase())
    .map(([, value]) => value);
  return values.length > 0 ? values.join(', ') : undefined;
}

/** The header fields that the echo service saw, in order. */
export function seenFields(seen: Echo): [string, string][] {
  const fields: [string, string][] = [];
  for (let i = 0; i < seen.rawHeaders.length; i += 2) {
    fields.push([seen.rawHeaders[i] ?? '', seen.rawHeaders[i + 1] ?? '']);
  }
  return fields;
}
