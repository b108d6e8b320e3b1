/** Small servers on loopback for tests: plain ones, a proxy, and the halves of a relay. */
import { EventEmitter, once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import { TUNNEL } from './fake-platform.ts';
import { parseRelayAddress, type RelayAddress } from '../client/relay/relay-address.ts';

const endings: (() => void)[] = [];

/** Makes {@link closeServers} call the function. */
export function atClose(end: () => void): void {
  endings.push(end);
}

/** Listens on that port, or on a free one, and returns it. */
export async function listen(server: Server | HttpServer, host = '127.0.0.1', wanted = 0): Promise<number> {
  server.listen(wanted, host);
  await once(server, 'listening');
  atClose(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no TCP server');
  return address.port;
}

/** A TCP server; its connections end with {@link closeServers}. */
export function startTcp(
  onConnection: (socket: Socket) => void,
  host?: string,
  port?: number,
): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    atClose(() => socket.destroy());
    onConnection(socket);
  });
  return listen(server, host, port);
}

/** A TLS server with {@link CERTIFICATE}; its connections end with {@link closeServers}. */
export function startTls(onConnection: (socket: Socket) => void, host?: string): Promise<number> {
  const server = createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY }, (socket) => {
    socket.on('error', () => {});
    atClose(() => socket.destroy());
    onConnection(socket);
  });
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return listen(server, host);
}

export async function startHttp(listener: RequestListener): Promise<RelayAddress> {
  const server = createHttpServer(listener);
  atClose(() => server.closeAllConnections());
  return parseRelayAddress(`http://127.0.0.1:${await listen(server)}`);
}

/** A port of loopback on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}

/** For `afterEach`. */
export function closeServers(): void {
  for (const end of endings.splice(0)) end();
}

interface TestProxy {
  readonly port: number;
  /** authorities that were asked for, and the credentials, in order */
  readonly asked: { readonly authority: string; readonly authorization: string | undefined }[];
}

/**
 * @param answer its response to a request instead of connecting; `undefined` to connect, `''` to hang
 * @param start makes it listen with TLS instead
 */
export async function startProxy(
  answer: (authorization: string | undefined) => string | undefined = () => undefined,
  start: typeof startTls = startTcp,
): Promise<TestProxy> {
  const asked: TestProxy['asked'] = [];
  const port = await start((client) => {
    let head = '';
    client.on('data', function read(chunk: Buffer) {
      head += chunk.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      client.off('data', read);
      const [, authority = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head) ?? [];
      const authorization = /^Proxy-Authorization: (.*)$/m.exec(head)?.[1]?.trim();
      asked.push({ authority, authorization });
      const said = answer(authorization);
      client.once('end', () => client.destroy()).resume();
      if (said === undefined) join(client, authority);
      else if (said !== '') client.end(said);
    });
  });
  return { port, asked };
}

function join(client: Socket, authority: string): void {
  const [, host = '', port] = /^\[?(.*?)\]?:(\d+)$/.exec(authority) ?? [];
  // All names in the tests mean this machine.
  const target = connect(Number(port), host.endsWith('.test') ? '127.0.0.1' : host);
  atClose(() => target.destroy());
  target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  target.once('connect', () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    client.pipe(target).pipe(client);
    client.once('close', () => target.destroy());
    target.once('close', () => client.destroy());
  });
}

/** Status, JSON body and fields of a response. */
export type RestResponse = readonly [status: number, body: unknown, fields?: Record<string, string>];

/** The REST interface of a relay, without WebSockets; `closeServers` ends it. */
interface RestRelay {
  readonly address: RelayAddress;
  /** method, path and body of the requests it got */
  readonly calls: string[];
}

/** @param answer returns the response to `GET /v1/account` and the like */
export async function startRestRelay(answer: (call: string) => RestResponse): Promise<RestRelay> {
  const calls: string[] = [];
  const reply = replying((call) => {
    calls.push(call);
    return answer(call);
  });
  return { address: await startHttp(reply), calls };
}

function replying(answer: (call: string) => RestResponse): RequestListener {
  async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body, fields] = answer(`${request.method} ${request.url} ${await text(request)}`.trim());
    response.writeHead(status, fields);
    response.end(JSON.stringify(body));
  }
  return (request, response) => void reply(request, response);
}

