/** The relay's number, and the addresses of the others: one lease for each relay (docs/decisions/0009-cluster.md). */
import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { uriHost } from '../../shared/host.ts';
import { RELAY_LEASE_MS, RELAY_NUMBER_ATTEMPTS, STRANGERS_MAX } from '../limits.ts';
import type { Log } from '../log.ts';
import { RELAY_NUMBER_MAX } from './connection-id.ts';
import { readNumber } from './notifications.ts';
import { type RedisCommands, RedisError } from './redis-client.ts';
import { LEASE, LEAVE, RELAYS } from './scripts.ts';

/** There is a relay that does not prove that it knows the secret: one of the two has the wrong one. */
export class StrangerError extends RedisError {
  constructor(relay: string) {
    super(new Error(`the relay ${relay} has another secret`));
    this.name = 'StrangerError';
  }
}

export class Membership {
  /** The relay's number; 0 before it has one, which no relay is found under. */
  number = 0;
  /** Why it has not joined, if there is a relay with another secret. */
  refusal: StrangerError | undefined;
  readonly #own: RelayAddress;
  readonly #secret: string;
  readonly #record: string;
  readonly #redis: RedisCommands;
  readonly #log: Log;
  #others = new Map<number, RelayAddress>();
  /** those that have come since Redis was last asked for a list; that list may not have them yet */
  readonly #newcomers = new Map<number, RelayAddress>();
  /** incarnations that shut down; they are still found */
  readonly #leaving = new Set<string>();

  /** those that do not know the secret and have been logged */
  readonly #strangers = new Set<string>();

  /**
   * @param own where other relays reach the internal listener of this one
   * @param secret known to the relays of the cluster alone
   */
  constructor(redis: RedisCommands, own: RelayAddress, secret: string, log: Log) {
    this.#redis = redis;
    this.#own = own;
    this.#secret = secret;
    this.#record = writeRecord(own, secret);
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

  /** The relay with that number, as of the last renewal. */
  find(number: number): RelayAddress | undefined {
    return number === this.number ? undefined : this.#others.get(number);
  }

  /**
   * Says that the relay is there, and learns who else is. It takes another number if its own was lost.
   *
   * @returns whether others may have taken the relay for dead until now
   * @throws RedisError; StrangerError when it has not joined and relays with another secret have
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

  /** A relay has come. */
  meet(relay: { readonly number: number; readonly incarnation: string; readonly record: string }): void {
    const address = readRecord(relay.record, relay.incarnation, this.#secret);
    if (address === undefined) return this.#note(relay.incarnation, relay.record);
    this.#others.set(relay.number, address);
    this.#newcomers.set(relay.number, address);
  }

  /** A relay is shutting down. What waits on it can be found until it has gone. */
  part(incarnation: string): void {
    this.#leaving.add(incarnation);
  }

  /** Gives the number back. Others find out by themselves if they are not told. */
  async leave(): Promise<void> {
    if (this.number === 0) return;
    await this.#redis.run(LEAVE, this.number, this.incarnation);
  }

  /** Looks around before it shows itself: a relay with another secret ends here, without troubling those that serve. */
  async #mustBeOneOf(): Promise<void> {
    this.#strangers.clear();
    await this.#list();
    const [stranger] = this.#strangers;
    this.refusal = stranger === undefined ? undefined : new StrangerError(stranger);
    if (this.refusal !== undefined) throw this.refusal;
  }

  /** Those that prove that they belong to the cluster, by number. */
  async #list(): Promise<Map<number, RelayAddress>> {
    const relays = new Map<number, RelayAddress>();
    for (const { number, incarnation, record } of readList(await this.#redis.run(RELAYS))) {
      const address = readRecord(record, incarnation, this.#secret);
      if (address === undefined) this.#note(incarnation, record);
      else relays.set(number, address);
    }
    return relays;
  }

  /** They are not spoken to, and the log says so once. */
  #note(incarnation: string, record: string): void {
    const relay = record.split('~', 1)[0] ?? incarnation;
    if (this.#strangers.has(relay)) return;
    if (this.#strangers.size >= STRANGERS_MAX) this.#strangers.clear();
    this.#strangers.add(relay);
    this.#log('cluster stranger', { address: relay });
  }

  /** At random, so that the number of an earlier relay is not reused while data sockets may still name it. */
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
 * What a relay says about itself in Redis: where its internal listener is, and a proof that it knows the secret of the
 * cluster. Without the proof, the others would find a relay with another secret and could open nothing on it, and whoever
 * may write to Redis could have clients' connections passed to an address of their own.
 */

/** Where the internal listener of a relay is. */
export interface RelayAddress {
  /** names one life of a relay; whoever has its number later has another incarnation */
  readonly incarnation: string;
  readonly host: string;
  readonly port: number;
}

const RECORD = /^(\[?([^\]~]+?)\]?:(\d+))~([0-9a-f]{64})$/;

/** @returns one word: the address, as people write it, and its proof */
export function writeRecord(relay: RelayAddress, secret: string): string {
  const address = nameOf(relay);
  return `${address}~${proofOf(address, relay.incarnation, secret).toString('hex')}`;
}

/** @returns `undefined` for one that no relay with this secret has written */
export function readRecord(record: string, incarnation: string, secret: string): RelayAddress | undefined {
  const [, address = '', host = '', port = '', proof = ''] = RECORD.exec(record) ?? [];
  const given = Buffer.from(proof, 'hex');
  const wanted = proofOf(address, incarnation, secret);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  return { incarnation, host, port: Number(port) };
}

/** @returns host and port as people write them */
export function nameOf({ host, port }: Pick<RelayAddress, 'host' | 'port'>): string {
  return `${uriHost(host)}:${port}`;
}

/** The incarnation is random, so no two proofs are alike, and none is valid for another life of a relay. */
function proofOf(address: string, incarnation: string, secret: string): Buffer {
  return createHmac('sha256', secret).update(`culvert-member/1 ${incarnation} ${address}`).digest();
}
