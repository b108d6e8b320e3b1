/** Who may use the window in a browser: the holder of a link that was shown in the terminal, and nobody else. */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { KEY_HEADER, SOCKET_PROTOCOL } from '../ipc/wire.ts';
import { UI_SESSIONS_MAX, UI_TOKENS_MAX } from './limits.ts';

/** 128 bits: nobody guesses one, however many they try. */
const SECRET_BYTES = 16;

/** What a browser gets for a token. Both are needed. */
export interface Session {
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
