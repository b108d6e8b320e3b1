/**
 * Serves the window to browsers: the files of the page to anybody who can connect, and main to pages with a session
 * (docs/decisions/0029-window-in-a-browser.md).
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Clock, Timer } from '../../client/clock.ts';
import { SESSION_OPEN, SESSION_PATH, SOCKET_PATH, SOCKET_PROTOCOL } from '../ipc/wire.ts';
import { contentSecurityPolicy } from '../ipc/views.ts';
import { readPageFile } from '../main/page-files.ts';
import {
  UI_BODY_MAX_BYTES,
  UI_CONNECTIONS_MAX,
  UI_HEAD_MAX_BYTES,
  UI_IDLE_TIMEOUT_MS,
  UI_MESSAGE_MAX_BYTES,
  UI_PAGES_MAX,
  UI_PING_MS,
  UI_REQUEST_TIMEOUT_MS,
} from './limits.ts';
import { PageAccess, requestProblem, sessionCookie } from './page-access.ts';
import { Page, type PageHandler } from './page.ts';

export interface WindowServerOptions {
  /** directory of the built renderer */
  readonly directory: string;
  readonly clock: Pick<Clock, 'setTimeout'>;
  readonly handler: PageHandler & {
    /** A page has connected. */
    opened(page: Page): void;
    /** It is gone. */
    closed(page: Page): void;
  };
  /** whether other machines may use the window */
  readonly isRemote: boolean;
}

/** Sent with every response. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export class WindowServer {
  readonly access = new PageAccess();
  readonly #options: WindowServerOptions;
  readonly #pages = new Set<Page>();
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: UI_MESSAGE_MAX_BYTES,
    perMessageDeflate: false,
    handleProtocols: () => SOCKET_PROTOCOL,
  });
  #pings: Timer | undefined;

  constructor(options: WindowServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        headersTimeout: UI_REQUEST_TIMEOUT_MS,
        requestTimeout: UI_REQUEST_TIMEOUT_MS,
        keepAliveTimeout: UI_IDLE_TIMEOUT_MS,
        maxHeaderSize: UI_HEAD_MAX_BYTES,
      },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = UI_CONNECTIONS_MAX;
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Pages that are connected, the earliest first. */
  get pages(): readonly Page[] {
    return [...this.#pages];
  }

  /**
   * @param port 0 for any
   * @returns the port
   * @throws the error of the system, such as `EADDRINUSE`
   */
  async listen(host: string, port: number): Promise<number> {
    this.#server.listen(port, host);
    await once(this.#server, 'listening');
    // A failed accept affects only one browser.
    this.#server.on('error', () => undefined);
    this.#probe();
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#pings?.cancel();
    this.#server.close();
    for (const page of this.#pages) page.close();
    this.#server.closeIdleConnections();
  }

  #probe(): void {
    for (const page of this.#pages) page.probe();
    this.#pings = this.#options.clock.setTimeout(() => this.#probe(), UI_PING_MS);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const problem = requestProblem(request, this.#options.isRemote);
    if (problem !== undefined) return end(response, 403, problem);
    const path = pathOf(request);
    if (path === SESSION_PATH) return this.#answerSession(request, response);
    if (request.method !== 'GET' && request.method !== 'HEAD') return end(response, 405, 'Use GET.');
    // Not every browser takes the WebSocket of the page's own origin for `'self'`.
    const policy = contentSecurityPolicy(`'self' ws://${request.headers.host ?? ''}`);
    const file = await readPageFile(this.#options.directory, path === '/' ? '/index.html' : path, policy);
    if (file === undefined) return end(response, 404, 'There is no such page.');
    response.writeHead(200, { ...HEADERS, ...file.headers, 'content-length': file.body.length });
    response.end(request.method === 'HEAD' ? undefined : file.body);
  }

  async #answerSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') {
      return end(response, 200, this.access.hasSession(request) ? SESSION_OPEN : 'none');
    }
    if (request.method !== 'POST') return end(response, 405, 'Use POST.');
    const token = await readBody(request);
    const session = token === undefined ? undefined : this.access.exchange(token);
    if (session === undefined) return end(response, 403, 'This link was used before, or is not valid.');
    response.writeHead(200, {
      ...HEADERS,
      'content-type': 'text/plain; charset=utf-8',
      'set-cookie': sessionCookie(request, session),
    });
    response.end(session.key);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const problem = requestProblem(request, this.#options.isRemote);
    if (problem !== undefined) return refuseUpgrade(socket, 403);
    if (pathOf(request) !== SOCKET_PATH) return refuseUpgrade(socket, 404);
    if (!this.access.hasSession(request)) return refuseUpgrade(socket, 401);
    if (this.#pages.size >= UI_PAGES_MAX) return refuseUpgrade(socket, 503);
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const { clock, handler } = this.#options;
      const page = new Page(webSocket, clock, handler);
      this.#pages.add(page);
      webSocket.on('close', () => {
        this.#pages.delete(page);
        handler.closed(page);
      });
      handler.opened(page);
    });
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    ...HEADERS,
    'content-security-policy': contentSecurityPolicy("'none'"),
    'content-type': 'text/plain; charset=utf-8',
    // The rest of its request is not read.
    connection: 'close',
  });
  response.end(text);
}

function refuseUpgrade(socket: Duplex, status: number): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** @returns `undefined` for a body that is too long, or not complete */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  let text = '';
  try {
    for await (const chunk of request.setEncoding('utf8')) {
      text += String(chunk);
      if (text.length > UI_BODY_MAX_BYTES) return undefined;
    }
    return text;
  } catch {
    return undefined;
  }
}
