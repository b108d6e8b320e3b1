import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Scope } from '../scope.ts';

/** A local service on a free port of 127.0.0.1. */
export interface Service {
  readonly port: number;
  /** Connections that are open now. */
  readonly open: ReadonlySet<Socket>;
  /** How many connections there were so far. */
  accepted: number;
}

export interface HttpService extends Service {
  readonly server: HttpServer;
}

/**
 * Starts an HTTP service; ends with the scope, connections and all.
 *
 * @param port a free one by default
 */
export async function startHttpService(
  scope: Scope,
  listener: RequestListener,
  port = 0,
): Promise<HttpService> {
  const server = createHttpServer({ keepAliveTimeout: 60_000 }, listener);
  return Object.assign(await listen(scope, server, port), { server });
}

/** Starts a service that sends raw bytes. Half-open connections stay open. */
export async function startRawService(
  scope: Scope,
  onConnection: (socket: Socket) => void,
): Promise<Service> {
  return await listen(scope, createServer({ allowHalfOpen: true, noDelay: true }, onConnection));
}

async function listen(scope: Scope, server: Server, port = 0): Promise<Service> {
  const open = new Set<Socket>();
  const service = { port: 0, open, accepted: 0 };
  server.on('connection', (socket: Socket) => {
    service.accepted += 1;
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  service.port = (server.address() as AddressInfo).port;
  scope.defer(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return service;
}

/**
 * A range outside the ephemeral ports of common systems, so that no outgoing connection occupies a port before it is
 * listened on.
 */
const CHOSEN_PORTS = { first: 20_000, behind: 26_000 };
/**
 * A port is reserved by binding the UDP port that is this much higher. A proxy may use the UDP port of the same number
 * for HTTP/3.
 */
const RESERVATION_OFFSET = 6000;

/**
 * A port of 127.0.0.1 on which nothing listens, and which no other caller is given. Something may listen there later,
 * or again.
 */
export async function closedPort(): Promise<number> {
  for (;;) {
    const port = randomInt(CHOSEN_PORTS.first, CHOSEN_PORTS.behind);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
}

/** Consecutive ports such as those of {@link closedPort}, in the form of CULVERT_TCP_PORTS. */
export async function closedPorts(count: number): Promise<string> {
  for (;;) {
    const first = randomInt(CHOSEN_PORTS.first, CHOSEN_PORTS.behind - count);
    let port = first;
    while (port < first + count && (await reserve(port)) && (await isFree(port))) port += 1;
    if (port === first + count) return `${first}-${port - 1}`;
  }
}

/** Reserves a port among all processes that call this, as long as this process lives. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  return await new Promise((resolve) => {
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port: port + RESERVATION_OFFSET, address: '127.0.0.1', exclusive: true }, () =>
      resolve(true),
    );
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listens = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (listens) await new Promise((resolve) => server.close(resolve));
  return listens;
}
