/**
 * The ports that a relay listens on: bound by itself, or taken over from the previous relay, and handed over to the
 * next.
 */
import type { BindOptions, Socket as UdpSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { uriHost } from '../shared/networks.ts';

/**
 * Number of connections that the operating system queues until the relay accepts them. Beyond that, a connection
 * waits a second for its next attempt.
 */
export const LISTEN_BACKLOG = 1024;
/**
 * How long a connection may be silent before TCP probes whether the peer is still reachable: a peer that lost
 * its network never reports it.
 */
export const KEEP_ALIVE_MS = 60_000;

/** Where to listen. */
export interface Place {
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** whether other processes of this user may also listen there; the system then distributes connections among them */
  readonly reusePort?: boolean;
}

/** The purpose of a listener; `tcp` and `udp` are those for DNS. */
export type ListenerName = 'visitors' | 'metrics' | 'http' | 'tcp' | 'udp';

/** The settings that say where each of them listens. */
const SETTINGS_OF: Readonly<Partial<Record<ListenerName, string>>> = {
  visitors: 'CULVERT_HOST and CULVERT_PORT',
  http: 'CULVERT_HOST and CULVERT_HTTP_PORT',
  metrics: 'CULVERT_METRICS_HOST and CULVERT_METRICS_PORT',
};

const OTHER_ADDRESS = 'OtherAddressError';

/** A service manager listens elsewhere than the settings say. */
export class OtherAddressError extends Error {
  constructor(name: ListenerName, found: Place, wanted: Place) {
    const [here, there] = [found, wanted].map(({ host, port }) => `${uriHost(host)}:${port}`);
    super(
      `the service manager listens on ${here}, but ${SETTINGS_OF[name]} say ${there}: set ListenStream=${there} in the socket unit, or change the settings`,
    );
    this.name = OTHER_ADDRESS;
  }

  /** Whether an error, perhaps of another process, is one. */
  static is(error: unknown): error is Error {
    return error instanceof Error && error.name === OTHER_ADDRESS;
  }
}

/** A listener of the previous relay, as Node returns it; one of a service manager is a file descriptor. */
interface Inherited {
  close?(): void;
}

/** An inherited listener, if there is one. */
interface Taken {
  readonly passedAs?: string | undefined;
  readonly handle?: Inherited;
}

/** Provides listeners of this process, each for the same purpose and address. */
export type Lend = (name: ListenerName, host: string, port: number) => Promise<Taken>;

/**
 * Listeners are handed over with their purpose and address: one with a new address is bound again. Those of a service
 * manager have only a purpose; their address must be that of the settings, which commands and the next relay go by.
 */
export class Listeners {
  readonly #inherited: Map<string, Inherited>;
  readonly #open = new Map<string, Server | UdpSocket>();
  readonly #lend: Lend | undefined;

  /**
   * @param inherited listening handles, by the key they are handed over with
   * @param lend provides those of a process that shares its listeners with others
   */
  constructor(inherited: ReadonlyMap<string, object> = new Map(), lend?: Lend) {
    this.#inherited = new Map(inherited);
    this.#lend = lend;
  }

  /**
   * Listens. Connections arrive only once the caller has yielded.
   *
   * @throws OtherAddressError; the system's error if the address is in use or not local
   */
  async open(name: ListenerName, server: Server, { host, port, reusePort = false }: Place): Promise<void> {
    const { passedAs, handle } = await this.#find(name, host, port);
    // Known before listening, because nothing may be awaited after that.
    const allowed = passedAs === name ? await addressesOf(host) : undefined;
    await new Promise<void>((resolve, reject) => {
      const listening = (): void => {
        server.off('error', reject);
        resolve();
      };
      server.once('error', reject);
      if (handle === undefined) server.listen({ port, host, reusePort, backlog: LISTEN_BACKLOG }, listening);
      else server.listen(handle, LISTEN_BACKLOG, listening);
    });
    const bound = server.address() as AddressInfo;
    if (allowed && !(allowed.includes(bound.address) && [0, bound.port].includes(port))) {
      server.close();
      throw new OtherAddressError(name, { host: bound.address, port: bound.port }, { host, port });
    }
    this.#open.set(passedAs ?? placed(name, host, bound.port), server);
  }

  /**
   * Receives packets; see {@link open}.
   *
   * @throws the system's error if the address is in use or not local
   */
  async openUdp(socket: UdpSocket, { host, port }: Place): Promise<void> {
    const { passedAs, handle } = await this.#find('udp', host, port);
    // An inherited socket emits this immediately.
    const listening = once(socket, 'listening');
    // Undocumented, but the way that Node itself gives sockets to a worker.
    if (handle === undefined) socket.bind({ address: host, port });
    else socket.bind(handle as BindOptions);
    await listening;
    this.#open.set(passedAs ?? placed('udp', host, socket.address().port), socket);
  }

  /**
   * No more listeners will be opened: those that only the previous relay used are closed, since they would never be
   * served.
   */
  closeOthers(): void {
    for (const handle of this.#inherited.values()) handle.close?.();
    this.#inherited.clear();
  }

  /** File descriptors of open listeners, by the key they are handed over with. */
  get descriptors(): Map<string, number> {
    const found = new Map<string, number>();
    for (const [name, listener] of this.#open) {
      const handle = 'send' in listener ? udpHandle(listener) : handleOf(listener);
      if (handle !== null) found.set(name, handle.fd);
    }
    return found;
  }

  #find(name: ListenerName, host: string, port: number): Promise<Taken> | Taken {
    return this.#lend === undefined ? this.take(name, host, port) : this.#lend(name, host, port);
  }

  /**
   * Takes an inherited listener, which is the caller's from then on.
   *
   * @param port 0 for any port of that host
   */
  take(name: ListenerName, host: string, port: number): Taken {
    const place = placed(name, host, port === 0 ? '' : port);
    for (const [passedAs, handle] of this.#inherited) {
      const isIt = passedAs === name || (port === 0 ? passedAs.startsWith(place) : passedAs === place);
      if (!isIt) continue;
      this.#inherited.delete(passedAs);
      return { passedAs, handle };
    }
    return {};
  }
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

/** The key that a listener is handed over with. */
export function placed(name: ListenerName, host: string, port: number | ''): string {
  return `${name} ${host}:${port}`;
}

/** `null` if it is closed. */
type SystemHandle = { readonly fd: number } | null;

function handleOf(server: Server): SystemHandle {
  const { _handle: handle } = server as unknown as { readonly _handle: SystemHandle };
  return handle;
}

/** Node deprecates `_handle` of these, but offers no alternative. */
export function udpHandle(socket: UdpSocket): SystemHandle {
  const state = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  const states = socket as unknown as Record<symbol, { readonly handle: SystemHandle }>;
  return (state && states[state]?.handle) ?? null;
}
