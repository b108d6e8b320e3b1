/** One tunnel's side of its client: the control socket, the data sockets, and the visitors who wait for one. */
import { CloseCode, closeReason, KEY_ENDS, type KeyEnd } from '../../shared/control.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import type { Clock } from '../clock.ts';
import { HOLD_OVER_MS, RELAY_LEASE_MS, WAITING_MAX } from '../limits.ts';
import { rendezvousWait, traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { DataStream, type LargeStream, type StreamSocket, TunnelStreams } from './client-streams.ts';
import { TunnelTrunks } from './client-trunks.ts';
import type { ControlSocket, SocketKey } from './control-socket.ts';
import type { HeldControl, Ownership } from './ownership.ts';
import { type ConnectionIds, type Pending, WaitingVisitors } from './waiting-visitors.ts';

/** The client's control socket on another relay, as this one has found it. */
interface RemoteControl {
  readonly fence: number;
  /** the owner's key, with which the client opens trunks here */
  readonly key: SocketKey;
  /** until when it counts, monotonic ms: a relay that dies says nothing */
  readonly until: number;
}

export interface ConnectedClientOptions {
  readonly clock: Clock;
  /** since when the client is missed, monotonic ms */
  readonly leftAt: number;
  /** where the client may be instead */
  readonly presence: Ownership;
  readonly owner: TunnelLinkOwner;
}

/** Who holds the links of all tunnels. */
export interface TunnelLinkOwner extends ConnectionIds {
  /** The client has a newer control socket on another relay. */
  moved(tunnel: LiveTunnel): void;
  /** A stream of a trunk may be better off on a data socket of its own. */
  large(tunnel: LiveTunnel, stream: LargeStream): void;
}

export class ConnectedClient {
  readonly tunnel: LiveTunnel;
  readonly #clock: Clock;
  readonly #presence: Ownership;
  readonly #owner: TunnelLinkOwner;
  #control: ControlSocket | undefined;
  /** The control socket as other relays know it. */
  #held: HeldControl | undefined;
  #remote: RemoteControl | undefined;
  /** The one before, while it closes. */
  #replaced: ControlSocket | undefined;
  readonly #streams = new TunnelStreams();
  readonly #waiting: WaitingVisitors;
  /** `undefined` before there is one: most tunnels rest */
  #trunks: TunnelTrunks | undefined;

  constructor(tunnel: LiveTunnel, { clock, leftAt, presence, owner }: ConnectedClientOptions) {
    this.tunnel = tunnel;
    this.#clock = clock;
    this.#presence = presence;
    this.#owner = owner;
    this.#waiting = new WaitingVisitors({
      clock,
      leftAt,
      tunnelId: tunnel.id,
      presence,
      link: this,
      ids: owner,
    });
  }

  /** The client's control socket, if it holds one. */
  get control(): ControlSocket | undefined {
    return this.#control;
  }

  /** Whether the client holds a control socket. */
  get isOnline(): boolean {
    return this.#control !== undefined;
  }

  /** ms since the client has left; 0 while it is here, Infinity for one that has never been there. */
  get awayMs(): number {
    return this.isOnline ? 0 : this.#waiting.awayMs;
  }

  /** The key with which the client opens trunks; `undefined` where it is not known to be on any relay. */
  get offerKey(): SocketKey | undefined {
    if (this.#control !== undefined) return this.#control.key;
    const remote = this.#remote;
    return remote !== undefined && this.#clock.monotonic() < remote.until ? remote.key : undefined;
  }

  /** How many trunks visitors can still be sent through. */
  get trunks(): number {
    return this.#trunks?.size ?? 0;
  }

  /** How many data sockets, and streams of trunks, serve a visitor. */
  get streams(): number {
    return this.#streams.size;
  }

  /** How many streams its trunks carry. */
  get trunkStreams(): number {
    return this.#trunks?.streams ?? 0;
  }

  /** How many visitors wait for a data socket, or for the client. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Takes a client's new control socket; the one before it is replaced (docs/protocol.md section 5.3). */
  attach(control: ControlSocket): void {
    // A client that comes again and again and never answers a Close frame must not pile up sockets.
    this.#replaced?.cut();
    this.#replaced = this.#control;
    this.#control?.close(CloseCode.replaced);
    this.#trunks?.retire();
    this.#streams.retireAllIdle();
    this.#streams.clientCame();
    this.#remote = undefined;
    this.#control = control;
    this.#hold(control);
    // The socket before may have taken announcements along; an id is good for one data socket either way.
    this.#waiting.seekAgain();
  }

  /** Says who knocks: see {@link ControlSocket.tellKnocks}. */
  tellKnocks(waiting: Parameters<ControlSocket['tellKnocks']>[0]): void {
    this.#control?.tellKnocks(waiting);
  }

  /** A control socket has ended, with the code; its trunks take no more visitors. */
  detach(control: ControlSocket, code: number): void {
    const wasLost = code === CloseCode.abnormal || code === CloseCode.noStatus;
    const isCurrent = this.#control === control;
    if (wasLost) this.#streams.clientLost(this.#clock.monotonic(), !isCurrent);
    if (this.#replaced === control) this.#replaced = undefined;
    if (!isCurrent) return;
    this.#control = undefined;
    this.#streams.retireAllIdle();
    this.#letGo(wasLost ? CloseCode.goingAway : code);
    this.#waiting.clientLeft();
    this.#trunks?.retire();
  }

  /** The client lets visitors share a connection. */
  addTrunk(socket: WebSocketByteStream, keyId: string): void {
    this.#trunks ??= new TunnelTrunks();
    this.#trunks.add(socket, keyId);
  }

  /** Lets an inbound connection wait for its data socket, or for the client where it has just left. */
  wait(pending: Pending): void {
    // One that waits again, because its trunk has just ended, has its place.
    if (!this.#waiting.has(pending) && this.#isFull())
      return this.#waiting.failIn(0, pending, 'plan-limit', this.#limitText());
    this.#waiting.add(pending);
    // What was here may be elsewhere by now; it is found out at this moment.
    if (!this.#presence.isSure) return this.#waiting.failIn(HOLD_OVER_MS, pending, 'tunnel-offline');
    const stream = this.#openOnTrunk();
    if (stream !== undefined) return queueMicrotask(() => this.#handFromTrunk(pending, stream));
    if (this.#waiting.size > WAITING_MAX) return this.#waiting.failIn(0, pending, 'tunnel-busy');
    this.#waiting.seek(pending);
  }

  /** What waits is announced where the client is now. */
  seekAgain(): void {
    this.#waiting.seekAgain();
  }

  /** What others hold may have changed unheard. */
  resume(): void {
    if (this.#control === undefined) this.#forgetRemote();
    this.seekAgain();
  }

  /** The client has its control socket on another relay, with this fencing number, and may open trunks with the key. */
  foundElsewhere(fence: number, key: SocketKey): void {
    if (this.#control !== undefined) return;
    this.#remote = { fence, key, until: this.#clock.monotonic() + RELAY_LEASE_MS };
  }

  /** The client has come to a relay; what was announced on this very control socket is not announced on it again. */
  cameElsewhere(fence: number): void {
    if (this.#control !== undefined) return;
    this.#streams.retireAllIdle();
    // It may be another client, where one before has gone without a word.
    this.#streams.clientLost(this.#clock.monotonic(), true);
    // Its trunks belong to the control socket before.
    if (this.#remote !== undefined && this.#remote.fence < fence) this.#forgetRemote();
    this.#waiting.cameElsewhere(fence);
  }

  /** The client has left another relay, which may have announced what waits here. */
  leftElsewhere(): void {
    if (this.#control !== undefined) return;
    this.#streams.retireAllIdle();
    // Whether it was lost there is not told.
    this.#streams.clientLost(this.#clock.monotonic(), false);
    this.#forgetRemote();
    this.#waiting.holdOver();
  }

  /** Announces a connection that waits on another relay. */
  announceFor(connectionId: string): void {
    if (this.#presence.isSure) this.#control?.announce(connectionId);
  }

  /** The inbound connection waits no longer. */
  release(pending: Pending): void {
    this.#waiting.release(pending);
  }

  /**
   * The data socket of a pending connection is there.
   *
   * @param keyId id of the key it was opened with; without one, it came by the announcement alone
   * @param via incarnation of the relay through which it comes
   */
  open(pending: Pending, socket: WebSocketByteStream, keyId?: string, via?: string): void {
    traffic.dataSockets += 1;
    this.#hand(pending, this.#track(socket, keyId ?? pending.announcedTo ?? '', via), false);
  }

  /** A relay shuts down, through which streams may come. */
  leavesHop(incarnation: string): void {
    for (const stream of this.#streams) if (stream.via === incarnation) stream.retire();
  }

  /** Ids of the keys that hold something open here. */
  *keysInUse(): Generator<string> {
    const key = this.offerKey;
    if (key !== undefined) yield key.keyId;
    if (this.#trunks !== undefined) yield* this.#trunks.keysInUse();
    yield* this.#waiting.keysInUse();
    // One that was faster than the word of which key had been told is not known by any.
    for (const { keyId } of this.#streams) if (keyId !== '') yield keyId;
  }

  /** Cuts what was opened or announced through keys that are no longer valid. Another key may take the tunnel on. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void {
    for (const stream of this.#streams) if (keys.has(stream.keyId)) stream.cut(CloseCode.keyRevoked);
    // Before their control socket, whose end would close those that nobody uses in order.
    this.#trunks?.revoke(keys);
    const control = this.#control;
    const end = control === undefined ? undefined : keys.get(control.key.keyId);
    if (end !== undefined) this.#dismiss(CloseCode.keyRevoked, KEY_ENDS[end]);
    if (this.#remote !== undefined && keys.has(this.#remote.key.keyId)) this.#remote = undefined;
    this.#waiting.revoke(keys);
  }

  /** Cuts all that was opened through any key: the account is suspended, and visitors are told so before they get here. */
  suspend(reason: string): void {
    const code = CloseCode.accountSuspended;
    for (const stream of this.#streams) stream.cut(code);
    // Before their control socket, as above.
    this.#trunks?.close(code);
    this.#dismiss(code, closeReason(reason));
    this.#forgetRemote();
    this.#waiting.failAll('tunnel-offline');
  }

  /** Closes the control socket, if there is one. */
  #dismiss(code: number, reason: string): void {
    const control = this.#control;
    if (control === undefined) return;
    control.close(code, reason);
    this.detach(control, code);
  }

  /** The tunnel has ended: everything of it is cut. */
  end(code: number, reason?: string): void {
    this.#control?.close(code, reason);
    this.#letGo(code);
    this.#waiting.failAll('tunnel-unknown');
    for (const stream of this.#streams) stream.cut(code);
    this.#trunks?.close(code);
  }

  /** The relay is going to shut down: the client is asked to go to another one, and served until it has. */
  askToMove(): void {
    this.#control?.askToMove();
  }

  /** Whether the client has been asked to go to another relay, and is still here. */
  get isMoving(): boolean {
    return this.#control?.wasAskedToMove === true;
  }

  /** The relay shuts down: the client is told; open streams go on. */
  drain(): void {
    this.#control?.close(CloseCode.goingAway);
    this.#trunks?.retire();
  }

  /** @param now monotonic ms */
  tick(now: number): void {
    this.#control?.tick(now);
    this.#streams.tick(now);
    this.#trunks?.tick(now);
  }

  /**
   * Whether as many inbound connections are open, or wait for it, as the owner's plan allows. Those that wait for a next
   * request give their streams to whoever needs one.
   */
  #isFull(): boolean {
    const { maxConnections } = PLAN_RULES[this.tunnel.account.plan];
    if (maxConnections === null || this.#waiting.size + this.streams < maxConnections) return false;
    return !this.#streams.retireIdle();
  }

  #limitText(): string {
    const { title, maxConnections } = PLAN_RULES[this.tunnel.account.plan];
    return `This tunnel has ${maxConnections} open connections, as many as the ${title} plan of its owner allows. Try again when one has ended.`;
  }

  #openOnTrunk(): DataStream | undefined {
    const opened = this.#trunks?.open();
    if (opened === undefined) return undefined;
    traffic.trunkStreams += 1;
    const stream = this.#track(opened.stream, opened.keyId);
    opened.stream.whenLarge(opened.largeBytes, () =>
      this.#owner.large(this.tunnel, { trunk: opened.stream, data: stream }),
    );
    return stream;
  }

  #track(socket: StreamSocket, keyId: string, via?: string): DataStream {
    const stream = new DataStream(socket, this.tunnel, keyId, this.#streams, via);
    this.#streams.add(stream);
    return stream;
  }

  #handFromTrunk(pending: Pending, stream: DataStream): void {
    if (!this.#waiting.has(pending)) return stream.finish();
    if (!stream.isOpen) return this.wait(pending);
    this.#hand(pending, stream, true);
  }

  #hand(pending: Pending, stream: DataStream, wasWarm: boolean): void {
    this.#waiting.release(pending);
    rendezvousWait.add((this.#clock.monotonic() - pending.since) / 1000);
    pending.handler.opened(stream, wasWarm);
  }

  #forgetRemote(): void {
    this.#remote = undefined;
    this.#trunks?.retire();
  }

  #hold(control: ControlSocket): void {
    const replaced = () => this.#moved(control);
    this.#held = { tunnelId: this.tunnel.id, keyId: control.key.keyId, replaced };
    this.#presence.claim(this.#held);
  }

  #letGo(code: number): void {
    if (this.#held !== undefined) this.#presence.release(this.#held, code);
    this.#held = undefined;
  }

  /** The newest control socket wins, over all relays (docs/protocol.md section 5.3). */
  #moved(control: ControlSocket): void {
    if (this.#control !== control) return;
    control.close(CloseCode.replaced);
    this.detach(control, CloseCode.replaced);
    this.#owner.moved(this.tunnel);
    this.seekAgain();
  }
}