export interface FakeRelay {
  readonly address: RelayAddress;
  /** `Authorization` fields of the control sockets, in order */
  readonly keys: (string | undefined)[];
  /** The next control socket. */
  control(): Promise<WebSocket>;
  /** The next data socket of an announced connection, and the request target it was opened with. */
  data(): Promise<{ socket: WebSocket; target: string | undefined }>;
  /** The next trunk, and the request target it was opened with. */
  trunk(): Promise<{ socket: WebSocket; target: string | undefined }>;
  /** Answers upgrades with these bytes instead of a handshake, from now on; `undefined` to accept them again. */
  refuseWith(answer: string | undefined): void;
}

/**
 * Starts a relay that accepts every control and data socket, and every trunk; `closeServers` ends it.
 *
 * @param rest as for {@link startRestRelay}
 */
export async function startFakeRelay(
  rest: (call: string) => RestResponse = () => [404, { error: 'not found' }],
): Promise<FakeRelay> {
  const accepted = new EventEmitter();
  const keys: (string | undefined)[] = [];
  const sockets = new WebSocketServer({ noServer: true });
  let refusal: string | undefined;
  const server = createHttpServer(replying(rest));
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => {});
    if (refusal !== undefined) {
      socket.end(refusal);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('error', () => {});
      const [, kind = ''] = /^\/ws\/(\w+)\?/.exec(request.url ?? '') ?? [];
      if (kind === 'control') keys.push(request.headers.authorization);
      accepted.emit(kind, webSocket, request.url);
    });
  });
  const port = await listen(server);
  atClose(() => {
    for (const socket of sockets.clients) socket.terminate();
  });
  return {
    address: parseRelayAddress(`http://127.0.0.1:${port}`),
    keys,
    async control() {
      const [socket] = (await once(accepted, 'control')) as [WebSocket];
      return socket;
    },
    async data() {
      const [socket, target] = (await once(accepted, 'data')) as [WebSocket, string | undefined];
      return { socket, target };
    },
    async trunk() {
      const [socket, target] = (await once(accepted, 'trunk')) as [WebSocket, string | undefined];
      return { socket, target };
    },
    refuseWith(answer) {
      refusal = answer;
    },
  };
}

/** A fake relay whose clock is a day ahead, with one tunnel that expires in 10 minutes; `closeServers` ends it. */
export async function startTunnelRelay() {
  const calls: string[] = [];
  // Dates of HTTP have no fractions of a second.
  const time = Math.floor(Date.now() / 1000 + 24 * 3600) * 1000;
  const relay = await startFakeRelay((call) => {
    calls.push(call);
    const { local_port = 1 } = JSON.parse(/\{.*/.exec(call)?.[0] ?? '{}') as { local_port?: number };
    const expires_at = new Date(time + (call.startsWith('PUT') ? 60 : 10) * 60_000).toISOString();
    const status = call.startsWith('POST') ? 201 : 200;
    return [status, { ...TUNNEL, local_port, expires_at }, { date: new Date(time).toUTCString() }];
  });
  return { relay: relay.address.origin, calls, control: () => relay.control() };
}

/**
 * A self-signed certificate for tests, for `localhost` and 127.0.0.1: nobody trusts it unless it is given as an authority.
 * Valid until 2126.
 */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUVHKSXUr4isQdPiH22wtnu33jSKAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTE1NTQ1M1oYDzIxMjYxMDI4
MTU1NDUzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATBpP4TgYhz/L9IDvYoZGAY7EbCFZOhhG4nnkytv56j4Gq25kVm+/Rg
dHdYmvM7WpM4V8zNbm0kKj+Dr+iHnfzto28wbTAdBgNVHQ4EFgQUE/NZkoDo1Xfr
jGu49hDwfKavN2wwHwYDVR0jBBgwFoAUE/NZkoDo1XfrjGu49hDwfKavN2wwGgYD
VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSAAwRQIhAO4WNUkFDXMUh/gu06SOEBgOCAd5F28RYXM3IKq/4hceAiBn
ahE9FlGowUadOxY2xLXwpibH9WUwMZUSpkaEUbgonw==
-----END CERTIFICATE-----`;

/** Its key, which protects nothing. */
export const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRIme9rK73IxOu1Je
bkoQGkvzOw/GstTuZmYe34h6apuhRANCAATBpP4TgYhz/L9IDvYoZGAY7EbCFZOh
hG4nnkytv56j4Gq25kVm+/RgdHdYmvM7WpM4V8zNbm0kKj+Dr+iHnfzt
-----END PRIVATE KEY-----`;
