/** A simulated network between a client and its relay, with the faults of real networks. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Random } from './random.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** How bytes are treated on the way. Changes apply from the next bytes on. */
export interface NetworkShape {
  /** ms that each byte takes, each way */
  latencyMs: number;
  /** bytes a second of each connection, each way; 0 for no limit */
  bytesPerSecond: number;
  /** bytes that arrive at a time; 0 to keep the sender's pieces */
  pieceBytes: number;
  /**
   * One packet per this many bytes of a connection is lost. It is sent again, and the packets behind it wait for a
   * round trip (RFC 5681 section 3.2). 0 for no loss.
   */
  bytesPerLoss: number;
}

/** Bytes on the way in one direction of one connection; beyond it the sender waits. */
const IN_FLIGHT_MAX_BYTES = 1024 * 1024;

export class FaultProxy {
  readonly shape: NetworkShape = { latencyMs: 0, bytesPerSecond: 0, pieceBytes: 0, bytesPerLoss: 0 };
  /** Called for each connection when its first request has arrived, before the request is forwarded. */
  onRequest: (connection: ProxiedConnection) => void = () => {};
  /** Whether new connections are accepted and everything on them is silently swallowed, as by a router that forgot them. */
  swallowsNew = false;
  readonly port: number;
  readonly #target: number;
  readonly #server: Server;
  readonly #connections = new Set<ProxiedConnection>();
  readonly #gate = new Gate();
  readonly #random = new Random(1);
  #cutLine: CutLine | undefined;

