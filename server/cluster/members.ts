/**
 * The relay's number, and the addresses of the other cluster members: one lease for each relay
 * (docs/decisions/0009-cluster.md).
 */
import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { uriHost } from '../../shared/networks.ts';
import { RELAY_LEASE_MS } from '../clients/ownership.ts';
import type { Log } from '../log.ts';
import { RELAY_NUMBER_MAX } from './connection-id.ts';
import { readNumber } from './notifications.ts';
import { type RedisCommands, RedisError } from './redis-client.ts';
import { LEASE, LEAVE, RELAYS } from './scripts.ts';

/** Maximum number of relays with a different cluster secret that are remembered to avoid logging them twice. */
export const STRANGERS_MAX = 64;
/**
 * Number of ids that a relay tries at startup before it fails because all of them are taken: there are 65,535,
 * so all tries fail only if something is very wrong.
 */
export const RELAY_NUMBER_ATTEMPTS = 20;

/** A relay does not prove that it knows the secret: one of the two has the wrong one. */
export class StrangerError extends RedisError {
  constructor(relay: string) {
    super(new Error(`the relay ${relay} has another secret`));
    this.name = 'StrangerError';
  }
}

export class Membership {
  /** The relay's number; 0 before it has one. No relay is found under 0. */
  number = 0;
  /** Why it has not joined, if there is a relay with another secret. */
  refusal: StrangerError | undefined;
  readonly #own: RelayAddress;
  readonly #secret: string;
  readonly #record: string;
  readonly #redis: RedisCommands;
  readonly #log: Log;
  #others = new Map<number, RelayAddress>();
  /** those that have joined since Redis was last asked for a list; that list may not have them yet */
  readonly #newcomers = new Map<number, RelayAddress>();
  /** incarnations that are shutting down; they are still found */
  readonly #leaving = new Set<string>();

  /** those without the secret that have been logged */
  readonly #strangers = new Set<string>();

  /**
   * @param own where other relays reach the internal listener of this one
   * @param secret known only to the relays of the cluster
   */
  constructor(redis: RedisCommands, own: RelayAddress, secret: string, log: Log) {
    this.#redis = redis;
    this.#own = own;
    this.#secret = secret;
    this.#record = writeRecord(own, secret);
    this.#log = log;
  }

  /** Identifies this run of the relay. */
  get incarnation(): string {
    return this.#own.incarnation;
  }

