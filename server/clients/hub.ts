/** The clients of all tunnels: connects inbound connections and data sockets (protocol.md section 1). */
import type { KeyEnd } from '../../shared/control.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import type { Clock } from '../clock.ts';
import type { ClientGauges } from '../observe/counters.ts';
import { type Counts, NO_COUNTS } from '../shared-counts.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { Dial, Dialer, DialHandler } from '../tunnels/stream.ts';
import { Move, type StreamSocket } from './client-streams.ts';
import { ConnectedClient } from './client.ts';
import type { ControlSocket } from './control-socket.ts';
import { joinVisit, refuseVisit } from './forwarded-visitor.ts';
import { type Forwarder, NO_FORWARDER, type Ownership } from './ownership.ts';
import { AwaitedSockets, type ClientsContext, HOLD_OVER_MS, type Pending } from './waiting-visitors.ts';

/**
 * How long clients have to move to another relay before a relay that is shutting down disconnects them: twice
 * the period over which they are spread, and time for a few attempts.
 */
export const DRAIN_MOVE_MS = 5000;
/**
 * Milliseconds between two checks, during shutdown, for visitors that still wait for data sockets and clients that are
 * still connected.
 */
export const DRAIN_LOOK_MS = 20;
/** How often sockets are checked: accurate enough for pings and dead peers. */
const TICK_MS = 1000;

interface HubOptions {
  readonly clock: Clock;
  /** how many trunks a client may have per tunnel */
  readonly maxTrunks: number;
  /** which other relays have the clients of tunnels */
  readonly ownership: Ownership;
  /** forwards visitors to them */
  readonly forwarder?: Pick<Forwarder, 'visit'>;
  /** those of the other processes of this relay */
  readonly counts?: Counts;
  /** called when a tunnel has got a control socket */
  readonly onOnline?: (tunnel: LiveTunnel) => void;
  /** called when a control socket of a tunnel has ended, with its close code */
  readonly onOffline?: (tunnel: LiveTunnel, code: number) => void;
  /** called when the client of a tunnel has a newer control socket on another relay */
  readonly onMoved?: (tunnel: LiveTunnel) => void;
}

/** Code and reason for closing sockets. */
export interface SocketEnd {
  readonly code: number;
  /** of the control socket, up to 123 bytes */
  readonly reason?: string;
}

export class Hub implements Dialer {
  readonly #options: HubOptions;
  readonly #clock: Clock;
  readonly #ownership: Ownership;
  readonly #clients = new Map<string, ConnectedClient>();
  /** what waits for a data socket */
  readonly awaited: AwaitedSockets;
  readonly #context: ClientsContext;
  #ticker: NodeJS.Timeout | undefined;
  #stage: 'running' | 'leaving' | 'draining' = 'running';

  constructor(options: HubOptions) {
    const { clock, ownership, forwarder = NO_FORWARDER, counts = NO_COUNTS, onMoved = () => {} } = options;
    this.#options = options;
    this.#clock = clock;
    this.#ownership = ownership;
    this.awaited = new AwaitedSockets(clock, ownership);
    this.#context = { clock, ownership, forwarder, awaited: this.awaited, counts, onMoved };
    counts.listen('plan', { giveWay: (id) => this.get(id)?.giveWay() });
  }

  /** Starts the keepalive of control sockets (protocol.md section 5.2). */
  start(): void {
    this.#ticker = setInterval(() => this.tick(), TICK_MS).unref();
  }

