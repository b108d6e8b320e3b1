/**
 * The ports of TCP tunnels (protocol.md section 17): the relay listens on each for as long as its tunnel lives. Which tunnel has
 * a port is known to the store, and to the registry for live ones.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '../clock.ts';
import { KEEP_ALIVE_MS, LISTEN_BACKLOG } from '../listeners.ts';
import { errorFields, type Log } from '../log.ts';

/** Delay before the relay tries again to listen on the port of a live tunnel that another program uses. */
export const PORT_RETRY_MS = 5000;

/** Consecutive ports. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

const OPTIONS = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_MS,
};

interface TcpPortsOptions {
  readonly range: PortRange;
  /** address to listen on */
  readonly host: string;
  /** Whether other relays on this machine listen on the same ports. */
  readonly isShared: boolean;
  readonly clock: Pick<Clock, 'setTimeout'>;
  readonly log: Log;
}

/** Takes a connection to a port. */
type Accept = (tcp: Socket, port: number) => void;

export class TcpPorts {
  readonly range: PortRange;
  readonly #o: TcpPortsOptions;
  /** ports of live tunnels */
  readonly #wanted = new Set<number>();
  readonly #servers = new Map<number, Server>();
  readonly #retries = new Map<number, Timer>();
  /** connections that have arrived before there was anybody to take them */
  readonly #early: [tcp: Socket, port: number][] = [];
  #accept: Accept = (tcp, port) => {
    if (this.#early.length >= LISTEN_BACKLOG) tcp.destroy();
    else this.#early.push([tcp.on('error', () => tcp.destroy()), port]);
  };
  #state: 'loading' | 'listening' | 'closed' = 'loading';
  /** Whether the previous relay still listens on the same ports. */
  #takesOver = false;

  constructor(options: TcpPortsOptions) {
    this.#o = options;
    this.range = options.range;
  }

  /**
   * Listens on the port of a tunnel that is about to be created.
   *
   * @returns false if another program uses it, or this one may not use it
   */
  async bind(port: number): Promise<boolean> {
    return (await this.#listen(port)) === undefined;
  }

  /** The tunnel with the port lives: listens on it, if it is not bound yet, as soon as that is possible. */
  serve(port: number): void {
    if (port < this.range.first || port > this.range.last) return;
    this.#wanted.add(port);
    if (this.#state === 'listening' && !this.#servers.has(port)) void this.#listenOrRetry(port);
  }

  /** No tunnel has the port any longer. */
  release(port: number): void {
    this.#wanted.delete(port);
    this.#retries.get(port)?.cancel();
    this.#retries.delete(port);
    this.#servers.get(port)?.close();
    this.#servers.delete(port);
  }

  /**
   * Listens on the ports of all live tunnels, and from now on on those of new ones.
   *
   * @param takesOver whether another relay listens on the same ports until this one serves
   */
  async start(takesOver: boolean): Promise<void> {
    this.#state = 'listening';
    this.#takesOver = takesOver;
    await Promise.all([...this.#wanted].map((port) => this.#listenOrRetry(port)));
    this.#takesOver = false;
  }

  /** @param accept takes all connections, including those that have arrived already */
  acceptWith(accept: Accept): void {
    this.#accept = accept;
    for (const [tcp, port] of this.#early.splice(0)) accept(tcp, port);
  }

  /** Listens no more. */
  close(): void {
    this.#state = 'closed';
    for (const port of new Set([...this.#wanted, ...this.#servers.keys()])) this.release(port);
  }

  async #listenOrRetry(port: number): Promise<void> {
    const error = await this.#listen(port);
    if (error === undefined || this.#state === 'closed' || !this.#wanted.has(port)) return;
    this.#o.log('tcp port unavailable', { port, ...errorFields(error) });
    const retry = (): void => void this.#listenOrRetry(port);
    this.#retries.set(port, this.#o.clock.setTimeout(retry, PORT_RETRY_MS));
  }

  /** @returns why the port cannot be listened on */
  async #listen(port: number): Promise<unknown> {
    if (this.#state === 'closed') return new Error('the relay listens no more');
    const server = createServer(OPTIONS);
    const { host, isShared, log } = this.#o;
    this.#servers.set(port, server);
    try {
      // The next relay listens on the port as well before this one stops to. Until then, nobody else may.
      if (!isShared && !this.#takesOver) await probe(host, port);
      if (this.#servers.get(port) !== server) return undefined;
      server.on('connection', (tcp) => this.#accept(tcp, port));
      server.listen({ host, port, reusePort: canShare, backlog: LISTEN_BACKLOG });
      await once(server, 'listening');
    } catch (error) {
      server.close();
      if (this.#servers.get(port) === server) this.#servers.delete(port);
      return error;
    }
    // Out of file descriptors, for example: the next accept may succeed.
    server.on('error', (error) => log('internal error', { at: 'tcp port', ...errorFields(error) }));
    if (this.#servers.get(port) !== server) server.close();
    return undefined;
  }
}

/** Whether several sockets can listen on a port (`SO_REUSEPORT`). */
const canShare = process.platform === 'linux';

/** @throws the system's error if the port is in use */
async function probe(host: string, port: number): Promise<void> {
  const server = createServer();
  server.listen({ host, port });
  await once(server, 'listening');
  server.close();
}
