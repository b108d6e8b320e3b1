/**
 * Serves the window to browsers: the files of the page to anybody who can connect, and main to pages with a session
 * (docs/decisions/0029-window-in-a-browser.md).
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { Clock, Timer } from '../../client/clock.ts';
import { readBuilt } from '../../client/own-program.ts';
import { KEY_HEADER, SESSION_OPEN, SESSION_PATH, SOCKET_PATH, SOCKET_PROTOCOL } from '../ipc/wire.ts';
import { contentSecurityPolicy, readPageFile } from '../main/page-files.ts';
import { Page, type PageHandler, UI_MESSAGE_MAX_BYTES } from './page.ts';

/** Maximum number of connections: each page has one WebSocket, and loads its few files over six more. */
const UI_CONNECTIONS_MAX = 128;
/** Maximum number of pages at the same time: more than a person looks at, and each gets every snapshot. */
const UI_PAGES_MAX = 16;
/** Maximum number of sessions; the oldest ends. A browser needs one for each link that is opened. */
export const UI_SESSIONS_MAX = 32;
/** Maximum number of links that were shown and not opened; the oldest becomes invalid. */
export const UI_TOKENS_MAX = 8;
/** How long a browser has to send a request: it is on this machine, or at the other end of an SSH forward. */
const UI_REQUEST_TIMEOUT_MS = 10_000;
/** How long a connection stays open without a request. */
const UI_IDLE_TIMEOUT_MS = 5000;
/** Maximum size of a request's head: a browser also sends the cookies of other programs on this machine. */
const UI_HEAD_MAX_BYTES = 16 * 1024;
/** Maximum size of the body that exchanges a token: it has about 40 bytes. */
const UI_BODY_MAX_BYTES = 256;
/** How often a page is asked for a sign of life; without one, it is gone by the next time. */
export const UI_PING_MS = 30_000;

export interface WindowServerOptions {
  /** directory of the built renderer */
  readonly directory: string;
  readonly clock: Pick<Clock, 'setTimeout'>;
  readonly handler: PageHandler;
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
    const read = (name: string): Buffer => readBuilt(join(this.#options.directory, name));
    const file = await readPageFile(read, path === '/' ? '/index.html' : path, policy);
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

/** 128 bits: nobody guesses one, however many they try. */
const SECRET_BYTES = 16;

/** What a browser gets for a token. Both are needed. */
interface Session {
  /** value of a cookie: no script can read it, but every server on this machine's name gets it, on any port */
  readonly cookie: string;
  /** stored by the page: no other server gets it */
  readonly key: string;
}

/** Keeps only hashes, and looks them up, so that the time taken says nothing about a secret. */
export class PageAccess {
  /** of tokens that were not exchanged yet, the oldest first */
  readonly #tokens = new Set<string>();
  /** hash of each session's cookie and key together, the oldest first */
  readonly #sessions = new Set<string>();

  /** A new token. It can be exchanged once. */
  createToken(): string {
    const token = newSecret();
    this.#tokens.add(hash(token));
    trim(this.#tokens, UI_TOKENS_MAX);
    return token;
  }

  /** Whether a token can still be exchanged. */
  isUnused(token: string): boolean {
    return this.#tokens.has(hash(token));
  }

  /** @returns `undefined` for a token that is unknown or was exchanged before */
  exchange(token: string): Session | undefined {
    if (!this.#tokens.delete(hash(token))) return undefined;
    const session = { cookie: newSecret(), key: newSecret() };
    this.#sessions.add(hash(session.cookie, session.key));
    trim(this.#sessions, UI_SESSIONS_MAX);
    return session;
  }

  /** Whether a request has the cookie of a session, and the key that belongs to it. */
  hasSession(request: IncomingMessage): boolean {
    const key = keyOf(request);
    return cookiesOf(request).some((cookie) => this.#sessions.has(hash(cookie, key)));
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function hash(...secrets: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(secrets)).digest('base64');
}

function trim(secrets: Set<string>, max: number): void {
  const [oldest] = secrets;
  if (secrets.size > max && oldest !== undefined) secrets.delete(oldest);
}

/** A browser can set headers of requests, but of a WebSocket only the subprotocols. */
function keyOf({ headers }: IncomingMessage): string {
  const header = headers[KEY_HEADER];
  if (typeof header === 'string') return header;
  const offered = headers['sec-websocket-protocol']?.split(',').map((each) => each.trim()) ?? [];
  return offered.find((each) => each !== SOCKET_PROTOCOL) ?? '';
}

/** Another server on this machine may have set a cookie of the same name, for another path. */
function cookiesOf(request: IncomingMessage): string[] {
  const name = cookieName(request);
  const pairs = request.headers.cookie?.split(';').map((each) => each.trim().split('=')) ?? [];
  return pairs.flatMap(([each, value]) => (each === name && value !== undefined ? [value] : []));
}

/** By the port that the browser sees, because browsers send the cookies of a host to all of its ports. */
function cookieName({ headers }: IncomingMessage): string {
  return `culvert-${URL.parse(`http://${headers.host}`)?.port || '80'}`;
}

/** The value of `Set-Cookie` that starts a session. It ends with the browser. */
export function sessionCookie(request: IncomingMessage, { cookie }: Session): string {
  return `${cookieName(request)}=${cookie}; Path=/; HttpOnly; SameSite=Strict`;
}

/**
 * Checks where a request comes from, before anything else is read from it.
 *
 * A page of another site cannot choose these fields: `Host` tells a name that was rebound to this machine, `Origin` and
 * `Sec-Fetch-Site` (Fetch Metadata) a page of another origin.
 *
 * @param isRemote whether other machines may use the window: then its addresses are also accepted, but never a name
 * @returns the reason for refusing it; `undefined` if it may continue
 */
export function requestProblem(request: IncomingMessage, isRemote: boolean): string | undefined {
  const { headers, method, rawHeaders } = request;
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  if (names.filter((name) => name === 'host').length !== 1) return 'It needs one Host field.';
  const host = headers.host ?? '';
  if (!isOwnHost(host, isRemote)) {
    return isRemote
      ? 'Open the window by an IP address of this machine.'
      : 'Open the window by localhost or 127.0.0.1.';
  }
  const { origin, upgrade } = headers;
  const changes = upgrade !== undefined || (method !== 'GET' && method !== 'HEAD');
  if (origin === undefined ? changes : origin !== `http://${host}`) return 'It comes from another origin.';
  const site = headers['sec-fetch-site'];
  // A link to the window may be anywhere; a frame, a script or a picture of it may not.
  const isVisit = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (site === undefined || site === 'same-origin' || site === 'none' || (isVisit && !changes))
    return undefined;
  return 'It comes from another site.';
}

function isOwnHost(host: string, isRemote: boolean): boolean {
  const url = URL.parse(`http://${host}`);
  // With a path or a user, or written in another way, it is nothing that a browser sends.
  if (url === null || (url.host !== host && `${url.host}:80` !== host)) return false;
  const { hostname } = url;
  if (hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]') return true;
  return isRemote && isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}
