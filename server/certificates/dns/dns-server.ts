/** The relay as the authoritative server for the names of dns-01 challenges (RFC 8555 section 8.4). */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import {
  type AddressInfo,
  createServer,
  isIP,
  isIPv4,
  isIPv6,
  type Server,
  type Socket as NetSocket,
} from 'node:net';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { networkOf } from '../../address-network.ts';
import type { Clock } from '../../clock.ts';
import { ConnectionCap } from '../../connection-cap.ts';
import type { Listeners } from '../../listeners.ts';
import type { Log } from '../../log.ts';
import { dnsQuestions } from '../../observe/counters.ts';
import { RateLimiter } from '../../rate-limiter.ts';
import { type CountKind, type Counts, NO_COUNTS } from '../../shared-counts.ts';
import { type Authority, type LoadTexts, PendingTexts, type Question } from './authority.ts';
import { type Transport, writeTruncated } from './wire.ts';

/**
 * Maximum size of a DNS query: a name has at most 255 bytes, and everything else that resolvers send takes a few
 * dozen.
 */
export const DNS_QUERY_MAX_BYTES = 512;
/**
 * Maximum number of DNS queries that a network may send per minute: a validation takes at most ten, from each of
 * an authority's networks.
 */
export const DNS_QUERIES_PER_MINUTE = 600;
/** Maximum number of DNS queries that a network may send in one burst. */
export const DNS_QUERIES_BURST = 100;
/** Maximum number of DNS queries waiting for the database and of DNS responses waiting for the network. */
export const DNS_WAITING_MAX = 1024;
/** Maximum number of DNS connections over TCP; the oldest is closed first. */
export const DNS_CONNECTIONS_MAX = 128;
/** Maximum number of DNS connections over TCP from one network; the oldest is closed first. */
export const DNS_CONNECTIONS_OF_ONE_MAX = 16;
/** Milliseconds until the next query on such a connection must be complete. */
export const DNS_CONNECTION_IDLE_MS = 5000;

export interface DnsServerOptions {
  /** as `CULVERT_HOST` has it */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** including the sockets of the previous relay, if there is one */
  readonly listeners: Listeners;
  readonly authority: Authority;
  readonly load: LoadTexts;
  readonly clock: Clock;
  readonly log: Log;
  /** those of the other processes of this relay */
  readonly counts?: Counts;
}

/** Ports that are tried if any will do, because one that is free for TCP may not be for UDP. */
const PORT_ATTEMPTS = 10;

export class DnsServer {
  readonly #listeners: (TcpListener | UdpListener)[] = [];
  readonly #options: DnsServerOptions;
  readonly #responder: Responder;
  readonly #cap: ConnectionCap;

