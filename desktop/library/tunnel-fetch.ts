/** `tunnel.fetch()`: reaches a tunnel at a host such as `shop.localhost`, which Node does not resolve on every system. */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { lookupFor } from '../client/network/dial.ts';

/** As many as the Fetch standard follows. */
const REDIRECTS_MAX = 20;
const REDIRECTING: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Responses that never have a body (Fetch standard, "null body status"). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304]);
/** Fields of a request that describe its body. */
const BODY_FIELDS = ['content-encoding', 'content-language', 'content-location', 'content-type'];

interface Outgoing {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Buffer | undefined;
  readonly redirect: Request['redirect'];
  readonly signal: AbortSignal;
}

/**
 * Does what the global `fetch` does, and connects to this machine for every host that ends in `.localhost`. For those, it
 * reads a request's body to its end before it sends it.
 *
 * @throws TypeError if there is no response; the reason of an aborted signal
 */
export async function fetchTunnel(url: URL, init?: RequestInit): Promise<Response> {
  if (!isLoopbackHost(url)) return await fetch(url, init);
  const request = new Request(url, init);
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
  const { method, headers, redirect, signal } = request;
  return await follow({ url, method, headers, body, redirect, signal });
}

function isLoopbackHost({ hostname }: URL): boolean {
  return hostname.endsWith('.localhost');
}

async function follow(first: Outgoing): Promise<Response> {
  let outgoing = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await send(outgoing);
    const { statusCode: status = 0 } = response;
    const { location } = response.headers;
    if (!REDIRECTING.has(status) || location === undefined || outgoing.redirect === 'manual')
      return toResponse(response, outgoing.url, redirects > 0);
    response.destroy();
    if (outgoing.redirect === 'error') throw failed(new Error('it was redirected'));
    const url = URL.parse(location, outgoing.url.href);
    if (url === null || !/^https?:$/.test(url.protocol))
      throw failed(new Error('it was redirected to something that is not an address'));
    outgoing = redirected(outgoing, status, url);
    const { method, headers, body, signal } = outgoing;
    if (!isLoopbackHost(url))
      return await fetch(url, {
        method,
        headers,
        signal,
        ...(body !== undefined && { body: new Uint8Array(body) }),
      });
  }
  throw failed(new Error('it was redirected too often'));
}

/** The next request, as the Fetch standard has it ("HTTP-redirect fetch"). */
function redirected(outgoing: Outgoing, status: number, url: URL): Outgoing {
  const { method } = outgoing;
  const headers = new Headers(outgoing.headers);
  if (url.origin !== outgoing.url.origin)
    for (const name of ['authorization', 'proxy-authorization', 'cookie', 'host']) headers.delete(name);
  const isKept =
    status === 307 || status === 308 || (status !== 303 && method !== 'POST') || method === 'HEAD';
  if (isKept) return { ...outgoing, url, headers };
  for (const name of BODY_FIELDS) headers.delete(name);
  return { ...outgoing, url, headers, method: 'GET', body: undefined };
}

function send({ url, method, headers, body, signal }: Outgoing): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp;
    const sent = request(url, {
      method,
      headers: Object.fromEntries(headers),
      lookup: lookupFor(url.hostname),
      // A connection that is kept would hold the process.
      agent: false,
      signal,
    });
    sent.once('response', resolve);
    sent.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : failed(error)));
    sent.end(body);
  });
}

function failed(cause: Error): TypeError {
  return new TypeError('fetch failed', { cause });
}

function toResponse(incoming: IncomingMessage, url: URL, isRedirected: boolean): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = incoming;
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  // Without a reader, the stream reports what breaks it to nobody.
  incoming.on('error', () => {});
  const hasBody = !WITHOUT_BODY.has(status);
  if (!hasBody) incoming.resume();
  const body = hasBody ? (Readable.toWeb(incoming) as ReadableStream<Uint8Array>) : null;
  const response = new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    statusText,
    headers,
  });
  Object.defineProperties(response, { url: { value: url.href }, redirected: { value: isRedirected } });
  return response;
}
