/** The relay's number, and the addresses of the others: one lease for each relay (docs/decisions/0009-cluster.md). */
import { randomInt } from 'node:crypto';
import { RELAY_LEASE_MS, RELAY_NUMBER_ATTEMPTS } from '../limits.ts';
import type { Log } from '../log.ts';
import { RELAY_NUMBER_MAX } from './connection-id.ts';
import { type RedisCommands, RedisError } from './redis-link.ts';
import { LEASE, LEAVE, RELAYS } from './scripts.ts';

/** Where the internal listener of a relay is. */
export interface RelayAddress {
  /** names one life of a relay; another one that has its number later has another */
  readonly incarnation: string;
  readonly host: string;
  readonly port: number;
}

export class Membership {
  /** The relay's number; 0 before it has one, which no relay is found under. */
  number = 0;
  readonly #own: RelayAddress;
  readonly #redis: RedisCommands;
  readonly #log: Log;
  #others = new Map<number, RelayAddress>();
  /** those that have come since Redis was last asked for a list, which may not have them yet */
  readonly #newcomers = new Map<number, RelayAddress>();
  /** incarnations that shut down; they are still found */
  readonly #leaving = new Set<string>();

  /** @param own where other relays reach the internal listener of this one */
  constructor(redis: RedisCommands, own: RelayAddress, log: Log) {
    this.#redis = redis;
    this.#own = own;
    this.#log = log;
  }

  /** Names this life of the relay. */
  get incarnation(): string {
    return this.#own.incarnation;
  }

  /** Whether there are other relays that do not shut down, as of the last renewal. */
  get hasOthers(): boolean {
    for (const [number, { incarnation }] of this.#others) {
      if (number !== this.number && !this.#leaving.has(incarnation)) return true;
    }
    return false;
  }

  /** The relay that has a number, as of the last renewal. */
  find(number: number): RelayAddress | undefined {
    return number === this.number ? undefined : this.#others.get(number);
  }

  /**
   * Says that the relay is there, and learns who else is. It takes another number where its own was lost.
   *
   * @returns whether others may have taken the relay for dead until now
   * @throws RedisError
   */
  async renew(): Promise<boolean> {
    const before = this.number;
    const lease = before === 0 ? 'taken' : await this.#lease(before);
    if (lease === 'taken') this.number = await this.#takeNumber();
    this.#newcomers.clear();
    this.#others = new Map([...readRelays(await this.#redis.run(RELAYS)), ...this.#newcomers]);
    const there = new Set([...this.#others.values()].map(({ incarnation }) => incarnation));
    for (const incarnation of this.#leaving) if (!there.has(incarnation)) this.#leaving.delete(incarnation);
    if (this.number !== before) this.#log('cluster joined', { number: this.number, address: this.#address });
    return lease !== 'kept';
  }

  /** A relay has come. */
  meet(relay: { readonly number: number; readonly incarnation: string; readonly address: string }): void {
    const address = readAddress(relay.incarnation, relay.address);
    if (address === undefined) return;
    this.#others.set(relay.number, address);
    this.#newcomers.set(relay.number, address);
  }

  /** A relay shuts down. What waits on it is found until it has gone. */
  part(incarnation: string): void {
    this.#leaving.add(incarnation);
  }

  /** Gives the number back. Others find out by themselves if they are not told. */
  async leave(): Promise<void> {
    if (this.number === 0) return;
    await this.#redis.run(LEAVE, this.number, this.incarnation);
  }

  get #address(): string {
    const { host, port } = this.#own;
    return `${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  /** By chance: the number of a relay that was here before is not used again while data sockets may still name it. */
  async #takeNumber(): Promise<number> {
    for (let attempt = 0; attempt < RELAY_NUMBER_ATTEMPTS; attempt += 1) {
      const number = randomInt(1, RELAY_NUMBER_MAX + 1);
      if ((await this.#lease(number)) !== 'taken') return number;
    }
    throw new RedisError(new Error('no number is free'));
  }

  async #lease(number: number): Promise<'taken' | 'kept' | 'anew'> {
    const reply = await this.#redis.run(LEASE, number, this.incarnation, this.#address, RELAY_LEASE_MS);
    if (reply === 0) return 'taken';
    return reply === 1 ? 'kept' : 'anew';
  }
}

function readRelays(reply: unknown): Map<number, RelayAddress> {
  const texts = Array.isArray(reply) ? reply.map(String) : [];
  const relays = new Map<number, RelayAddress>();
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [number = '', incarnation = '', address = ''] = texts.slice(at, at + 3);
    const read = readAddress(incarnation, address);
    if (read !== undefined) relays.set(Number(number), read);
  }
  return relays;
}

function readAddress(incarnation: string, address: string): RelayAddress | undefined {
  const [, host, port] = /^\[?([^\]]+?)\]?:(\d+)$/.exec(address) ?? [];
  return host === undefined ? undefined : { incarnation, host, port: Number(port) };
}
