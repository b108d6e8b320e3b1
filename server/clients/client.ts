/** The client of one tunnel: its control socket, its data sockets, and the visitors who wait for one. */
import {
  CloseCode,
  closeReason,
  KEY_ENDS,
  type KeyEnd,
  PROBLEM_INTERVAL_MS,
  type RelayProblem,
} from '../../shared/control.ts';
import type { WebSocketByteStream } from '../../shared/websocket/byte-stream.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import { type ClientGauges, rendezvousWait, traffic } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { DataStream, type StreamSocket, TunnelStreams } from './client-streams.ts';
import { TunnelTrunks } from './client-trunks.ts';
import type { ControlSocket, SocketKey } from './control-socket.ts';
import type { HeldControl } from './ownership.ts';
import { type ClientsContext, HOLD_OVER_MS, type Pending, WaitingVisitors } from './waiting-visitors.ts';

/**
 * Maximum number of a tunnel's visitors that may wait for its client. The client accepts at most as many.
 * Visitors count whether they are announced or not yet.
 */
export const WAITING_MAX = 4096;

/** For tunnels without them, which are most: empty sets and maps would also take memory. */
const NO_AGENTS: ReadonlySet<string> = new Set();
const NO_PROBLEMS: ReadonlyMap<RelayProblem['code'], number> = new Map();

export class ConnectedClient {
  readonly tunnel: LiveTunnel;
  readonly #o: ClientsContext;
  /** ids of agents' keys that its sockets were opened with */
  #agents: ReadonlySet<string> = NO_AGENTS;
  #control: ControlSocket | undefined;
  /** The control socket as published to other relays. */
  #held: HeldControl | undefined;
  /** The previous one, while it closes. */
  #replaced: ControlSocket | undefined;
  /** when the owner was last told about each kind of problem, monotonic ms */
  #problemsAt = NO_PROBLEMS;
  /** Whether the last control socket was lost, and perhaps everything else of the client as well. */
  #wasLost = false;
  readonly #streams = new TunnelStreams(() => this.#count());
  readonly #waiting: WaitingVisitors;
  /** `undefined` before there is one: most tunnels are idle */
  #trunks: TunnelTrunks | undefined;

  /** @param leftAt since when the client is away, monotonic ms */
  constructor(tunnel: LiveTunnel, leftAt: number, context: ClientsContext) {
    this.tunnel = tunnel;
    this.#o = context;
    this.#waiting = new WaitingVisitors(this, leftAt, context, () => this.#count());
  }

  /** The client's control socket, if it has one. */
  get control(): ControlSocket | undefined {
    return this.#control;
  }

  /** ms since the client has left; 0 while it is connected, Infinity for one that never was. */
  get awayMs(): number {
    return this.#control !== undefined ? 0 : this.#waiting.awayMs;
  }

  /** Number of trunks that accept visitors. */
  get trunks(): number {
    return this.#trunks?.size ?? 0;
  }

  /** Visitors of other relays whom it serves, or who wait for it. */
  get forwarded(): number {
    return this.#streams.forwarded + this.#waiting.forwarded;
  }