  /** Whether there are other members that are not shutting down, as of the last renewal. */
  get hasOthers(): boolean {
    for (const [number, { incarnation }] of this.#others) {
      if (number !== this.number && !this.#leaving.has(incarnation)) return true;
    }
    return false;
  }

  /** The relay with that number, as of the last renewal. */
  find(number: number): RelayAddress | undefined {
    return number === this.number ? undefined : this.#others.get(number);
  }

  /** The other relay with that incarnation, as of the last renewal. */
  named(incarnation: string): RelayAddress | undefined {
    for (const address of this.#others.values()) if (address.incarnation === incarnation) return address;
    return undefined;
  }

  /**
   * Renews the lease, and lists the other members. The relay takes another number if its own was lost.
   *
   * @returns whether other members may have considered the relay dead until now
   * @throws RedisError; StrangerError if it has not joined and relays with another secret have
   */
  async renew(): Promise<boolean> {
    const before = this.number;
    if (before === 0) await this.#mustBeOneOf();
    const lease = before === 0 ? 'taken' : await this.#lease(before);
    if (lease === 'taken') this.number = await this.#takeNumber();
    this.#newcomers.clear();
    this.#others = new Map([...(await this.#list()), ...this.#newcomers]);
    const there = new Set([...this.#others.values()].map(({ incarnation }) => incarnation));
    for (const incarnation of this.#leaving) if (!there.has(incarnation)) this.#leaving.delete(incarnation);
    if (this.number !== before)
      this.#log('cluster joined', { number: this.number, address: nameOf(this.#own) });
    return lease !== 'kept';
  }

  /** A relay has joined. */
  meet(relay: { readonly number: number; readonly incarnation: string; readonly record: string }): void {
    const address = readRecord(relay.record, relay.incarnation, this.#secret);
    if (address === undefined) return this.#note(relay.incarnation, relay.record);
    this.#others.set(relay.number, address);
    this.#newcomers.set(relay.number, address);
  }

  /** A relay is shutting down. Connections that wait on it can be found until it is gone. */
  part(incarnation: string): void {
    this.#leaving.add(incarnation);
  }

  /** Releases the number. Other members notice by themselves if they are not notified. */
  async leave(): Promise<void> {
    if (this.number === 0) return;
    await this.#redis.run(LEAVE, this.number, this.incarnation);
  }

  /** Lists the members before joining: a relay with another secret fails here, without disturbing those that serve. */
  async #mustBeOneOf(): Promise<void> {
    this.#strangers.clear();
    await this.#list();
    const [stranger] = this.#strangers;
    this.refusal = stranger === undefined ? undefined : new StrangerError(stranger);
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Members that prove that they belong to the cluster, by number. */
  async #list(): Promise<Map<number, RelayAddress>> {
    const relays = new Map<number, RelayAddress>();
    for (const { number, incarnation, record } of readList(await this.#redis.run(RELAYS))) {
      const address = readRecord(record, incarnation, this.#secret);
      if (address === undefined) this.#note(incarnation, record);
      else relays.set(number, address);
    }
    return relays;
  }

  /** Such relays are not contacted, and logged once. */
  #note(incarnation: string, record: string): void {
    const relay = record.split('~', 1)[0] ?? incarnation;
    if (this.#strangers.has(relay)) return;
    if (this.#strangers.size >= STRANGERS_MAX) this.#strangers.clear();
    this.#strangers.add(relay);
    this.#log('cluster stranger', { address: relay });
  }

  /** At random, so that the number of an earlier relay is not reused while data sockets may still refer to it. */
  async #takeNumber(): Promise<number> {
    for (let attempt = 0; attempt < RELAY_NUMBER_ATTEMPTS; attempt += 1) {
      const number = randomInt(1, RELAY_NUMBER_MAX + 1);
      if ((await this.#lease(number)) !== 'taken') return number;
    }
    throw new RedisError(new Error('no number is free'));
  }

  async #lease(number: number): Promise<'taken' | 'kept' | 'anew'> {
    const reply = await this.#redis.run(LEASE, number, this.incarnation, this.#record, RELAY_LEASE_MS);
    if (reply === 0) return 'taken';
    return reply === 1 ? 'kept' : 'anew';
  }
}

export function* readList(
  reply: unknown,
): Generator<{ number: number; incarnation: string; record: string }> {
  const texts = Array.isArray(reply) ? reply.map(String) : [];
  for (let at = 0; at + 2 < texts.length; at += 3) {
    const [number = '', incarnation = '', record = ''] = texts.slice(at, at + 3);
    const read = readNumber(number);
    if (read !== undefined && read >= 1) yield { number: read, incarnation, record };
  }
}

/*
 * A relay's record in Redis: the address of its internal listener, and a proof that it knows the secret of the
 * cluster. Without the proof, other members would find a relay with another secret and could open nothing on it, and
 * anyone with write access to Redis could have clients' connections forwarded to their own address.
 */

/** The address of a relay's internal listener. */
export interface RelayAddress {
  /** identifies one run of a relay; a later relay with the same number has another incarnation */
  readonly incarnation: string;
  readonly host: string;
  readonly port: number;
}

const RECORD = /^(\[?([^\]~]+?)\]?:(\d+))~([0-9a-f]{64})$/;

/** @returns one word: the address in its usual form, and its proof */
export function writeRecord(relay: RelayAddress, secret: string): string {
  const address = nameOf(relay);
  return `${address}~${proofOf(address, relay.incarnation, secret).toString('hex')}`;
}

/** @returns `undefined` for a record that no relay with this secret has written */
export function readRecord(record: string, incarnation: string, secret: string): RelayAddress | undefined {
  const [, address = '', host = '', port = '', proof = ''] = RECORD.exec(record) ?? [];
  const given = Buffer.from(proof, 'hex');
  const wanted = proofOf(address, incarnation, secret);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return { incarnation, host, port: Number(port) };
}

/** @returns host and port in the usual form */
export function nameOf({ host, port }: Pick<RelayAddress, 'host' | 'port'>): string {
  return `${uriHost(host)}:${port}`;
}

/** The incarnation is random, so no two proofs are alike, and none is valid for another run of a relay. */
function proofOf(address: string, incarnation: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`culvert-member/1 ${incarnation} ${address}`).digest();
}