  /** Checks which clients are still connected. */
  tick(): void {
    const now = this.#clock.monotonic();
    for (const client of this.#clients.values()) client.tick(now);
  }

  /** The client of a tunnel, if it is or was here, or visitors wait for it. */
  get(tunnelId: string): ConnectedClient | undefined {
    return this.#clients.get(tunnelId);
  }

  /**
   * A tunnel from before this relay started: its client is expected to return, so its visitors wait for it.
   *
   * @param awayMs how long it has been away
   */
  expect(tunnel: LiveTunnel, awayMs = 0): void {
    this.#client(tunnel, this.#clock.monotonic() - awayMs);
  }

  /**
   * Tunnels whose client is connected, or has disconnected so recently that visitors still wait for it, with the ms
   * since then.
   */
  get missed(): { readonly tunnelId: string; readonly awayMs: number }[] {
    return [...this.#clients]
      .map(([tunnelId, { awayMs }]) => ({ tunnelId, awayMs }))
      .filter(({ awayMs }) => awayMs < HOLD_OVER_MS);
  }

  dial(tunnel: LiveTunnel, handler: DialHandler, peers = ''): Dial {
    return this.#dial(this.#client(tunnel), peers, handler);
  }

  isAway({ id }: LiveTunnel): boolean | Promise<boolean> {
    if (this.#clients.get(id)?.control !== undefined) return false;
    if (!this.#ownership.hasOthers) return true;
    return this.#ownership.find(id).then(({ kind }) => kind === 'away');
  }

  /** Serves a visitor who arrived on another relay, through a client on this one. */
  serveVisit(tunnelId: string, hop: StreamSocket, peers = ''): void {
    const client = this.#clients.get(tunnelId);
    if (client?.control === undefined) return refuseVisit(hop, 'away');
    const waiting = this.#dial(
      client,
      peers,
      {
        opened: (stream, wasWarm = false) => joinVisit(hop, stream, wasWarm),
        failed: (fault) => refuseVisit(hop, fault),
      },
      () => refuseVisit(hop, 'away'),
    );
    hop.attach({
      // The visitor's relay sends nothing before it has a response.
      onStreamData() {
        waiting.cancel();
        hop.destroy();
      },
      onStreamDrain() {},
      onStreamClose: () => waiting.cancel(),
    });
  }

  /** Visitors of other relays who are served here, or wait here. */
  get forwarded(): number {
    let sum = 0;
    for (const { forwarded } of this.#clients.values()) sum += forwarded;
    return sum;
  }

  #dial(client: ConnectedClient, peers: string, handler: DialHandler, away?: () => void): Dial {
    const pending: Pending = {
      id: undefined,
      tunnel: client.tunnel,
      peers,
      handler,
      away,
      since: this.#clock.monotonic(),
      timer: undefined,
      idEnds: 0,
      announcedTo: undefined,
      visit: undefined,
      waitsUntil: undefined,
    };
    client.wait(pending);
    return { cancel: () => client.release(pending) };
  }

  /**
   * Joins an inbound connection and its data socket.
   *
   * @param keyId id of the key it was opened with, if there was one
   * @param via incarnation of the relay that forwards it, if one does
   */
  open(awaiting: Pending | Move, socket: WebSocketByteStream, keyId?: string, via?: string): void {
    if (awaiting instanceof Move) awaiting.open(socket, keyId, via);
    else this.#clients.get(awaiting.tunnel.id)?.open(awaiting, socket, keyId, via);
  }

  /** Ids of the keys that anything open was opened with. */
  keysInUse(): Set<string> {
    const keys = new Set<string>();
    for (const client of this.#clients.values()) for (const key of client.keysInUse()) keys.add(key);
    return keys;
  }

  /** Keys are no longer valid: what was opened through them is closed with 4003 (protocol.md section 7). */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const client of this.#clients.values()) client.revoke(keys);
  }

  /** Another relay shuts down: what it forwards serves nothing after its current use. */
  leavesHop(incarnation: string): void {
    for (const client of this.#clients.values()) client.leavesHop(incarnation);
  }

  /**
   * Ownership of the local clients is confirmed again, and clients of other relays may have moved: waiting connections
   * continue.
   */
  resume(): void {
    for (const client of this.#clients.values()) client.resume();
  }

  /** @returns fulfilled when visitors of other relays find the client; `undefined` for a standalone relay */
  attach(tunnel: LiveTunnel, control: ControlSocket): Promise<void> | undefined {
    const claimed = this.#client(tunnel).attach(control);
    this.#options.onOnline?.(tunnel);
    // The account was suspended after the key had been checked.
    if (tunnel.account.suspended !== null) this.get(tunnel.id)?.suspend(tunnel.account.suspended);
    else if (this.#stage !== 'running') control.askToMove();
    return claimed;
  }

  detach(tunnel: LiveTunnel, control: ControlSocket, code: number): void {
    this.#clients.get(tunnel.id)?.detach(control, code);
    this.#options.onOffline?.(tunnel, code);
  }

  /** Whether a client of the tunnel is connected to this relay, and may open another trunk. */
  offers(tunnel: LiveTunnel): 'offline' | 'full' | 'welcome' {
    const client = this.#clients.get(tunnel.id);
    if (client?.control === undefined) return 'offline';
    return client.trunks < this.#options.maxTrunks ? 'welcome' : 'full';
  }

  /** Whether clients may open trunks at all. */
  get takesTrunks(): boolean {
    return this.#options.maxTrunks > 0;
  }

  /** Ids of those of the tunnels whose client is on one of the relays. */
  async online(tunnels: readonly LiveTunnel[]): Promise<ReadonlySet<string>> {
    const isHere = ({ id }: LiveTunnel): boolean => this.#clients.get(id)?.control !== undefined;
    const here = tunnels.filter(isHere).map(({ id }) => id);
    if (!this.#ownership.hasOthers || here.length === tunnels.length) return new Set(here);
    const away = tunnels.filter((tunnel) => !isHere(tunnel)).map(({ id }) => id);
    return new Set([...here, ...(await this.#ownership.online(away))]);
  }

  /** The tunnel has ended: its sockets are closed with the code, its visitors cut. */
  end(tunnel: LiveTunnel, { code, reason }: SocketEnd): void {
    this.#clients.get(tunnel.id)?.end(code, reason);
    this.#clients.delete(tunnel.id);
  }

  /** Gauges for the operator's metrics. */
  gauges(): ClientGauges {
    const sum = { online: 0, streams: 0, trunks: 0, trunkStreams: 0, pending: 0 };
    for (const { gauges } of this.#clients.values()) {
      sum.online += gauges.online;
      sum.streams += gauges.streams;
      sum.trunks += gauges.trunks;
      sum.trunkStreams += gauges.trunkStreams;
      sum.pending += gauges.pending;
    }
    return sum;
  }

  /**
   * Whether a client of the tunnel may open a control socket. One that has left may return to a relay that is about to
   * shut down, for the visitors who wait there; one that is asked to leave may not.
   */
  admits(tunnel: LiveTunnel): boolean {
    if (this.#stage === 'leaving') return this.#clients.get(tunnel.id)?.control === undefined;
    return this.#stage === 'running';
  }

  /** The relay is about to shut down: clients that support it are asked to move to another one. */
  askToMove(): void {
    this.#stage = 'leaving';
    for (const client of this.#clients.values()) client.control?.askToMove();
  }

  /**
   * Notifies the clients that were not asked to move of the shutdown, and waits until the others have moved, at most
   * {@link DRAIN_MOVE_MS}.
   */
  async moved(): Promise<void> {
    const clients = [...this.#clients.values()];
    for (const client of clients) if (!isMoving(client)) client.drain();
    const until = this.#clock.monotonic() + DRAIN_MOVE_MS;
    while (clients.some(isMoving) && this.#clock.monotonic() < until) {
      await new Promise<void>((resolve) => this.#clock.setTimeout(resolve, DRAIN_LOOK_MS));
    }
  }

  /** Notifies every client of the shutdown. */
  drain(): void {
    this.#stage = 'draining';
    clearInterval(this.#ticker);
    for (const client of this.#clients.values()) client.drain();
  }

  #client(tunnel: LiveTunnel, leftAt = -Infinity): ConnectedClient {
    let client = this.#clients.get(tunnel.id);
    if (client === undefined) {
      client = new ConnectedClient(tunnel, leftAt, this.#context);
      this.#clients.set(tunnel.id, client);
    }
    return client;
  }
}

/** Whether the client has been asked to move to another relay, and is still here. */
function isMoving({ control }: ConnectedClient): boolean {
  return control?.wasAskedToMove === true;
}
