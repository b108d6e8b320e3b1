/** The sample local site of the demo: a page, a clock by server-sent events, an echo WebSocket and an upload. */
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Scope } from '../support/scope.ts';
import { digest } from '../support/services/echo.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

const TICK_MS = 1000;
const ECHO_MAX_BYTES = 1024 * 1024;

/** Starts the site on a free port of 127.0.0.1; ends with the scope. */
export async function startSite(scope: Scope): Promise<HttpService> {
  const service = await startHttpService(scope, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server: service.server, path: '/echo', maxPayload: ECHO_MAX_BYTES });
  sockets.on('connection', echo);
  return service;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url?.split('?', 1)[0];
  switch (`${request.method} ${path}`) {
    case 'GET /':
    case 'HEAD /':
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.end(page(request.headers));
      break;
    case 'GET /clock':
      tick(response);
      break;
    case 'POST /upload':
      await receive(request, response);
      break;
    default:
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('The sample site has no such page.\n');
  }
}

/** Sends the time of this machine once a second, as server-sent events. */
function tick(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (): void => void response.write(`data: ${new Date().toISOString()}\n\n`);
  send();
  const timer = setInterval(send, TICK_MS);
  response.on('close', () => clearInterval(timer));
}

/** Reads a body of any size in constant memory and responds with what arrived. */
async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { sha256, length: bytes } = await digest(request);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.end(`${JSON.stringify({ bytes, sha256 })}\n`);
}

function echo(socket: WebSocket): void {
  socket.on('error', () => socket.terminate());
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}

const TEMPLATE = readFileSync(new URL('site.html', import.meta.url), 'utf8');

/** A path prefix that the relay adds before the site (protocol.md section 4.4). Anything else is not trusted. */
const PREFIX = /^\/t\/[A-Za-z0-9-]+$/;

/**
 * @param headers of the request: they contain the address and path under which the visitor sees the page
 */
export function page(headers: IncomingHttpHeaders): string {
  const { host = '' } = headers;
  const seenAs = String(headers['x-forwarded-host'] ?? host);
  const prefix = String(headers['x-forwarded-prefix'] ?? '');
  const base = PREFIX.test(prefix) ? `${prefix}/` : '/';
  const visitor = String(headers['x-forwarded-for'] ?? 'this machine, without a tunnel');
  return TEMPLATE.replace('{base}', base)
    .replace('{address}', () => escapeHtml(seenAs + (base === '/' ? '' : prefix)))
    .replace('{visitor}', () => escapeHtml(visitor));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