  get #ownWaiting(): number {
    return this.#waiting.size - this.#waiting.forwarded;
  }

  /** What this client adds to the operator's metrics. */
  get gauges(): ClientGauges {
    return {
      online: this.#control === undefined ? 0 : 1,
      streams: this.#streams.size,
      trunks: this.trunks,
      trunkStreams: this.#trunks?.streams ?? 0,
      pending: this.#ownWaiting,
    };
  }

  /**
   * Adds a client's new control socket; the previous one is replaced (protocol.md section 5.3).
   *
   * @returns as `Ownership.claim` does
   */
  attach(control: ControlSocket): Promise<void> | undefined {
    // A client that reconnects again and again and never answers a Close frame must not accumulate sockets.
    this.#replaced?.cut();
    this.#replaced = this.#control;
    this.#control?.close(CloseCode.replaced);
    this.#noteAgent(control.key);
    this.#trunks?.question();
    this.#streams.retireAllIdle();
    this.#streams.clientCame();
    this.#control = control;
    const replaced = () => this.#moved(control);
    this.#held = { tunnelId: this.tunnel.id, keyId: control.key.keyId, replaced };
    const claimed = this.#o.ownership.claim(this.#held);
    // The previous socket may have lost announcements; an id is only valid for one data socket anyway.
    this.#waiting.seekAgain();
    return claimed;
  }

  /** A control socket has ended, with the code; its trunks accept no more visitors. */
  detach(control: ControlSocket, code: number): void {
    const wasLost = code === CloseCode.abnormal || code === CloseCode.noStatus;
    const isCurrent = this.#control === control;
    if (wasLost) this.#streams.clientLost(this.#o.clock.monotonic(), !isCurrent);
    if (this.#replaced === control) this.#replaced = undefined;
    if (!isCurrent) return;
    this.#control = undefined;
    this.#wasLost = wasLost;
    if (wasLost) this.#streams.retireAllIdle();
    // A client that has left in order takes no further requests, also on the streams that are in use.
    else this.#streams.retireAll();
    this.#releaseControl();
    this.#waiting.clientLeft();
    this.#trunks?.retire();
  }

  /**
   * Adds a connection that visitors share.
   *
   * @param via incarnation of the relay that forwards it, if one does
   */
  addTrunk(socket: WebSocketByteStream, key: Pick<SocketKey, 'keyId' | 'isAgents'>, via?: string): void {
    this.#noteAgent(key);
    this.#trunks ??= new TunnelTrunks({
      clock: this.#o.clock,
      lost: () => this.#control?.probe(this.#o.clock.monotonic()),
    });
    this.#trunks.add(socket, key.keyId, via);
  }

  /** Lets an inbound connection wait for its data socket, or for a client that has just disconnected. */
  wait(pending: Pending): void {
    // One that waits again, because its trunk has just ended, is already counted.
    const isCounted = pending.away === undefined && !this.#waiting.has(pending);
    if (isCounted && this.#isFull()) return this.#waiting.failIn(0, pending, 'plan-limit', this.#limitText());
    this.#waiting.add(pending);
    // The client may be on another relay now, which is just being checked.
    if (!this.#o.ownership.isSure) return this.#waiting.failIn(HOLD_OVER_MS, pending, 'tunnel-offline');
    const stream = this.#openOnTrunk(pending);
    if (stream !== undefined) return queueMicrotask(() => this.#handFromTrunk(pending, stream));
    if (this.#waiting.size > WAITING_MAX) return this.#waiting.failIn(0, pending, 'tunnel-busy');
    this.#waiting.seek(pending);
  }

  /** Clients may have moved between other relays unnoticed. */
  resume(): void {
    this.#waiting.seekAgain();
  }

  /** The client has connected to another relay. */
  cameElsewhere(relay: string): void {
    if (this.#control !== undefined) return;
    this.#streams.retireAll();
    // It may be another client, after the previous one was lost without notice.
    this.#streams.clientLost(this.#o.clock.monotonic(), true);
    // Its trunks belong to an earlier control socket. A client that has left in order may be slow, but is not lost.
    if (this.#wasLost) this.#trunks?.question();
    this.#waiting.cameElsewhere(relay);
  }

  /** The client has left another relay, where visitors of this one continue to wait. */
  leftElsewhere(): void {
    if (this.#control !== undefined) return;
    this.#streams.retireAll();
    // The other relay does not report whether the client was lost there.
    this.#streams.clientLost(this.#o.clock.monotonic(), false);
  }

  /**
   * Tells the owner about a problem of the local service. Every visitor may cause one, so each kind is reported at most
   * once per {@link PROBLEM_INTERVAL_MS}, and a cookie that the service sets again and again only once.
   */
  tellProblem(problem: RelayProblem): void {
    const now = this.#o.clock.monotonic();
    const interval = problem.code === 'path-cookie' ? Infinity : PROBLEM_INTERVAL_MS;
    if (now - (this.#problemsAt.get(problem.code) ?? -Infinity) < interval) return;
    this.#problemsAt = new Map(this.#problemsAt).set(problem.code, now);
    if (this.#control === undefined) this.#o.ownership.tellProblem(this.tunnel.id, problem);
    else this.#control.tellProblem(problem);
  }

  /** The inbound connection no longer waits. */
  release(pending: Pending): void {
    this.#waiting.release(pending);
  }

  /**
   * The data socket of a pending connection is open.
   *
   * @param keyId id of the key it was opened with; without one, it was authorized by the announcement alone
   * @param via incarnation of the relay that forwards it
   */
  open(pending: Pending, socket: WebSocketByteStream, keyId?: string, via?: string): void {
    traffic.dataSockets += 1;
    const counts = pending.away === undefined ? this.tunnel : undefined;
    this.#hand(pending, this.#track(socket, counts, keyId ?? pending.announcedTo ?? '', via), false);
  }

  /** There is a stream to the client on another relay, for a visitor of this one. */
  openedElsewhere(pending: Pending, socket: StreamSocket, via: string): void {
    this.#hand(pending, this.#track(socket, this.tunnel, '', via), true);
  }

  /**
   * A relay that may forward streams and trunks shuts down. Only another relay knows what it has opened through it for the
   * visitors of this one, so none of that is kept.
   */
  leavesHop(incarnation: string): void {
    for (const stream of this.#streams) if (stream.via !== undefined) stream.retire();
    this.#trunks?.retire(incarnation);
  }

  /** Ids of the keys that something was opened with here. */
  *keysInUse(): Generator<string> {
    if (this.#control !== undefined) yield this.#control.key.keyId;
    if (this.#trunks !== undefined) yield* this.#trunks.keysInUse();
    yield* this.#waiting.keysInUse();
    // The key of a stream on another relay is known there.
    for (const { keyId } of this.#streams) if (keyId !== '') yield keyId;
  }

  /**
   * Cuts everything that was opened or announced through keys that are no longer valid. Another key can continue to
   * use the tunnel.
   *
   * @param code of the control socket
   */
  revoke(keys: ReadonlyMap<string, KeyEnd>, code: number = CloseCode.keyRevoked): void {
    for (const stream of this.#streams) if (keys.has(stream.keyId)) stream.cut(CloseCode.keyRevoked);
    // Before their control socket, whose end would close unused trunks normally.
    this.#trunks?.revoke(keys);
    // Also before, because the visitors of other relays would look for the client again.
    this.#waiting.revoke(keys);
    const control = this.#control;
    const end = control === undefined ? undefined : keys.get(control.key.keyId);
    if (end !== undefined) this.#dismiss(code, code === CloseCode.keyRevoked ? KEY_ENDS[end] : '');
  }

  /** Another key of the account has taken the tunnel over: cuts everything that was opened through agents' keys. */
  takeFromAgents(): void {
    this.revoke(new Map([...this.#agents].map((keyId) => [keyId, 'revoked'])), CloseCode.replaced);
    this.#agents = NO_AGENTS;
  }

  #noteAgent({ keyId, isAgents = false }: Pick<SocketKey, 'keyId' | 'isAgents'>): void {
    if (isAgents) this.#agents = new Set(this.#agents).add(keyId);
  }

  /** Cuts everything that was opened through any key: the account is suspended, and visitors are told so earlier. */
  suspend(reason: string): void {
    const code = CloseCode.accountSuspended;
    for (const stream of this.#streams) stream.cut(code);
    // Before their control socket, as above.
    this.#trunks?.close(code);
    this.#waiting.failAll('tunnel-offline');
    this.#dismiss(code, closeReason(reason));
  }

  /** Closes the control socket, if there is one. */
  #dismiss(code: number, reason: string): void {
    const control = this.#control;
    if (control === undefined) return;
    control.close(code, reason);
    this.detach(control, code);
  }

  /** The tunnel has ended: all of its connections are cut. */
  end(code: number, reason?: string): void {
    this.#control?.close(code, reason);
    this.#releaseControl();
    this.#waiting.failAll('tunnel-unknown');
    for (const stream of this.#streams) stream.cut(code);
    this.#trunks?.close(code);
  }

  /** The relay shuts down: the client is notified; open streams continue. */
  drain(): void {
    this.#control?.close(CloseCode.goingAway);
    this.#trunks?.retire();
  }

  /** @param now monotonic ms */
  tick(now: number): void {
    this.#control?.tick(now);
    this.#streams.tick(now);
    this.#trunks?.tick(now);
    if (this.#trunks?.isEmpty === true) this.#trunks = undefined;
  }

  /**
   * Whether as many inbound connections are open or waiting as the owner's plan allows. Connections that wait for a
   * next request give up their streams for others.
   */
  #isFull(): boolean {
    const { maxConnections } = PLAN_RULES[this.tunnel.account.plan];
    if (maxConnections === null) return false;
    const others = this.#o.counts.others('plan', this.tunnel.id);
    if (this.#ownWaiting + this.#streams.size + others < maxConnections) return false;
    return !this.#streams.retireIdle() && !this.#o.counts.displace('plan', this.tunnel.id);
  }

  /** A visitor of another process of this relay needs the stream of one that waits for its next request. */
  giveWay(): void {
    this.#streams.retireIdle();
  }

  #count(): void {
    const { id, account } = this.tunnel;
    const { maxConnections } = PLAN_RULES[account.plan];
    if (maxConnections === null) return;
    this.#o.counts.set('plan', id, maxConnections, this.#ownWaiting + this.#streams.size, this.#streams.idle);
  }

  #limitText(): string {
    const { title, maxConnections } = PLAN_RULES[this.tunnel.account.plan];
    return `This tunnel has ${maxConnections} open connections, which is the maximum on its owner's ${title} plan. Try again when one of them has closed.`;
  }

  #openOnTrunk({ away, peers }: Pending): DataStream | undefined {
    const opened = this.#trunks?.open(peers);
    if (opened === undefined) return undefined;
    traffic.trunkStreams += 1;
    const stream = this.#track(opened.stream, away === undefined ? this.tunnel : undefined, opened.keyId);
    opened.stream.run.whenLarge(opened.largeFrom, () =>
      this.#o.awaited.move(this.tunnel, { trunk: opened.stream, data: stream }),
    );
    return stream;
  }

  #track(socket: StreamSocket, counts: LiveTunnel | undefined, keyId: string, via?: string): DataStream {
    const stream = new DataStream(socket, counts, keyId, this.#streams, via);
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
    if (pending.away === undefined) rendezvousWait.add((this.#o.clock.monotonic() - pending.since) / 1000);
    pending.handler.opened(stream, wasWarm);
  }

  #releaseControl(): void {
    if (this.#held !== undefined) this.#o.ownership.release(this.#held);
    this.#held = undefined;
  }

  /** The newest control socket across all relays wins (protocol.md section 5.3). */
  #moved(control: ControlSocket): void {
    if (this.#control !== control) return;
    control.close(CloseCode.replaced);
    this.detach(control, CloseCode.replaced);
    // One that was asked to move may be slow, but is not lost.
    if (!control.wasAskedToMove) this.#trunks?.question();
    this.#o.onMoved(this.tunnel);
    this.#waiting.seekAgain();
  }
}