  private constructor(options: DnsServerOptions) {
    const { authority, load, clock, counts = NO_COUNTS } = options;
    this.#options = options;
    this.#cap = new ConnectionCap(
      { all: DNS_CONNECTIONS_MAX, source: DNS_CONNECTIONS_OF_ONE_MAX },
      sourceNetwork,
      { kind: 'dns', counts },
    );
    this.#responder = new Responder({
      authority,
      texts: new PendingTexts(load, clock),
      limits: { udp: new SourceLimits(clock, counts, 'udp'), tcp: new SourceLimits(clock, counts, 'tcp') },
    });
  }

  /** @throws the system's error if the port is in use, or an address is not one of this machine */
  static async start(options: DnsServerOptions): Promise<DnsServer> {
    const server = new DnsServer(options);
    try {
      await server.#listen(await dnsAddresses(options.host));
    } catch (error) {
      server.close();
      throw error;
    }
    return server;
  }

  /** Another relay has the same sockets: fulfilled when all accepted queries are answered. */
  async leave(): Promise<void> {
    await Promise.all(this.#listeners.map((listener) => listener.leave()));
  }

  close(): void {
    for (const listener of this.#listeners.splice(0)) listener.close();
    this.#cap.destroy();
  }

  async #listen(addresses: readonly string[]): Promise<void> {
    let { port } = this.#options;
    for (const address of addresses) {
      port = await this.#bind(address, port);
      this.#options.log('dns listening', { address, port });
    }
  }

  async #bind(address: string, port: number): Promise<number> {
    const { clock, listeners } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const tcp = await TcpListener.bind(
        { responder: this.#responder, cap: this.#cap, clock },
        { host: address, port },
        listeners,
      );
      try {
        this.#listeners.push(await UdpListener.bind(address, tcp.port, this.#responder, listeners), tcp);
        return tcp.port;
      } catch (error) {
        tcp.close();
        if (port !== 0 || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }
}

/* DNS over UDP: a packet, a response. */

class UdpListener {
  readonly #socket: Socket;
  readonly #responder: Responder;
  readonly #closed: Promise<void>;
  /** packets whose response has not been sent */
  #waiting = 0;
  #isLeaving = false;
  #isClosed = false;

  private constructor(socket: Socket, responder: Responder) {
    this.#socket = socket;
    this.#responder = responder;
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => resolve());
    });
  }

  /** @throws the system's error if the address is in use or not one of this machine */
  static async bind(
    address: string,
    port: number,
    responder: Responder,
    listeners: Listeners,
  ): Promise<UdpListener> {
    const type = isIPv6(address) ? 'udp6' : 'udp4';
    const socket = createSocket({ type, ipv6Only: type === 'udp6' });
    try {
      await listeners.openUdp(socket, { host: address, port });
    } catch (error) {
      socket.close();
      throw error;
    }
    // A peer that is gone, a network that is down: the next packet may succeed.
    socket.on('error', () => {});
    const listener = new UdpListener(socket, responder);
    socket.on('message', (packet, peer) => void listener.#take(packet, peer));
    return listener;
  }

  /**
   * Fulfilled when the last accepted packet is answered; another process has the same socket, and receives the others.
   */
  leave(): Promise<void> {
    this.#isLeaving = true;
    this.#closeIfOver();
    return this.#closed;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #closeIfOver(): void {
    if (this.#isLeaving && this.#waiting === 0) this.close();
  }

  async #take(packet: Buffer, peer: RemoteInfo): Promise<void> {
    this.#waiting += 1;
    await this.#respond(packet, peer);
    this.#waiting -= 1;
    this.#closeIfOver();
  }

  async #respond(packet: Buffer, { address, port }: RemoteInfo): Promise<void> {
    const response = await this.#responder.respond(packet, address, 'udp');
    if (response === undefined || port === 0 || this.#isClosed) return;
    // Responses that the system does not accept immediately are buffered in memory.
    if (this.#socket.getSendQueueCount() >= DNS_WAITING_MAX) return;
    await new Promise<void>((resolve) => {
      this.#socket.send(response, port, address, () => resolve());
    });
  }
}

/* DNS over TCP: length-prefixed messages, one after the other (RFC 1035 section 4.2.2, RFC 7766). */

interface TcpListenerDeps {
  readonly responder: Responder;
  /** of all listeners */
  readonly cap: ConnectionCap;
  readonly clock: Clock;
}

class TcpListener {
  readonly #server: Server;
  readonly #deps: TcpListenerDeps;
  #isLeaving = false;

  private constructor(deps: TcpListenerDeps) {
    this.#deps = deps;
    // Half-open, because a peer that has sent everything still waits for the response.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  /**
   * @param at port 0 for a free one
   * @throws the system's error if the address is in use or not one of this machine
   */
  static async bind(
    deps: TcpListenerDeps,
    at: { readonly host: string; readonly port: number },
    listeners: Listeners,
  ): Promise<TcpListener> {
    const listener = new TcpListener(deps);
    await listeners.open('tcp', listener.#server, at);
    // Out of file descriptors, for example: the next accept may succeed.
    listener.#server.on('error', () => {});
    return listener;
  }

  /** The port that was bound. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Fulfilled when the accepted connections have ended, each with the response to its query. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  close(): void {
    this.#server.close();
  }

  #accept(socket: NetSocket): void {
    socket.on('error', () => socket.destroy());
    this.#deps.cap.add(socket);
    void this.#serve(socket);
  }

  async #serve(socket: NetSocket): Promise<void> {
    const cut = (): void => void socket.destroy();
    // Bytes alone do not extend it: a query has to be complete, and its response read.
    let deadline = this.#deps.clock.setTimeout(cut, DNS_CONNECTION_IDLE_MS);
    const splitter = new MessageSplitter();
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        for (const packet of splitter.push(chunk)) {
          this.#deps.cap.completed(socket);
          if (!(await this.#respond(socket, packet))) return;
          if (this.#isLeaving) return socket.destroySoon();
          deadline.cancel();
          deadline = this.#deps.clock.setTimeout(cut, DNS_CONNECTION_IDLE_MS);
        }
      }
      socket.destroySoon();
    } catch {
      // The connection is broken, or carries something other than queries.
    } finally {
      deadline.cancel();
      if (!socket.writableEnded) socket.destroy();
    }
  }

  /** @returns false if the connection should be closed */
  async #respond(socket: NetSocket, packet: Buffer): Promise<boolean> {
    const response = await this.#deps.responder.respond(packet, socket.remoteAddress ?? '', 'tcp');
    if (response === undefined) return false;
    // The next query is read only after the response was read.
    await new Promise((resolve, reject) => {
      socket.write(withLength(response), (error) => (error ? reject(error) : resolve(undefined)));
    });
    return true;
  }
}

/* Messages of a TCP connection, each with a two-byte length prefix (RFC 1035 section 4.2.2). */

const LENGTH_BYTES = 2;

class MessageSplitter {
  /** bytes of an incomplete message */
  #rest: Buffer = Buffer.alloc(0);

  /**
   * @returns the messages that these bytes complete
   * @throws RangeError for one that is longer than any query
   */
  *push(chunk: Buffer): Generator<Buffer> {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= LENGTH_BYTES) {
      const end = LENGTH_BYTES + bytes.readUInt16BE(0);
      if (end > LENGTH_BYTES + DNS_QUERY_MAX_BYTES) throw new RangeError('too long a message');
      if (bytes.length < end) break;
      yield bytes.subarray(LENGTH_BYTES, end);
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}

/** A message with its length prefix. */
export function withLength(message: Buffer): Buffer {
  const packet = Buffer.alloc(LENGTH_BYTES + message.length);
  packet.writeUInt16BE(message.length, 0);
  message.copy(packet, LENGTH_BYTES);
  return packet;
}

/* From a packet to its response, over UDP or TCP. */

interface ResponderOptions {
  readonly authority: Authority;
  readonly texts: PendingTexts;
  readonly limits: Readonly<Record<Transport, SourceLimits>>;
}

interface Responded {
  readonly response: Buffer | undefined;
  readonly outcome: keyof typeof dnsQuestions;
}

const DROPPED: Responded = { response: undefined, outcome: 'dropped' };

export class Responder {
  readonly #options: ResponderOptions;
  /** questions that wait for the store */
  #waiting = 0;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /**
   * @param address of the sender, possibly spoofed
   * @returns `undefined` for a packet without a response. Never rejects.
   */
  async respond(packet: Buffer, address: string, transport: Transport): Promise<Buffer | undefined> {
    const { response, outcome } = await this.#respond(packet, address, transport);
    dnsQuestions[outcome] += 1;
    return response;
  }

  async #respond(packet: Buffer, address: string, transport: Transport): Promise<Responded> {
    if (packet.length > DNS_QUERY_MAX_BYTES || this.#waiting >= DNS_WAITING_MAX) return DROPPED;
    const { authority, limits } = this.#options;
    const read = authority.read(packet, transport);
    if (read === undefined) return DROPPED;
    const allowance = limits[transport].take(address);
    const isRefused = Buffer.isBuffer(read);
    if (allowance === 'serve')
      return isRefused ? { response: read, outcome: 'refused' } : await this.#lookUp(read, transport);
    if (allowance === 'drop' || transport === 'tcp' || isRefused) return DROPPED;
    return { response: writeTruncated(read.query), outcome: 'truncated' };
  }

  async #lookUp(question: Question, transport: Transport): Promise<Responded> {
    const { authority, texts } = this.#options;
    this.#waiting += 1;
    const current = await texts.current();
    this.#waiting -= 1;
    const response = authority.respond(question, current, transport);
    return { response, outcome: current === undefined ? 'failed' : 'answered' };
  }
}

/* Limits for the queries of a network. */

/** @returns the /24 of an IPv4 address, the /64 of an IPv6 address: resolvers and attackers have many addresses */
export function sourceNetwork(address: string): string {
  return isIPv4(address) ? `${address.slice(0, address.lastIndexOf('.'))}.0/24` : networkOf(address);
}

/** How a query is handled: with an answer, with a response that redirects to TCP, or not at all. */
type Allowance = 'serve' | 'truncate' | 'drop';

export class SourceLimits {
  readonly #buckets: RateLimiter;
  #refused = 0;

  readonly #counts: Counts;
  readonly #kind: CountKind;

  /** @param counts those of the other processes of this relay */
  constructor(clock: Clock, counts: Counts = NO_COUNTS, transport: Transport = 'udp') {
    this.#buckets = new RateLimiter(clock, { perMinute: DNS_QUERIES_PER_MINUTE, burst: DNS_QUERIES_BURST });
    this.#counts = counts;
    this.#kind = `dns-${transport}`;
    counts.listen(this.#kind, { spent: (source) => void this.#buckets.take(source) });
  }

  /**
   * A resolver whose address an attacker spoofs for too many queries is still served: every second query is redirected
   * to TCP, which only the resolver itself can use.
   */
  take(address: string): Allowance {
    const source = sourceNetwork(address);
    if (this.#buckets.take(source) === 0) {
      this.#counts.spend(this.#kind, source);
      return 'serve';
    }
    this.#refused += 1;
    return this.#refused % 2 === 0 ? 'truncate' : 'drop';
  }
}

/* The addresses to serve DNS on. */

const EVERY_ADDRESS = ['0.0.0.0', '::'];

/**
 * Each address has its own socket: a response over UDP must come from the queried address, and the system's own
 * resolver often uses the port on a loopback address.
 *
 * @param host as `CULVERT_HOST` has it; a wildcard stands for the addresses of its kind that are reachable from other
 *   machines or, if there are none, loopback
 * @throws the system's error if a host name has no address
 */
export async function dnsAddresses(host: string, interfaces = networkInterfaces): Promise<string[]> {
  if (EVERY_ADDRESS.includes(host)) return reachable(host, interfaces());
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** `::` includes IPv4, as for the listener of visitors. */
function reachable(host: string, interfaces: ReturnType<typeof networkInterfaces>): string[] {
  const all = Object.values(interfaces)
    .flatMap((own) => own ?? [])
    .filter(({ family }) => host === '::' || family === 'IPv4')
    .filter((own) => !isLinkLocal(own));
  const outside = all.filter(({ internal }) => !internal);
  return (outside.length > 0 ? outside : all).map(({ address }) => address);
}

function isLinkLocal({ address }: NetworkInterfaceInfo): boolean {
  return /^fe[89ab]/i.test(address);
}
