/** The local service of a tunnel, and a connection to it. */
import type { Protocol } from '../../../shared/tunnel.ts';
import type { HostHeader, Upstream } from '../../../shared/value-rules.ts';

/**
 * Maximum time to connect to the local service. A loopback connection takes microseconds; only a full accept
 * queue or a packet filter makes it wait.
 * @limit owner: Time to connect to the local service | 502 `local-refused`
 */
export const LOCAL_CONNECT_TIMEOUT_MS = 5000;

export type RawProtocol = Exclude<Protocol, 'http'>;

/** How the connections of a TLS or TCP tunnel are passed on. */
export interface RawMode {
  readonly protocol: RawProtocol;
  /** the wanted port of the relay, for TCP; `undefined` if any will do */
  readonly remotePort: number | undefined;
  /** whether each begins with a header of the PROXY protocol, version 2, that names the visitor's address */
  readonly proxyProtocol: boolean;
}

/** The only local service that a tunnel forwards to. */
export interface LocalTarget {
  /** name or IP address; `localhost` is 127.0.0.1 or ::1, whichever accepts connections */
  readonly host: string;
  readonly port: number;
  /** whether it speaks TLS; a certificate that no authority signed is accepted from loopback addresses only */
  readonly https: boolean;
  /**
   * ms to wait for a service that refuses connections, for example while it restarts; 0: visitors get an error
   * immediately
   */
  readonly waitMs: number;
  /** the protocol it speaks; `http1` by default. `h2` implies TLS. */
  readonly upstream?: Upstream;
  /** the Host that it receives, `keep` by default; over TLS also the name that it is asked for, if that is a name */
  readonly hostHeader?: HostHeader;
  /** for a tunnel that carries bytes instead of HTTP */
  readonly raw?: RawMode | undefined;
}

/** Whether the service speaks TLS. */
export function usesTls({ https, upstream }: LocalTarget): boolean {
  return https || upstream === 'h2';
}

/** The target of `culvert http PORT` without options. */
export function localPort(port: number): Required<Omit<LocalTarget, 'raw'>> {
  return { host: 'localhost', port, https: false, waitMs: 0, upstream: 'http1', hostHeader: 'keep' };
}

/** Names the service in a sentence for people: `port 3000`, or `nas:3000` on another host. */
export function describeTarget({ host, port }: LocalTarget): string {
  return host === 'localhost' ? `port ${port}` : `${host}:${port}`;
}

/** The current holder of a local connection. */
export interface LocalHandler {
  /** The bytes belong to the handler. */
  onLocalData(chunk: Buffer): void;
  /** Queued data was handed to the system. Called only after a `write` that returned `false`. */
  onLocalDrain(): void;
  /** The service has sent everything. */
  onLocalEnd(): void;
  /**
   * The connection is closed, by either side. Called once.
   *
   * @param failure why the service took no request; unless nothing was received, the visitor has an error response
   */
  onLocalClose(failure?: Error): void;
}

/** A connection to the local service that carries HTTP/1.1 or raw bytes, passed from one holder to the next. */
export interface LocalConnection {
  /** Whether it can carry bytes both ways. */
  readonly isOpen: boolean;
  /** Whether everything known to have arrived was passed to its holder. */
  readonly isQuiet: boolean;
  /** Starts the flow, or passes it to another handler. Only an open connection reports its end. */
  attach(handler: LocalHandler): void;
  /** @returns `false` if too much is queued: wait for `onLocalDrain` */
  write(chunk: Buffer): boolean;
  pause(): void;
  resume(): void;
  /** Half-closes the connection after the data written so far. */
  end(): void;
  /** @param resets whether the service learns that the connection was broken off, if it carries raw bytes */
  destroy(resets?: boolean): void;
}
