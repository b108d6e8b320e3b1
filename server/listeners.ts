/** The ports a relay listens on: bound by itself, or taken over from the relay before, and given to the one after it. */
import type { BindOptions, Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { LISTEN_BACKLOG } from './limits.ts';

/** Where to listen. */
export interface Place {
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** whether other processes of this user may listen there, too; the system then distributes connections among them */
  readonly reusePort?: boolean;
}

/** What listeners are for; `tcp` and `udp` are those for DNS. */
export type ListenerName = 'visitors' | 'metrics' | 'http' | 'tcp' | 'udp';

/** A listener of the relay before, as Node gives it; one of the service manager's is a file descriptor. */
interface Inherited {
  close?(): void;
}

/**
 * Listeners are passed on as what they are for and where they listen: one that is to be elsewhere is bound anew. Those of a service
 * manager have no place of their own, because its settings say where they are.
 */
export class Listeners {
  readonly #inherited: Map<string, Inherited>;
  readonly #open = new Map<string, Server | UdpSocket>();

  /** @param inherited listening handles, by what they are passed on as */
  constructor(inherited: ReadonlyMap<string, object> = new Map()) {
    this.#inherited = new Map(inherited);
  }

  /**
   * Listens. Connections arrive only once the caller has yielded.
   *
   * @throws the system's error when the address is taken or not ours
   */
  async open(name: ListenerName, server: Server, { host, port, reusePort = false }: Place): Promise<void> {
    const { passedAs, handle } = this.#take(name, host, port);
    await new Promise<void>((resolve, reject) => {
      const listening = (): void => {
        server.off('error', reject);
        resolve();
      };
      server.once('error', reject);
      if (handle === undefined) server.listen({ port, host, reusePort, backlog: LISTEN_BACKLOG }, listening);
      else server.listen(handle, LISTEN_BACKLOG, listening);
    });
    this.#open.set(passedAs ?? placed(name, host, (server.address() as AddressInfo).port), server);
  }

  /**
   * Receives packets; see {@link open}.
   *
   * @throws the system's error when the address is taken or not ours
   */
  async openUdp(socket: UdpSocket, { host, port }: Place): Promise<void> {
    const { passedAs, handle } = this.#take('udp', host, port);
    // Said at once of one that is there already.
    const listening = once(socket, 'listening');
    // Undocumented, but how Node itself gives a worker the sockets of others.
    if (handle === undefined) socket.bind({ address: host, port });
    else socket.bind(handle as BindOptions);
    await listening;
    this.#open.set(passedAs ?? placed('udp', host, socket.address().port), socket);
  }

  /** Nothing more is opened: what the relay before had and this one has not is closed, since nobody would ever answer there. */
  closeOthers(): void {
    for (const handle of this.#inherited.values()) handle.close?.();
    this.#inherited.clear();
  }

  /** File descriptors of what is open, by what they are passed on as. */
  get descriptors(): Map<string, number> {
    const found = new Map<string, number>();
    for (const [name, listener] of this.#open) {
      const handle = 'send' in listener ? udpHandle(listener) : handleOf(listener);
      if (handle !== null) found.set(name, handle.fd);
    }
    return found;
  }

  /** @param port 0 for any of that host */
  #take(name: ListenerName, host: string, port: number): { passedAs?: string; handle?: Inherited } {
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

function placed(name: ListenerName, host: string, port: number | ''): string {
  return `${name} ${host}:${port}`;
}

/** `null` when it is closed. */
type SystemHandle = { readonly fd: number } | null;

function handleOf(server: Server): SystemHandle {
  const { _handle: handle } = server as unknown as { readonly _handle: SystemHandle };
  return handle;
}

/** Node warns of `_handle` of these, and has nothing in its place. */
function udpHandle(socket: UdpSocket): SystemHandle {
  const state = Object.getOwnPropertySymbols(socket).find(
    ({ description }) => description === 'state symbol',
  );
  const states = socket as unknown as Record<symbol, { readonly handle: SystemHandle }>;
  return (state && states[state]?.handle) ?? null;
}
