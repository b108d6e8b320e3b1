/** A network between a client and its relay that misbehaves as networks do. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { Scope } from './scope.ts';

/** What happens to bytes on the way; settings apply from the next bytes on. */
export interface NetworkShape {
  /** ms that each byte takes, each way */
  latencyMs: number;
  /** bytes a second of each connection, each way; 0 without a limit */
  bytesPerSecond: number;
  /** bytes that arrive at a time; 0 as they come */
  pieceBytes: number;
}

/** Bytes of one direction of one connection that are on the way; beyond it the sender waits. */
const IN_FLIGHT_MAX_BYTES = 1024 * 1024;

export class FaultProxy {
  readonly shape: NetworkShape = { latencyMs: 0, bytesPerSecond: 0, pieceBytes: 0 };
  readonly #target: number;
  readonly #server: Server;
  readonly #lanes = new Set<Lane>();
  #port = 0;
  #isStalled = false;
  #flow: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#join(socket));
  }

  /** @param target port of this machine to which connections lead */
  static async start(scope: Scope, target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await proxy.restore();
    scope.defer(() => proxy.cut());
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** The relay's address for those who come this way. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Connections that are open. */
  get connections(): number {
    return this.#lanes.size / 2;
  }

  /** Nothing arrives any more, until {@link flow}. */
  stall(): void {
    if (this.#isStalled) return;
    this.#isStalled = true;
    this.#flow = new Promise((resolve) => (this.#resume = resolve));
  }

  /** What was held up arrives. */
  flow(): void {
    this.#isStalled = false;
    this.#resume();
  }

  /** Swallows everything on the present connections, for ever and without a sign; others work. */
  swallow(): void {
    for (const lane of this.#lanes) lane.swallow();
  }

  /** Resets all connections, and refuses others until {@link restore}. */
  async cut(): Promise<void> {
    this.flow();
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    for (const lane of this.#lanes) lane.reset();
    await closed;
  }

  /** Takes connections (again), at the same port. */
  async restore(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as { port: number }).port;
  }

  #join(client: Socket): void {
    const relay = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pass = (): Promise<void> => this.#flow;
    for (const [from, to] of [
      [client, relay],
      [relay, client],
    ] as const) {
      const lane = new Lane(from, to, this.shape, pass, () => this.#lanes.delete(lane));
      this.#lanes.add(lane);
    }
  }
}

/** One direction of one connection. */
class Lane {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #shape: NetworkShape;
  readonly #pass: () => Promise<void>;
  readonly #queue: { readonly bytes: Buffer; readonly due: number }[] = [];
  #queued = 0;
  #isSwallowing = false;
  #hasEnded = false;
  #isPumping = false;

  constructor(from: Socket, to: Socket, shape: NetworkShape, pass: () => Promise<void>, onClose: () => void) {
    this.#from = from;
    this.#to = to;
    this.#shape = shape;
    this.#pass = pass;
    from.on('data', (bytes: Buffer) => {
      this.#queue.push({ bytes, due: performance.now() + shape.latencyMs });
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
      onClose();
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
      await this.#deliver(next.bytes);
      this.#queued -= next.bytes.length;
      if (this.#queued <= IN_FLIGHT_MAX_BYTES) this.#from.resume();
    }
    this.#isPumping = false;
    if (this.#hasEnded && !this.#isSwallowing) this.#to.end();
  }

  async #deliver(bytes: Buffer): Promise<void> {
    const { pieceBytes, bytesPerSecond } = this.#shape;
    const size = pieceBytes > 0 ? pieceBytes : bytes.length;
    for (let at = 0; at < bytes.length; at += size) {
      await this.#pass();
      if (this.#isSwallowing || this.#to.destroyed) return;
      const piece = bytes.subarray(at, at + size);
      // A broken receiver is noticed in the next turn.
      if (!this.#to.write(piece))
        await Promise.race([once(this.#to, 'drain'), once(this.#to, 'close')]).catch(() => undefined);
      if (bytesPerSecond > 0) await delay((piece.length / bytesPerSecond) * 1000);
      // Without a pause, the receiver would read several at once.
      else if (pieceBytes > 0) await turn();
    }
  }
}