  private constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#join(socket));
  }

  /** @param target port of this machine that connections are forwarded to */
  static async start(scope: Scope, target: number): Promise<FaultProxy> {
    // The port stays reserved while the proxy is stopped.
    const proxy = new FaultProxy(await closedPort(), target);
    await proxy.restore();
    scope.defer(() => proxy.cut());
    return proxy;
  }

  /** The relay's address through this network. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Open connections whose first request was for a path, oldest first. */
  connectionsTo(path: string): ProxiedConnection[] {
    return [...this.#connections].filter((connection) => connection.path === path);
  }

  /** Holds everything up until {@link flow}. */
  stall(): void {
    this.#gate.close();
  }

  /** Delivers what was held up. */
  flow(): void {
    this.#gate.open();
  }

  /** Silently swallows everything on the present connections, permanently. Others work. */
  swallow(): void {
    for (const connection of this.#connections) connection.swallow();
  }

  /**
   * Cuts the line, with no notice to either end: swallows everything on the present connections, permanently, and
   * leaves attempts to connect without an answer until {@link mend}.
   */
  async blackOut(): Promise<void> {
    this.swallow();
    this.#server.close();
    this.#cutLine = await CutLine.start(this.port);
  }

  /** The line is back: attempts to connect succeed, including those that have begun before. */
  async mend(): Promise<void> {
    // It listens before the cut line ends, or an attempt that is repeated in between would be refused.
    await this.restore();
    await this.#cutLine?.end();
    this.#cutLine = undefined;
  }

  /** Refuses new connections until {@link restore}. The present ones work. */
  close(): void {
    this.#server.close();
  }

  /** Resets all connections, and refuses new ones until {@link restore}. */
  async cut(): Promise<void> {
    this.flow();
    await this.#cutLine?.end();
    this.#cutLine = undefined;
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    for (const connection of this.#connections) connection.reset();
    await closed;
  }

  /** Accepts connections (again), on the same port. */
  async restore(): Promise<void> {
    this.#server.listen({ port: this.port, host: '127.0.0.1', reusePort: true });
    await once(this.#server, 'listening');
  }

  #join(client: Socket): void {
    const relay = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const connection = new ProxiedConnection(client, relay, {
      shape: this.shape,
      gates: [this.#gate],
      random: this.#random,
      onRequest: () => this.onRequest(connection),
      onClose: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    if (this.swallowsNew) connection.swallow();
  }
}

/** ms after which an attempt to connect to this machine has got no answer. */
const UNANSWERED_MS = 500;

/**
 * A worker that listens on a port and accepts no connections: once its queue is full, the system drops further attempts
 * to connect, as a cut line does. It ends when the flag is set.
 */
const FULL_BACKLOG = `
  const { parentPort, workerData: { port, flag } } = require('node:worker_threads');
  const server = require('node:net').createServer();
  server.listen({ port, host: '127.0.0.1', backlog: 1, reusePort: true }, () => {
    parentPort.postMessage('listening');
    Atomics.wait(flag, 0, 0); // blocks this thread, so that nothing is accepted
    server.close();
  });`;

/** A port of this machine where attempts to connect get no answer. */
class CutLine {
  readonly #worker: Worker;
  readonly #flag: Int32Array;
  readonly #plugs: Socket[] = [];

  private constructor(port: number) {
    this.#flag = new Int32Array(new SharedArrayBuffer(4));
    const workerData = { port, flag: this.#flag };
    this.#worker = new Worker(FULL_BACKLOG, { eval: true, workerData });
  }

  static async start(port: number): Promise<CutLine> {
    const line = new CutLine(port);
    await once(line.#worker, 'message');
    while (await line.#plug(port));
    return line;
  }

  async end(): Promise<void> {
    const exit = once(this.#worker, 'exit');
    for (const plug of this.#plugs) plug.destroy();
    Atomics.store(this.#flag, 0, 1);
    Atomics.notify(this.#flag, 0);
    await exit;
  }

  /** Takes a place in the queue of the port. @returns whether there was one */
  async #plug(port: number): Promise<boolean> {
    const plug = connect(port, '127.0.0.1').on('error', () => {});
    this.#plugs.push(plug);
    const connected = once(plug, 'connect').then(() => true);
    return await Promise.race([connected, delay(UNANSWERED_MS, false)]);
  }
}

/** A gate that can be closed for a while. */
class Gate {
  #passed: Promise<void> = Promise.resolve();
  #open: (() => void) | undefined;

  /** Settles while it is open. */
  get passed(): Promise<void> {
    return this.#passed;
  }

  close(): void {
    if (this.#open === undefined) this.#passed = new Promise((resolve) => (this.#open = resolve));
  }

  open(): void {
    this.#open?.();
    this.#open = undefined;
  }
}

interface Surroundings {
  readonly shape: NetworkShape;
  /** bytes arrive only while all of them are open */
  readonly gates: readonly Gate[];
  readonly random: Random;
  readonly onRequest: () => void;
  readonly onClose: () => void;
}

/** One connection through a {@link FaultProxy}, and the faults that affect it alone. */
export class ProxiedConnection {
  readonly #gate = new Gate();
  readonly #lanes: readonly [Lane, Lane];
  #path: string | undefined;
  #openEnds = 2;

  constructor(client: Socket, relay: Socket, around: Surroundings) {
    const onClose = (): void => {
      this.#openEnds -= 1;
      if (this.#openEnds === 0) around.onClose();
    };
    const ofLanes = { ...around, gates: [...around.gates, this.#gate], onClose };
    this.#lanes = [new Lane(client, relay, ofLanes), new Lane(relay, client, ofLanes)];
    client.once('data', (bytes: Buffer) => {
      this.#path = /^[A-Z]+ ([^ ?]+)/.exec(bytes.toString('latin1', 0, 1024))?.[1];
      around.onRequest();
    });
  }

  /** the path of its first request; `undefined` before that has arrived, or if it is not HTTP */
  get path(): string | undefined {
    return this.#path;
  }

  /** Bytes towards the client that were delivered so far. */
  get deliveredToClient(): number {
    return this.#lanes[1].delivered;
  }

  /** Bytes towards the relay that were delivered so far. */
  get deliveredToRelay(): number {
    return this.#lanes[0].delivered;
  }

  /** Holds everything up until {@link flow}, as when a packet is lost repeatedly. */
  stall(): void {
    this.#gate.close();
  }

  /** Delivers what was held up. */
  flow(): void {
    this.#gate.open();
  }

  /** Silently swallows everything from now on, permanently. */
  swallow(): void {
    for (const lane of this.#lanes) lane.swallow();
    this.flow();
  }

  /** Resets it, in both directions. */
  reset(): void {
    this.flow();
    for (const lane of this.#lanes) lane.reset();
  }
}

/** One direction of one connection. */
class Lane {
  /** bytes that have arrived so far */
  delivered = 0;
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #o: Surroundings;
  readonly #queue: { readonly bytes: Buffer; readonly due: number }[] = [];
  #queued = 0;
  #isSwallowing = false;
  #hasEnded = false;
  #isPumping = false;

  constructor(from: Socket, to: Socket, o: Surroundings) {
    this.#from = from;
    this.#to = to;
    this.#o = o;
    from.on('data', (bytes: Buffer) => {
      this.#queue.push({ bytes, due: performance.now() + o.shape.latencyMs });
      this.#queued += bytes.length;
      if (this.#queued > IN_FLIGHT_MAX_BYTES) from.pause();
      void this.#pump();
    });
    from.on('end', () => {
      this.#hasEnded = true;
      void this.#pump();
    });
    from.on('error', () => this.#isSwallowing || to.resetAndDestroy());
    from.on('close', () => {
      o.onClose();
      if (!this.#hasEnded && !this.#isSwallowing) to.destroy();
    });
  }

  swallow(): void {
    this.#isSwallowing = true;
  }

  reset(): void {
    this.#from.resetAndDestroy();
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const wait = next.due - performance.now();
      if (wait > 0) await delay(wait);
      if (this.#isLost(next.bytes)) await delay(2 * this.#o.shape.latencyMs);
      await this.#deliver(next.bytes);
      this.#queued -= next.bytes.length;
      if (this.#queued <= IN_FLIGHT_MAX_BYTES) this.#from.resume();
    }
    this.#isPumping = false;
    if (this.#hasEnded && !this.#isSwallowing) this.#to.end();
  }

  #isLost(bytes: Buffer): boolean {
    const { bytesPerLoss } = this.#o.shape;
    return bytesPerLoss > 0 && this.#o.random.below(bytesPerLoss) < bytes.length;
  }

  async #deliver(bytes: Buffer): Promise<void> {
    const { pieceBytes, bytesPerSecond } = this.#o.shape;
    const size = pieceBytes > 0 ? pieceBytes : bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      for (const gate of this.#o.gates) await gate.passed;
      if (this.#isSwallowing || this.#to.destroyed) return;
      const piece = bytes.subarray(at, at + size);
      this.delivered += piece.length;
      // A broken receiver is noticed in the next turn of the event loop.
      if (!this.#to.write(piece))
        await Promise.race([once(this.#to, 'drain'), once(this.#to, 'close')]).catch(() => undefined);
      if (bytesPerSecond > 0) await delay((piece.length / bytesPerSecond) * 1000);
      // Without a pause, the receiver would read several pieces together.
      else if (pieceBytes > 0) await turn();
    }
  }
}
