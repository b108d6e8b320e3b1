/** The visitors' connections of one tunnel. */
import { CloseCode, type RelayProblem } from '../../../shared/control.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import { HeadReader, parseRequestHead } from '../../../shared/http1/head.ts';
import { hostname } from '../../../shared/networks.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import { ANY_HOST, type HostPorts } from '../config/tunnel-spec.ts';
import type { DataHandler, DataSocket, DataSource } from '../data/data-dialer.ts';
import { type FilterMaker, NO_LIMITS, type Recorder, REQUEST_HEAD_MAX_BYTES } from '../data/stream-filter.ts';
import { LocalDialer } from '../local/local-dialer.ts';
import { describeLocalError, findHostRefusal, LocalFailure } from '../local/local-error.ts';
import { LocalPool } from '../local/local-reuse.ts';
import { describeTarget, type LocalTarget } from '../local/local-service.ts';
import { type MessageValue, toMessage } from '../messages.ts';
import type { Attempt } from '../network/dial.ts';
import { RelayRefusal, type RelayUnreachable } from '../relay/errors.ts';
import { RawConnection } from './raw-connection.ts';
import { type Visitor, VisitorConnection, type VisitorContext } from './visitor-connection.ts';

/** How long a tunnel counts as visited after its last visitor: the same person is likely to return. */
export const CONTROL_BUSY_FOR_MS = 60_000;
/**
 * How long the local service may take to respond before the client reports that it is slow. It may take any time
 * to respond.
 */
const LOCAL_SLOW_MS = 30_000;
/** How often the client looks for visitors who have been waiting. */
const LOCAL_SLOW_LOOK_MS = 5000;
/**
 * Maximum number of visitor connections that the client serves at the same time. Each uses two file descriptors
 * and at most about 200 KiB; twice this stays below usual limits of a process.
 * @limit owner: Visitor connections that a client process serves at the same time | further visitors are refused, and the client reports it
 */
export const CONNECTIONS_MAX = 4096;

/** A problem with one visitor's connection. None of these ends the tunnel. */
export interface ConnectionProblem {
  readonly code:
    /** the local service cannot be reached, mostly because nothing listens: the visitor got an error page */
    | 'local-refused'
    /** the local service closed a connection without a response: the visitor got an error page */
    | 'local-reset'
    /** the local service sent something that is not HTTP: the visitor got an error page, or a response that breaks off */
    | 'local-malformed'
    /** a cookie was left out of a response in the path form, because browsers would reject it */
    | 'path-cookie'
    /** the local service does not speak HTTP/2: the visitor got an error page */
    | 'local-not-http2'
    /** a WebSocket for a service that is used over HTTP/2: the visitor got an error page */
    | 'local-no-websocket'
    /** the local service allows no further request at the moment: the visitor got an error page */
    | 'local-busy'
    /** a visitor has waited a long time for a response of the local service, and keeps waiting */
    | 'local-slow'
    /** the local service rejects the host name that visitors use */
    | 'host-blocked'
    /** the visitor left before the data socket was open */
    | 'visitor-gone'
    /** the relay refused the data socket for another reason */
    | 'data-refused'
    /** the relay could not be reached for the data socket */
    | 'data-failed'
    /** more simultaneous visitors than {@link CONNECTIONS_MAX} */
    | 'too-many-connections';
  /** for people */
  readonly text: MessageValue;
  /** the number of problems with the same code that were not told since the previous one; none without it */
  readonly leftOut?: number;
}

interface ConnectionsOptions {
  readonly data: DataSource;
  readonly local: LocalDialer;
  readonly deadlines: Deadlines;
  /** filters around the data sockets, starting at the socket; none by default */
  readonly filters?: readonly FilterMaker[];
  /** of raw connections, which have no filters; by default none */
  readonly recorder?: Pick<Recorder, 'openRaw'> | undefined;
  readonly onProblem: (problem: ConnectionProblem) => void;
}

