/** Thousands of connections that are kept open from many addresses. Those that are cut return. */
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scope } from '../../support/scope.ts';

const TICK_MS = 50;
/** ms before a member that was cut returns. */
const RETURN_MS = 1000;

/** The behaviour of a crowd's members. */
export interface Behaviour {
  /** called once a connection is open */
  begin(socket: Socket): void;
  /** called every second while it is open */
  goOn(socket: Socket): void;
}

export interface CrowdOptions {
  /** port of the relay */
  readonly port: number;
  readonly size: number;
  readonly arrivalsASecond: number;
  /** addresses of this machine, which the members use in turn */
  readonly addresses: readonly string[];
  readonly behaviour: Behaviour;
}

export class Crowd {
  /** the maximum number of open connections */
  most = 0;
  /** connections that the other end closed, or never accepted */
  cut = 0;
  readonly #options: CrowdOptions;
  readonly #open = new Set<Socket>();
  readonly #timers: readonly NodeJS.Timeout[];
  #joined = 0;
  /** slots that are free */
  #missing: number;

  constructor(scope: Scope, options: CrowdOptions) {
    this.#options = options;
    this.#missing = options.size;
    this.#timers = [
      setInterval(() => this.#fill(), TICK_MS),
      setInterval(() => this.#open.forEach((socket) => options.behaviour.goOn(socket)), 1000),
    ];
    scope.defer(() => this.leave());
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Resolves when each member has been connected once, or has been refused. */
  async complete(): Promise<void> {
    while (this.#joined < this.#options.size) await delay(TICK_MS);
  }

  /** Disconnects all members permanently. */
  leave(): void {
    for (const timer of this.#timers) clearInterval(timer);
    for (const socket of this.#open) socket.destroy();
  }

  #fill(): void {
    const count = Math.min(this.#missing, Math.ceil((this.#options.arrivalsASecond * TICK_MS) / 1000));
    this.#missing -= count;
    for (let begun = 0; begun < count; begun += 1) this.#join();
  }

  #join(): void {
    const { port, addresses, behaviour } = this.#options;
    const localAddress = addresses[this.#joined % addresses.length] ?? '127.0.0.2';
    this.#joined += 1;
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    socket.on('error', () => socket.destroy());
    socket.once('connect', () => {
      this.#open.add(socket);
      this.most = Math.max(this.most, this.size);
      behaviour.begin(socket);
    });
    socket.once('close', () => {
      this.#open.delete(socket);
      this.cut += 1;
      setTimeout(() => (this.#missing += 1), RETURN_MS).unref();
    });
  }
}

/** Loopback addresses that nothing else uses: `127.0.0.2` and so on. */
export function loopbackAddresses(count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const host = index + 2;
    return `127.0.${host >> 8}.${host & 255}`;
  });
}
