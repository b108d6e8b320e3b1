import type { Socket } from 'node:net';
import { within } from '../deadline.ts';
import { Random } from '../random.ts';
import { SocketReader } from '../raw-http.ts';
import type { Scope } from '../scope.ts';
import { type Service, startRawService } from './listen.ts';

/** A connection that has reached a scripted service. */
export interface LocalConnection {
  readonly socket: Socket;
  readonly reader: SocketReader;
  /** Reads a request head, to the empty line. */
  head(): Promise<string>;
  /** Sends bytes unchanged. */
  write(bytes: string): void;
}

/** A local service whose every byte the test sends, one connection after the other. */
export interface ScriptedService extends Service {
  /** The next connection; waits for it up to 15 s. */
  next(): Promise<LocalConnection>;
}

export async function startScriptedService(scope: Scope): Promise<ScriptedService> {
  const arrived: LocalConnection[] = [];
  let wake = Promise.withResolvers<void>();
  const service = await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    arrived.push({
      socket,
      reader,
      head: async () => (await reader.through('\r\n\r\n')).toString('latin1'),
      write: (bytes) => void socket.write(Buffer.from(bytes, 'latin1')),
    });
    wake.resolve();
  });
  async function next(): Promise<LocalConnection> {
    for (;;) {
      const connection = arrived.shift();
      if (connection !== undefined) return connection;
      wake = Promise.withResolvers<void>();
      await within(20_000, 'connection to the local service', wake.promise);
    }
  }
  return Object.assign(service, { next });
}

/**
 * Starts a service that responds with the same bytes to every request.
 *
 * @param options `keepsOpen`: it responds to every request of a connection; otherwise it ends each connection after the
 * first
 */
export async function startFixedResponse(
  scope: Scope,
  response: string,
  options: { readonly keepsOpen?: boolean } = {},
): Promise<Service> {
  return await startRawService(scope, (socket) => {
    const reader = new SocketReader(socket);
    async function serve(): Promise<void> {
      do {
        await reader.through('\r\n\r\n');
        socket.write(Buffer.from(response, 'latin1'));
      } while (options.keepsOpen === true);
      socket.end();
    }
    serve().catch(() => socket.destroy());
  });
}

/** Head and content of the responses, by the first part of the request's path. The rest of the path is the content. */
const RESPONSES: Record<string, (seen: string) => readonly [head: string, content: string]> = {
  length: withLength,
  chunked: (seen) => [
    head('Transfer-Encoding: chunked', seen),
    `${seen.length.toString(16)}\r\n${seen}\r\n0\r\nTrailing: x\r\n\r\n`,
  ],
  early: (seen) => [
    `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${head(`Content-Length: ${seen.length}`, seen)}`,
    seen,
  ],
  empty: (seen) => [head('X: y', seen, '204 No Content'), ''],
  unchanged: (seen) => [head('X: y', seen, '304 Not Modified'), ''],
  // The additional bytes belong to no request.
  more: (seen) => [head(`Content-Length: ${seen.length}`, seen), seen + withLength('/nobody').join('')],
  ntlm: (seen) => [head(`WWW-Authenticate: NTLM\r\nContent-Length: ${seen.length}`, seen), seen],
  // These responses end with their connection.
  close: (seen) => [head('Connection: close', seen), seen],
  old: (seen) => [head('X: y', seen, '200 OK', '1.0'), seen],
};
const ENDING = new Set(['close', 'old']);
export const FICKLE_RESPONSES = Object.keys(RESPONSES);

function head(fields: string, seen: string, status = '200 OK', version = '1.1'): string {
  return `HTTP/${version} ${status}\r\nSeen: ${seen}\r\n${fields}\r\n\r\n`;
}

function withLength(seen: string): readonly [string, string] {
  return [head(`Content-Length: ${seen.length}`, seen), seen];
}

/** A service that counts what happens on its connections. */
export interface FickleService extends Service {
  /** requests on a connection that had carried another visitor's request */
  shared: number;
  /** the subset of `shared` after or with a login, which may apply to the whole connection */
  mixed: number;
}

/**
 * Starts a service that responds in every possible way, and closes connections at any moment between two requests: soon
 * after a response, with or without a 408, and instead of responding to the next request.
 */
export async function startFickleService(scope: Scope): Promise<FickleService> {
  const random = new Random(1);
  const service = await startRawService(scope, serve);
  const fickle: FickleService = Object.assign(service, { shared: 0, mixed: 0 });
  return fickle;

  function serve(socket: Socket): void {
    let text = '';
    const visitors = new Set<string>();
    let hasLogin = false;
    let leaves = false;
    let leaving: NodeJS.Timeout | undefined;
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      clearTimeout(leaving);
      text += bytes.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      const [, method = '', kind = '', path = ''] = /^(\S+) \/([a-z]+)(\S+)/.exec(text) ?? [];
      const visitor = /^visitor: (\S+)/im.exec(text)?.[1] ?? '';
      const stays = /^stays:/im.test(text);
      hasLogin ||= /^authorization:/im.test(text);
      text = '';
      if (visitors.size > 0 && !visitors.has(visitor)) {
        fickle.shared += 1;
        if (hasLogin) fickle.mixed += 1;
      }
      visitors.add(visitor);
      if (leaves) {
        if (random.below(2) === 0) socket.resetAndDestroy();
        else socket.end();
        return;
      }
      respond(method, kind, path, stays);
    });

    function respond(method: string, kind: string, path: string, stays: boolean): void {
      const [first = '', content = ''] = RESPONSES[kind]?.(path) ?? [];
      const sent = method === 'HEAD' ? first : first + content;
      if (ENDING.has(kind)) {
        socket.end(sent);
        return;
      }
      // Bytes that belong to no request are sent together with the end of the response. If sent later, they may be
      // taken for the next response, which can also happen without a tunnel.
      const own = kind === 'more' ? first.length + path.length : sent.length;
      const isCut = !(kind === 'more' && (stays || method === 'HEAD')) && random.below(3) === 0;
      const cut = isCut ? 1 + random.below(own - 1) : sent.length;
      socket.write(sent.slice(0, cut));
      if (cut < sent.length) setImmediate(() => socket.write(sent.slice(cut)));
      const next = random.below(8);
      if (next === 0) leaves = true;
      if (next === 1) leaving = setTimeout(() => socket.end(), random.below(4));
      // A visitor who stays would take it for the response to its next request, which can also happen without a tunnel.
      if (next === 2 && !stays) {
        const timedOut = 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
        leaving = setTimeout(() => socket.end(timedOut), 1 + random.below(4));
      }
    }
  }
}
