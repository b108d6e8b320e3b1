/**
 * What the processes of one relay know together: where clients are connected, rates, and who is told what. It does in
 * memory what Redis does for relays on several machines (scripts.ts), and is lost with the process that has it.
 */
import { HOLD_OVER_MS } from '../clients/waiting-visitors.ts';
import type { Clock } from '../clock.ts';
import type { MissedClient } from '../handoff/conversation.ts';
import { RegistrationList } from '../oauth/registrations.ts';
import { RateLimiter } from '../rate-limiter.ts';
import { ALL_CHANNEL, channelOf } from './notifications.ts';

/** How long it is known when a client has left: longer than visitors wait for one. */
export const LEFT_KEEP_MS = 15 * 60_000;

type Words = readonly (string | number)[];

/** The control socket of a tunnel. */
interface Held {
  readonly relay: string;
  readonly incarnation: string;
  readonly fence: number;
}

/** A process that counts as alive until its lease ends, monotonic ms. */
interface Lease {
  readonly incarnation: string;
  readonly record: string;
  readonly until: number;
}

/** A tunnel whose client has left. */
interface Left {
  /** wall time in ms */
  readonly at: number;
  readonly fence: number;
}

export class Board {
  readonly #clock: Clock;
  /** wall time in ms */
  #since: number;
  /** called with messages, by the channel that is subscribed to */
  readonly #subscribers = new Map<string, Set<(text: string) => void>>();
  /** by number */
  readonly #relays = new Map<string, Lease>();
  readonly #held = new Map<string, Held>();
  /** by tunnel, the first to be forgotten first */
  readonly #left = new Map<string, Left>();
  /** by rate */
  readonly #limiters = new Map<string, RateLimiter>();
  readonly #registrations: RegistrationList;
  #fence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#registrations = new RegistrationList(clock);
    this.#since = clock.now();
  }

  /**
   * Another relay has had the clients until now.
   *
   * @param missed those that have been there lately; `undefined` if it is not known
   */
  begin(missed: readonly MissedClient[] | undefined): void {
    const now = this.#clock.now();
    this.#since = missed === undefined ? now : -Infinity;
    for (const { tunnelId, awayMs } of missed ?? []) this.#left.set(tunnelId, { at: now - awayMs, fence: 0 });
  }

  /** Tunnels whose client is connected, or has left so recently that visitors still wait for it. */
  get missed(): MissedClient[] {
    const now = this.#clock.now();
    const left = [...this.#left].map(([tunnelId, { at }]) => ({ tunnelId, awayMs: Math.max(0, now - at) }));
    const held = [...this.#held.keys()].map((tunnelId) => ({ tunnelId, awayMs: 0 }));
    return [...held, ...left.filter(({ awayMs }) => awayMs < HOLD_OVER_MS)];
  }

  /** @param hear called with each message on the channel until {@link unsubscribe} */
  subscribe(channel: string, hear: (text: string) => void): void {
    const subscribers = this.#subscribers.get(channel) ?? new Set();
    this.#subscribers.set(channel, subscribers.add(hear));
  }

  /** @param hear as given to {@link subscribe} */
  unsubscribe(hear: (text: string) => void): void {
    for (const [channel, subscribers] of this.#subscribers)
      if (subscribers.delete(hear) && subscribers.size === 0) this.#subscribers.delete(channel);
  }

  publish(channel: string, text: string): void {
    for (const hear of this.#subscribers.get(channel) ?? []) hear(text);
  }

  /** A process has ended: its clients have left. */
  remove(incarnation: string): void {
    for (const [number, relay] of this.#relays)
      if (relay.incarnation === incarnation) this.#relays.delete(number);
    for (const [tunnel, held] of this.#held)
      if (held.incarnation === incarnation) this.#release(tunnel, incarnation);
  }

  /**
   * Runs what a script of that name does in Redis.
   *
   * @returns what the script returns
   * @throws Error for another name
   */
  run(script: string, args: Words): unknown {
    const [first = '', second = '', third = ''] = args.map(String);
    switch (script) {
      case 'culvertLease':
        return this.#lease(first, second, third, Number(args[3]));
      case 'culvertLeave':
        if (this.#relays.get(first)?.incarnation === second) this.#relays.delete(first);
        return null;
      case 'culvertRelays':
        return [...this.#relays]
          .filter(([number]) => this.#leaseOf(number) !== undefined)
          .flatMap(([number, { incarnation, record }]) => [number, incarnation, record]);
      case 'culvertClaim':
        return this.#claim(first, { relay: second, incarnation: third });
      case 'culvertAssert':
        return this.#assert({ relay: first, incarnation: second }, args.slice(3));
      case 'culvertRelease':
        return this.#release(first, second);
      case 'culvertFind':
        return this.#find(first, second);
      case 'culvertOnline':
        return args.slice(1).filter((tunnel) => this.#isElsewhere(String(tunnel), first));
      case 'culvertTake':
        return this.#limiter(Number(second), Number(third)).takeMs(first);
      case 'culvertIsOut':
        return this.#limiter(Number(second), Number(third)).isOut(first) ? 1 : 0;
      case 'culvertGiveBack':
        this.#limiter(Number(second), Number(third)).giveBack(first);
        return null;
      case 'culvertRegister':
        return this.#registrations.add(first);
      case 'culvertApprove':
        this.#registrations.approve(first);
        return null;
      case 'culvertIsRegistered':
        return this.#registrations.has(first, second) ? 1 : 0;
      default:
        throw new Error(`no script is named "${script}"`);
    }
  }

  #lease(number: string, incarnation: string, record: string, ms: number): 0 | 1 | 2 {
    const leased = this.#leaseOf(number);
    if (leased !== undefined && leased.incarnation !== incarnation) return 0;
    this.#relays.set(number, { incarnation, record, until: this.#clock.monotonic() + ms });
    if (leased !== undefined) return 1;
    this.publish(ALL_CHANNEL, `relay ${number} ${incarnation} ${record}`);
    return 2;
  }

  #leaseOf(number: string): Lease | undefined {
    const lease = this.#relays.get(number);
    return lease !== undefined && lease.until > this.#clock.monotonic() ? lease : undefined;
  }

  #claim(tunnel: string, own: Pick<Held, 'relay' | 'incarnation'>): string {
    const before = this.#held.get(tunnel);
    const last = Math.max(this.#fence, before?.fence ?? 0, this.#left.get(tunnel)?.fence ?? 0);
    const fence = Math.max(last + 1, this.#clock.now() * 1000);
    this.#fence = fence;
    this.#hold(tunnel, { ...own, fence });
    if (before !== undefined && before.incarnation !== own.incarnation)
      this.publish(channelOf(before.incarnation), `replaced ${tunnel} ${fence}`);
    this.publish(ALL_CHANNEL, `online ${tunnel} ${own.incarnation}`);
    return String(fence);
  }

  /** @param given tunnel, fence and key of each control socket */
  #assert(own: Pick<Held, 'relay' | 'incarnation'>, given: Words): string[] {
    const lost: string[] = [];
    for (let at = 0; at < given.length; at += 3) {
      const tunnel = String(given[at]);
      const held = this.#held.get(tunnel);
      const isOwn = held?.incarnation === own.incarnation;
      const newest = held?.fence ?? this.#left.get(tunnel)?.fence ?? 0;
      const fence = isOwn ? Math.max(Number(given[at + 1]), newest) : Number(given[at + 1]);
      if (newest > fence) {
        lost.push(tunnel);
        continue;
      }
      this.#hold(tunnel, { ...own, fence });
      if (!isOwn) this.publish(ALL_CHANNEL, `online ${tunnel} ${own.incarnation}`);
    }
    return lost;
  }

  #hold(tunnel: string, held: Held): void {
    this.#left.delete(tunnel);
    this.#held.set(tunnel, held);
  }

  #release(tunnel: string, incarnation: string): null {
    const held = this.#held.get(tunnel);
    if (held?.incarnation !== incarnation) return null;
    this.#leave(tunnel, held);
    this.publish(ALL_CHANNEL, `offline ${tunnel}`);
    return null;
  }

  #leave(tunnel: string, { fence }: Held): void {
    const now = this.#clock.now();
    this.#held.delete(tunnel);
    this.#left.set(tunnel, { at: now, fence });
    for (const [oldest, { at }] of this.#left) {
      if (now - at < LEFT_KEEP_MS) return;
      this.#left.delete(oldest);
    }
  }

  #find(tunnel: string, asking: string): string | number {
    const held = this.#held.get(tunnel);
    if (held === undefined) return this.#clock.now() - (this.#left.get(tunnel)?.at ?? this.#since);
    if (held.incarnation === asking) return 0;
    if (this.#isAlive(held) && this.#subscribers.has(channelOf(held.incarnation))) return held.incarnation;
    this.#leave(tunnel, held);
    return 0;
  }

  #isElsewhere(tunnel: string, asking: string): boolean {
    const held = this.#held.get(tunnel);
    return held !== undefined && held.incarnation !== asking && this.#isAlive(held);
  }

  #isAlive({ relay, incarnation }: Held): boolean {
    return this.#leaseOf(relay)?.incarnation === incarnation;
  }

  #limiter(burst: number, interval: number): RateLimiter {
    const rate = `${burst} ${interval}`;
    const known = this.#limiters.get(rate);
    if (known !== undefined) return known;
    const limiter = new RateLimiter(this.#clock, { perMinute: 60_000 / interval, burst });
    this.#limiters.set(rate, limiter);
    return limiter;
  }
}