/** Serves visitors until {@link Connections.cut}. */
export class Connections implements Expiring {
  readonly #data: DataSource;
  readonly #onProblem: (problem: ConnectionProblem) => void;
  readonly #pool: LocalPool;
  readonly #context: VisitorContext;
  readonly #begin: () => Visitor;
  readonly #visitors = new Set<Visitor>();
  readonly #deadlines: Deadlines;
  readonly #target: LocalTarget;
  #isLooking = false;
  /** when the last connection has ended, monotonic ms */
  #leftAt = -Infinity;

  constructor({ data, local, deadlines, filters = [], recorder, onProblem }: ConnectionsOptions) {
    this.#data = data;
    this.#onProblem = onProblem;
    this.#deadlines = deadlines;
    this.#target = local.target;
    this.#pool = new LocalPool(deadlines);
    const { hostHeader = 'keep', raw } = local.target;
    this.#context = {
      local,
      deadlines,
      pool: this.#pool,
      filters,
      onLocalRefused: (error) =>
        onProblem({
          code: error instanceof LocalFailure ? error.code : 'local-refused',
          text: describeLocalError(local.target, error),
        }),
      onLocalReset: () =>
        onProblem({
          code: 'local-reset',
          text: toMessage('local.reset', { service: describeTarget(local.target) }),
        }),
      inspect: (piece, isNext, request) => hostHeader === 'keep' && this.#inspect(piece, isNext, request),
      onDataFailed: (error) => onProblem(dataProblem(error)),
      onEnd: (visitor) => {
        this.#visitors.delete(visitor);
        this.#leftAt = deadlines.now();
      },
    };
    const context = this.#context;
    this.#begin = () =>
      raw === undefined
        ? new VisitorConnection(context)
        : new RawConnection({ ...context, mode: raw, recorder });
  }

  /** The number of connections open or being opened. */
  get size(): number {
    return this.#visitors.size;
  }

  /** Whether there are connections, or were within {@link CONTROL_BUSY_FOR_MS}. */
  get isBusy(): boolean {
    return this.size > 0 || this.#deadlines.now() - this.#leftAt < CONTROL_BUSY_FOR_MS;
  }

  /** The number of local connections that wait for another request. */
  get idle(): number {
    return this.#pool.size;
  }

  /** Serves the pending connection with that id. @param peers as in a `connection` message */
  accept(id: string, peers?: string): void {
    this.#admit()?.announced((handler) => this.#data.open(id, handler), peers);
  }

  /** Serves a visitor whose data socket is already open, starting with its first bytes. */
  acceptStream(stream: DataSocket, first: Buffer): void {
    const visitor = this.#admit();
    if (visitor === undefined) stream.close(CloseCode.internalError);
    else visitor.arrived(stream, first);
  }

  /** A visitor could not be served, because its data socket could not be opened. */
  failed(error: RelayRefusal | RelayUnreachable): void {
    this.#onProblem(dataProblem(error));
  }

  /** Reports that there are too many visitors. */
  refuse(): void {
    const text = toMessage('visitor.tooMany', { max: CONNECTIONS_MAX });
    this.#onProblem({ code: 'too-many-connections', text });
  }

  /** Closes unused local connections. */
  closeIdle(): void {
    this.#pool.clear();
    this.#context.local.closeIdle();
  }

  /** Cuts all connections. */
  cut(): void {
    for (const visitor of this.#visitors) visitor.cancel();
    this.closeIdle();
    this.#deadlines.delete(this);
    this.#isLooking = false;
  }

  /** Looks for waiting visitors, all together: a deadline each would add a cost to every request. */
  expire(): void {
    this.#isLooking = false;
    let isSlow = false;
    for (const visitor of this.#visitors) {
      if (visitor.looksSlow(LOCAL_SLOW_MS / LOCAL_SLOW_LOOK_MS)) isSlow = true;
    }
    if (isSlow)
      this.#onProblem({
        code: 'local-slow',
        text: toMessage('local.slow', {
          seconds: LOCAL_SLOW_MS / 1000,
          service: describeTarget(this.#target),
        }),
      });
    if (this.#visitors.size > 0) this.#look();
  }

  #look(): void {
    this.#isLooking = true;
    this.#deadlines.add(this, LOCAL_SLOW_LOOK_MS);
  }

  #inspect(piece: Buffer, isNext: boolean, request: Buffer | undefined): boolean {
    const refusal = findHostRefusal(piece, isNext, request);
    if (refusal.kind === 'refused')
      this.#onProblem({
        code: 'host-blocked',
        text: toMessage('local.hostBlocked', {
          service: describeTarget(this.#target),
          setting: refusal.setting,
        }),
      });
    return refusal.kind === 'perhaps';
  }

  #admit(): Visitor | undefined {
    if (this.#visitors.size < CONNECTIONS_MAX) {
      const visitor = this.#begin();
      this.#visitors.add(visitor);
      if (!this.#isLooking) this.#look();
      return visitor;
    }
    this.refuse();
    return undefined;
  }
}

