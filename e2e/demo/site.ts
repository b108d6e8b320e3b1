/** The sample local site of the demo: a page, a clock by server-sent events, an echo WebSocket and an upload. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { page } from './page.ts';

const TICK_MS = 1000;
const ECHO_MAX_BYTES = 1024 * 1024;

/** Starts the site on a free port of 127.0.0.1. */
export function startSite(): Promise<{ port: number; server: Server }> {
  const server = createServer(answer);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: ECHO_MAX_BYTES });
  server.on('upgrade', (request, socket, head) => {
    if (request.url === '/echo') sockets.handleUpgrade(request, socket, head, echo);
    else socket.destroy();
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('the site has no port'));
      else resolve({ port: address.port, server });
    });
  });
}

function answer(request: IncomingMessage, response: ServerResponse): void {
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
      receive(request, response);
      break;
    default:
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('The sample site has no such page.\n');
  }
}

/** Server-sent events: the time of this machine, once a second. */
function tick(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = (): void => void response.write(`data: ${new Date().toISOString()}\n\n`);
  send();
  const timer = setInterval(send, TICK_MS);
  response.on('close', () => clearInterval(timer));
}

/** Takes a body of any size in constant memory and responds with what arrived. */
function receive(request: IncomingMessage, response: ServerResponse): void {
  const hash = createHash('sha256');
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  request.on('error', () => response.destroy());
  request.on('end', () => {
    response.setHeader('content-type', 'application/json; charset=utf-8');
    response.end(`${JSON.stringify({ bytes, sha256: hash.digest('hex') })}\n`);
  });
}

function echo(socket: WebSocket): void {
  socket.on('error', () => socket.terminate());
  socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
}
