import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import { Random } from '../support/random.ts';
import { type Field, RawConnection } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { isLong, Scope } from '../support/scope.ts';
import { type Service, startRawService } from '../support/services/listen.ts';

const REQUESTS = isLong ? 4000 : 1500;
const AT_ONCE = 24;
const METHODS = ['GET', 'GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST'] as const;

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
const KINDS = Object.keys(RESPONSES);

function head(fields: string, seen: string, status = '200 OK', version = '1.1'): string {
  return `HTTP/${version} ${status}\r\nSeen: ${seen}\r\n${fields}\r\n\r\n`;
}

function withLength(seen: string): readonly [string, string] {
  return [head(`Content-Length: ${seen.length}`, seen), seen];
}

describe('local connections that serve one visitor after another', () => {
  const { scope, relay } = sharedRelaySuite();
  let service: FickleService;
  let host: string;

  before(async () => {
    service = await startFickleService(scope);
    const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
    host = hostOf(tunnel, relay);
  });

  /** A visitor with one request or two. */
  async function visit(index: number): Promise<void> {
    const visitor = new Scope();
    try {
      const connection = await RawConnection.open(visitor, relay.port);
      const kind = KINDS[index % KINDS.length] ?? '';
      const method = METHODS[Math.floor(index / KINDS.length) % METHODS.length] ?? 'GET';
      const isLast = index % 5 !== 0;
      const headers: Field[] = [['Visitor', String(index)]];
      if (index % 11 === 0) headers.push(['Authorization', 'NTLM TlRMTVNTUAAB']);
      headers.push(isLast ? ['Connection', 'close'] : ['Stays', 'yes']);
      await ask(connection, method, `/${index}`, kind, headers);
      if (!isLast && kind !== 'close' && kind !== 'old')
        await ask(connection, 'GET', `/${index}/again`, 'length', headers);
    } finally {
      await visitor.end();
    }
  }

  async function ask(
    connection: RawConnection,
    method: string,
    path: string,
    kind: string,
    headers: readonly Field[],
  ): Promise<void> {
    const body = method === 'POST' ? { body: path } : {};
    const answer = await connection.request({ method, host, target: `/${kind}${path}`, headers, ...body });
    const isBodiless = method === 'HEAD' || kind === 'empty' || kind === 'unchanged';
    const status = kind === 'empty' ? 204 : kind === 'unchanged' ? 304 : 200;
    assert.deepEqual(
      [answer.status, answer.head.field('seen'), answer.text],
      [status, path, isBodiless ? '' : path],
      `${method} /${kind}${path}`,
    );
  }

  it(`${REQUESTS} visitors of a service that closes connections at any time each get their own response`, async () => {
    let next = 0;
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (next < REQUESTS) {
          next += 1;
          await visit(next);
        }
      }),
    );
    assert.ok(service.shared > REQUESTS / 20, `only ${service.shared} requests shared a connection`);
    assert.equal(service.mixed, 0);
    console.log(`      ${service.shared} requests came over ${service.accepted} connections after another's`);
  });
});

/** A service that counts what happens on its connections. */
interface FickleService extends Service {
  /** requests on a connection that had carried another visitor's request */
  shared: number;
  /** the subset of `shared` after or with a login, which may apply to the whole connection */
  mixed: number;
}

/**
 * Starts a service that responds in every possible way, and closes connections at any moment between two requests: soon
 * after a response, with or without a 408, and instead of responding to the next request.
 */
async function startFickleService(scope: Scope): Promise<FickleService> {
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