/** A problem that the relay has reported. */
export function relayProblem({ code, detail }: RelayProblem, target: LocalTarget): ConnectionProblem {
  return {
    code,
    text:
      code === 'path-cookie'
        ? toMessage('path.cookie', { cookie: detail })
        : toMessage('local.malformed', { service: describeTarget(target), line: detail }),
  };
}

function dataProblem(error: RelayRefusal | RelayUnreachable): ConnectionProblem {
  const { said } = error;
  if (!(error instanceof RelayRefusal))
    return { code: 'data-failed', text: toMessage('visitor.lost', { why: said }) };
  if (error.status === 404) return { code: 'visitor-gone', text: toMessage('visitor.left') };
  return { code: 'data-refused', text: toMessage('visitor.lost', { why: said }) };
}

/* The visitors of a wildcard tunnel whose hosts are forwarded to different local services. */

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
    if (this.#waiting.size >= CONNECTIONS_MAX) {
      this.#options.main.refuse();
      return undefined;
    }
    const visitor = new WaitingVisitor(this);
    this.#waiting.add(visitor);
    if (open !== undefined) visitor.open(open);
    return visitor;
  }

  // Callbacks of its visitors

  /**
   * The first request has arrived.
   *
   * @param first everything that has arrived so far
   * @param host empty if the head cannot be parsed
   */
  onHead(visitor: WaitingVisitor, stream: DataSocket, first: Buffer, host: string): void {
    const { hosts, byPort, main } = this.#options;
    this.#waiting.delete(visitor);
    (byPort.get(hosts.portOf(host)) ?? main).acceptStream(stream, first);
  }

  /** The data socket could not be opened. */
  onFailed(visitor: WaitingVisitor, error: RelayRefusal | RelayUnreachable): void {
    this.#waiting.delete(visitor);
    this.#options.main.failed(error);
  }

  onLeft(visitor: WaitingVisitor): void {
    this.#waiting.delete(visitor);
  }
}

/** A visitor whose first request has not arrived. */
class WaitingVisitor implements DataHandler, ByteStreamHandler {
  readonly #connections: HostedConnections;
  readonly #head = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  readonly #held: Buffer[] = [];
  #attempt: Attempt | undefined;
  #stream: DataSocket | undefined;

  constructor(connections: HostedConnections) {
    this.#connections = connections;
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
    this.#connections.onFailed(this, error);
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
    this.#connections.onHead(this, stream, Buffer.concat(this.#held), host);
  }

  onStreamDrain(): void {}

  onStreamClose(): void {
    if (this.#stream === undefined) return;
    this.#stream = undefined;
    this.#connections.onLeft(this);
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
      ...(urls.subdomain === undefined ? [] : [`--${new URL(urls.subdomain).hostname}`]),
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
