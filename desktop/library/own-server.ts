/** Servers of this process that a tunnel may forward to. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  Server,
  type ServerResponse,
} from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { ProcessHold } from '../client/clock.ts';
import type { RawMode } from '../client/local/local-service.ts';
import type { Upstream } from '../../shared/value-rules.ts';
import type { AppWithCallback } from './types/index.d.ts';

export type Exposable = Server | SecureServer | RequestListener | AppWithCallback;

/** A server that listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
  readonly https: boolean;
  /** `http1` by default */
  readonly upstream?: Upstream;
  /** for a tunnel that carries bytes instead of HTTP */
  readonly raw?: RawMode | undefined;
  /** a header that requests need, known only to the tunnel; only if the server was started for it */
  readonly secret?: string | undefined;
  /** Lets the process end, if the server was started for the tunnel. */
  unref(): void;
  /** Ends the server if it was started for the tunnel; never rejects. */
  close(): Promise<void>;
}

export function isExposable(value: object): value is Exposable {
  return (
    typeof value === 'function' ||
    value instanceof Server ||
    value instanceof SecureServer ||
    'callback' in value
  );
}

/** Has a server or an app listen on a loopback port, unless it is listening already. */
export async function listening(what: Exposable): Promise<Listening> {
  const server = serverOf(what);
  const https = server instanceof SecureServer;
  const isStarted = !server.listening;
  const guard = isStarted ? new Guard(server) : undefined;
  const hold = new ProcessHold();
  if (isStarted) server.on('connection', (socket) => hold.addSocket(socket));
  if (isStarted) await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new TypeError('expose needs a server that listens on a port instead of a path');
  return {
    host: hostAt(address),
    port: address.port,
    https,
    secret: guard?.line,
    unref() {
      if (!isStarted) return;
      server.unref();
      hold.release();
    },
    async close() {
      if (!isStarted) return;
      await end(server);
      guard?.remove();
    },
  };
}

/** The host under which this machine reaches a server on that address. */
export function hostAt({ address }: AddressInfo): string {
  return address === '::' || address === '0.0.0.0' ? 'localhost' : address;
}

function serverOf(what: Exposable): Server | SecureServer {
  if (what instanceof Server || what instanceof SecureServer) return what;
  return createServer(typeof what === 'function' ? what : what.callback());
}

function end(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Events of a server that hand over a request. */
const REQUEST_EVENTS: ReadonlySet<unknown> = new Set([
  'request',
  'checkContinue',
  'checkExpectation',
  'upgrade',
  'connect',
]);
const SECRET_NAME = 'culvert-expose';

/**
 * Refuses requests that do not come through the tunnel: other programs and pages of this machine can reach the port, and would
 * bypass the tunnel's access policy. It is a header, and not the Host as for shared folders, because apps read the Host.
 */
class Guard {
  readonly #server: Server | SecureServer;
  readonly #secret = randomBytes(16).toString('hex');

  constructor(server: Server | SecureServer) {
    this.#server = server;
    const emit = server.emit.bind(server) as (event: unknown, ...args: unknown[]) => boolean;
    const guarded = (event: unknown, ...args: unknown[]): boolean => {
      if (!REQUEST_EVENTS.has(event)) return emit(event, ...args);
      const [request, answer] = args as [IncomingMessage, ServerResponse | Socket];
      if (this.#takeSecret(request)) return emit(event, ...args);
      refuse(answer);
      return true;
    };
    Object.defineProperty(server, 'emit', { value: guarded, configurable: true, writable: true });
  }

  /** The header, as the tunnel adds it to requests. */
  get line(): string {
    return `${SECRET_NAME}: ${this.#secret}`;
  }

  remove(): void {
    Reflect.deleteProperty(this.#server, 'emit');
  }

  /** Whether the request has the secret, which the app does not see. */
  #takeSecret(request: IncomingMessage): boolean {
    const { headers, rawHeaders } = request;
    if (headers[SECRET_NAME] !== this.#secret) return false;
    delete headers[SECRET_NAME];
    const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === SECRET_NAME);
    rawHeaders.splice(at, 2);
    return true;
  }
}

function refuse(answer: ServerResponse | Socket): void {
  const text = 'This port is for a tunnel only.\n';
  if ('writeHead' in answer) {
    answer.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(text);
    return;
  }
  answer.on('error', () => {});
  answer.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
}
