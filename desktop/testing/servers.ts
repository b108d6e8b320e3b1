/** Small servers on loopback for tests. */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
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
