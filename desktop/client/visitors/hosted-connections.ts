/** The visitors of a wildcard tunnel whose hosts are forwarded to different local services. */
import { CloseCode } from '../../../shared/control.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import { HeadReader, parseRequestHead } from '../../../shared/http1/head.ts';
import { hostname } from '../../../shared/networks.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines } from '../clock.ts';
import { ANY_HOST, type HostPorts } from '../config/tunnel-spec.ts';
import type { DataHandler, DataSocket, DataSource } from '../data/data-dialer.ts';
import { CONNECTIONS_MAX, REQUEST_HEAD_MAX_BYTES } from '../limits.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import type { LocalTarget } from '../local/local-service.ts';
import type { Attempt } from '../network/dial.ts';
import type { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { Connections } from './connections.ts';

/** What {@link HostedConnections} and {@link Connections} have in common. */
export type VisitorConnections = Pick<
  Connections,
  'isBusy' | 'accept' | 'acceptStream' | 'closeIdle' | 'cut'
>;

interface HostedConnectionsOptions {
  readonly data: DataSource;
  /** finds the local port for a request */
  readonly hosts: HostMap;
  /** the visitors of each local port */
  readonly byPort: ReadonlyMap<number, Connections>;
  /** those of the tunnel's own address */
  readonly main: Connections;
}

/**
 * Reads the head of a visitor's first request to choose the service. The relay does not send requests with another host
 * over the same connection.
 */
export class HostedConnections implements VisitorConnections {
  readonly #options: HostedConnectionsOptions;
  readonly #waiting = new Set<WaitingVisitor>();

  constructor(options: HostedConnectionsOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#waiting.size > 0 || this.#all.some((connections) => connections.isBusy);
  }

  accept(id: string): void {
    this.#wait((handler) => this.#options.data.open(id, handler));
  }

  acceptStream(stream: DataSocket, first: Buffer): void {
    const visitor = this.#wait(undefined);
    if (visitor === undefined) return stream.close(CloseCode.internalError);
    visitor.opened(stream);
    visitor.onStreamData(first);
  }

  closeIdle(): void {
    for (const connections of this.#all) connections.closeIdle();
  }

  cut(): void {
    for (const visitor of this.#waiting) visitor.cut();
    this.#waiting.clear();
    for (const connections of this.#all) connections.cut();
  }

  get #all(): readonly Connections[] {
    return [...new Set([this.#options.main, ...this.#options.byPort.values()])];
  }

  /** @returns `undefined` if too many are waiting */
  #wait(open: ((handler: DataHandler) => Attempt) | undefined): WaitingVisitor | undefined {
    const { hosts, byPort, main } = this.#options;
    if (this.#waiting.size >= CONNECTIONS_MAX) {
      main.refuse();
      return undefined;
    }
    const visitor: WaitingVisitor = new WaitingVisitor({
      onHead: (stream, first, host) => {
        this.#waiting.delete(visitor);
        (byPort.get(hosts.portOf(host)) ?? main).acceptStream(stream, first);
      },
      onFailed: (error) => {
        this.#waiting.delete(visitor);
        main.failed(error);
      },
      onLeft: () => this.#waiting.delete(visitor),
    });
    this.#waiting.add(visitor);
    if (open !== undefined) visitor.open(open);
    return visitor;
  }
}

interface WaitingEvents {
  /** @param first everything that has arrived so far; `host` is empty if the head cannot be parsed */
  onHead(stream: DataSocket, first: Buffer, host: string): void;
  onFailed(error: RelayRefusal | RelayUnreachable): void;
  onLeft(): void;
}

/** The relay has already refused longer ones. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

/** A visitor whose first request has not arrived. */
class WaitingVisitor implements DataHandler, ByteStreamHandler {
  readonly #events: WaitingEvents;
  readonly #head = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  readonly #held: Buffer[] = [];
  #attempt: Attempt | undefined;
  #stream: DataSocket | undefined;

  constructor(events: WaitingEvents) {
    this.#events = events;
  }

  open(open: (handler: DataHandler) => Attempt): void {
    this.#attempt = open(this);
  }

  cut(): void {
    this.#attempt?.cancel();
    this.#stream?.destroy();
  }

  opened(stream: DataSocket): void {
    this.#attempt = undefined;
    this.#stream = stream;
    stream.attach(this);
  }

  failed(error: RelayRefusal | RelayUnreachable): void {
    this.#events.onFailed(error);
  }

  onStreamData(piece: Buffer): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#held.push(piece);
    const end = this.#head.push(piece);
    if (end === undefined) return;
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const host = typeof head === 'string' ? '' : (fieldValue(head.fields, 'host') ?? '');
    this.#stream = undefined;
    this.#events.onHead(stream, Buffer.concat(this.#held), host);
  }

  onStreamDrain(): void {}

  onStreamClose(): void {
    if (this.#stream === undefined) return;
    this.#stream = undefined;
    this.#events.onLeft();
  }
}

/* Which local port a host is forwarded to. */

/** The hosts of a tunnel, and the ports of some of them. */
export interface HostMapOptions {
  readonly tunnel: Pick<Tunnel, 'urls'>;
  readonly ports: HostPorts;
}

/** Finds the service of a recorded request, whose `Host` may have been replaced. */
export function serviceOfRequest(
  local: LocalTarget,
  hosts: HostMapOptions | undefined,
  deadlines: Deadlines,
): (request: Buffer) => LocalDialer {
  const main = new LocalDialer(local, deadlines);
  if (hosts === undefined) return () => main;
  const map = new HostMap(hosts.tunnel, hosts.ports, local.port);
  return (request) => {
    const end = new HeadReader(REQUEST_HEAD_MAX_BYTES).push(request);
    const head = typeof end === 'object' ? parseRequestHead(end.head, NO_LIMITS) : 'bad-request';
    if (typeof head === 'string') return main;
    const host = fieldValue(head.fields, 'x-forwarded-host') ?? fieldValue(head.fields, 'host') ?? '';
    const port = map.portOf(host);
    return port === local.port ? main : new LocalDialer({ ...local, port }, deadlines);
  };
}

export class HostMap {
  readonly #ports: HostPorts;
  readonly #port: number;
  /** what follows the part of a host that `hosts` names */
  readonly #ends: readonly string[];

  /** @param port for the tunnel's own address */
  constructor({ urls }: Pick<Tunnel, 'urls'>, ports: HostPorts, port: number) {
    this.#ports = ports;
    this.#port = port;
    const wildcard = urls.wildcard === undefined ? '' : new URL(urls.wildcard).hostname;
    this.#ends = [
      `--${new URL(urls.subdomain).hostname}`,
      ...(wildcard.startsWith('*.') ? [wildcard.slice(1)] : []),
    ];
  }

  /** @param host as a visitor sent it */
  portOf(host: string): number {
    const name = hostname(host);
    const end = this.#ends.find((one) => name.endsWith(one));
    if (end === undefined) return this.#port;
    const any = name.slice(0, -end.length);
    const found = Object.hasOwn(this.#ports, any) ? this.#ports[any] : undefined;
    return found ?? this.#ports[ANY_HOST] ?? this.#port;
  }
}
