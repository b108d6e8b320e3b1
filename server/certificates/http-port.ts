/** The port for plain HTTP: answers http-01 (RFC 8555 section 8.3), and sends everybody else to https. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { hostname } from '../../shared/host.ts';
import {
  HTTP_PORT_CONNECTIONS_MAX,
  HTTP_PORT_HEAD_MAX_BYTES,
  HTTP_PORT_IDLE_MS,
  HTTP_PORT_REQUEST_MS,
  HTTP_PORT_REQUESTS_MAX,
} from '../limits.ts';
import { certifiable } from './names.ts';
import type { PresentedChallenges } from './presented.ts';
import type { MayHave } from './solver.ts';

const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{16,256})$/;
/** In origin form, of characters that a URL has. */
const TARGET = /^\/[\x21-\x7e]*$/;
const HOST = /^[\w.-]{1,253}(?::\d{1,5})?$/;

export interface HttpPortDeps {
  readonly challenges: Pick<PresentedChallenges, 'find'>;
  /** whether a host is served here with https */
  readonly leadsHere: MayHave;
  /** port of https, if it is not 443 */
  readonly port: number | undefined;
}

/** @returns not bound yet */
export function httpPort(deps: HttpPortDeps): Server {
  const options = {
    maxHeaderSize: HTTP_PORT_HEAD_MAX_BYTES,
    headersTimeout: HTTP_PORT_REQUEST_MS,
    requestTimeout: HTTP_PORT_REQUEST_MS,
    keepAliveTimeout: HTTP_PORT_IDLE_MS,
    connectionsCheckingInterval: HTTP_PORT_IDLE_MS / 2,
  };
  const server = createServer(options, (request, response) => void respond(request, response, deps));
  server.maxConnections = HTTP_PORT_CONNECTIONS_MAX;
  server.maxRequestsPerSocket = HTTP_PORT_REQUESTS_MAX;
  // Also ends who reads nothing of what it was sent.
  server.timeout = HTTP_PORT_REQUEST_MS;
  server.on('clientError', (_error, socket) => socket.destroy());
  // Out of file descriptors, for example: the next accept may work, and the relay goes on.
  server.on('error', () => {});
  return server;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  deps: HttpPortDeps,
): Promise<void> {
  request.on('error', () => request.destroy());
  response.on('error', () => request.destroy());
  // Bodies are not read.
  if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined)
    response.setHeader('Connection', 'close');
  const { host: given = '', target = '' } = { host: request.headers.host, target: request.url };
  if (!HOST.test(given) || !TARGET.test(target)) return say(response, 400, 'bad request');
  const host = certifiable(hostname(given));
  const token = CHALLENGE.exec(target)?.[1];
  if (token !== undefined && host !== undefined) {
    const found = (await deps.challenges.find('http-01', host)).find((one) => one.token === token);
    if (found !== undefined) return say(response, 200, found.keyAuthorization);
  }
  const isOurs = host !== undefined && (await Promise.resolve(deps.leadsHere(host)).catch(() => false));
  if (!isOurs) return say(response, 404, 'not found');
  const port = deps.port === undefined ? '' : `:${deps.port}`;
  response.setHeader('Location', `https://${host}${port}${target}`);
  say(response, 308, 'this relay is served with https');
}

function say(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  });
  response.end(text);
}
