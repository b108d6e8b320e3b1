/** Which relay has which client, recorded in Redis and looked up there (docs/decisions/0009-cluster.md). */
import type { RelayProblem } from '../../shared/control.ts';
import { batches } from '../store/records.ts';
import type { Found, HeldControl, Ownership } from '../clients/ownership.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Membership } from './members.ts';
import { ALL_CHANNEL, type ChangeNotifier, type NewsSeal, readNumber } from './notifications.ts';
import { connectionId } from './connection-id.ts';
import { RedisError, type RedisLink } from './redis-client.ts';
import { ASSERT, CLAIM, FIND, ONLINE, RELEASE } from './scripts.ts';

/** Milliseconds between two checks for changes to publish to Redis. */
const RENEWAL_TICK_MS = 500;
/** Milliseconds between two renewals of a cluster member's lease, so that two may fail. */
const LEASE_RENEW_MS = 3000;
/** Milliseconds between two publications of every control socket to Redis. */
export const OWNERSHIP_REPEAT_MS = 5 * 60_000;
/** How long Redis keeps the entry for a control socket: three times the interval between two publications. */
export const OWNERSHIP_KEEP_MS = 15 * 60_000;
/** How long a relay that was suspended tries to find out which of its tunnels have moved. */
export const LEAP_CHECK_MS = 5000;
/** Milliseconds between two such attempts. */
export const LEAP_RETRY_MS = 100;
/** Number of tunnels that are published to Redis in one command, which delays the commands of everyone else. */
export const OWNERSHIP_BATCH = 500;

interface Held {
  readonly control: HeldControl;
  /**
   * its fencing number; until Redis has assigned one, the time of its arrival in µs, which Redis's numbers are also
   * based on
   */
  fence: number;
  fenced: boolean;
  /** the highest number that another relay is known to have */
  rival: number;
}

interface RedisOwnershipDeps {
  readonly redis: Pick<RedisLink, 'run' | 'publish'>;
  readonly membership: Membership;
  readonly pulse: Pick<ChangeNotifier, 'isSteady'>;
  /** known only to the relays of the cluster */
  readonly secret: string;
  readonly seal: Pick<NewsSeal, 'seal'>;
  readonly clock: Clock;
}

export class RedisOwnership implements Ownership {
  readonly hasOthers = true;
  readonly #deps: RedisOwnershipDeps;
  /** by tunnel */
  readonly #held = new Map<string, Held>();

  constructor(deps: RedisOwnershipDeps) {
    this.#deps = deps;
  }

  get isSure(): boolean {
    return this.#deps.pulse.isSteady;
  }

  connectionId(): string {
    return connectionId(this.#deps.membership.number, this.#deps.secret);
  }

  claim(control: HeldControl): Promise<void> | undefined {
    const held = { control, fence: this.#deps.clock.now() * 1000, fenced: false, rival: 0 };
    this.#held.set(control.tunnelId, held);
    const { number, incarnation } = this.#deps.membership;
    // Without a number, it is recorded once there is one.
    if (number === 0) return undefined;
    return this.#deps.redis
      .run(CLAIM, control.tunnelId, number, incarnation, control.keyId, OWNERSHIP_KEEP_MS)
      .then(
        (reply) => this.#fenced(held, readNumber(reply)),
        // If this cannot be published now, it is when Redis is back.
        () => {},
      );
  }

  release(control: HeldControl): void {
    const { tunnelId } = control;
    if (this.#held.get(tunnelId)?.control !== control) return;
    this.#held.delete(tunnelId);
    const { incarnation } = this.#deps.membership;
    this.#deps.redis.run(RELEASE, tunnelId, incarnation, OWNERSHIP_KEEP_MS).catch(() => {});
  }

  tellProblem(tunnelId: string, problem: RelayProblem): void {
    this.#deps.redis.publish(ALL_CHANNEL, this.#deps.seal.seal({ kind: 'problem', tunnelId, problem }));
  }

  async find(tunnelId: string): Promise<Found> {
    try {
      return readFound(await this.#deps.redis.run(FIND, tunnelId, this.#deps.membership.incarnation));
    } catch (error) {
      if (error instanceof RedisError) return { kind: 'apart' };
      throw error;
    }
  }

  async online(tunnelIds: readonly string[]): Promise<readonly string[]> {
    try {
      const found = await this.#deps.redis.run(ONLINE, this.#deps.membership.incarnation, ...tunnelIds);
      return Array.isArray(found) ? found.map(String) : [];
    } catch (error) {
      if (error instanceof RedisError) return [];
      throw error;
    }
  }

  /** Another relay has a control socket of the tunnel with this fencing number. */
  replaced(tunnelId: string, fence: number): void {
    const held = this.#held.get(tunnelId);
    if (held === undefined) return;
    held.rival = Math.max(held.rival, fence);
    if (held.fenced) this.#compare(held);
  }

  /**
   * Publishes everything to Redis again, and drops control sockets that other relays have taken over.
   *
   * @throws RedisError if only a part was published
   */
  async tellAll(): Promise<void> {
    for (const batch of batches([...this.#held.values()], OWNERSHIP_BATCH)) await this.#tell(batch);
  }

  async #tell(batch: readonly Held[]): Promise<void> {
    const { number, incarnation } = this.#deps.membership;
    const args = batch.flatMap(({ control, fence }) => [control.tunnelId, String(fence), control.keyId]);
    const lost = await this.#deps.redis.run(ASSERT, number, incarnation, OWNERSHIP_KEEP_MS, ...args);
    const moved = new Set(Array.isArray(lost) ? lost.map(String) : []);
    for (const held of batch) {
      if (moved.has(held.control.tunnelId)) this.#lose(held);
    }
  }

  /** @param fence `undefined` for a reply that is not a number */
  #fenced(held: Held, fence: number | undefined): void {
    if (fence === undefined) return;
    held.fence = fence;
    held.fenced = true;
    this.#compare(held);
  }

  #compare(held: Held): void {
    if (held.rival > held.fence) this.#lose(held);
  }

  #lose(held: Held): void {
    const { control } = held;
    if (this.#held.get(control.tunnelId) !== held) return;
    this.#held.delete(control.tunnelId);
    control.replaced();
  }
}

/** Anything that no script returns is treated as if Redis had not been reached. */
export function readFound(reply: unknown): Found {
  if (typeof reply === 'number' && Number.isFinite(reply)) return { kind: 'away', ms: Math.max(0, reply) };
  return typeof reply === 'string' ? { kind: 'there', relay: reply } : { kind: 'apart' };
}

/* Keeps the relay's membership: its lease, the published control sockets, and the checks after a pause. */

interface OwnershipRenewalDeps {
  readonly redis: { readonly isUp: boolean };
  readonly membership: Pick<Membership, 'renew'>;
  readonly ownership: Pick<RedisOwnership, 'tellAll'>;
  readonly clock: Clock;
  /** called repeatedly while Redis is down */
  readonly onDown: () => void;
}

export class OwnershipRenewal {
  readonly #deps: OwnershipRenewalDeps;
  #timer: Timer | undefined;
  #stopped = false;
  /** monotonic ms */
  #renewAt = 0;
  #tellAt = 0;

  constructor(deps: OwnershipRenewalDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = this.#deps.clock.setTimeout(() => void this.#work(), RENEWAL_TICK_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Publishes everything, in case Redis lost it. Failures are retried soon. */
  async tellAll(): Promise<void> {
    await forgiving(this.#tellAll());
  }

  /** Finds out what other relays have taken over. If Redis stays unreachable, the present state stays in use. */
  async checkLeap(): Promise<void> {
    const until = this.#deps.clock.monotonic() + LEAP_CHECK_MS;
    while (!(await forgiving(this.#tellAll())) && this.#deps.clock.monotonic() < until) {
      await new Promise<void>((resolve) => {
        this.#deps.clock.setTimeout(resolve, LEAP_RETRY_MS);
      });
    }
  }

  async #work(): Promise<void> {
    const now = this.#deps.clock.monotonic();
    if (!this.#deps.redis.isUp) this.#deps.onDown();
    else if (now >= this.#tellAt) await forgiving(this.#tellAll());
    else if (now >= this.#renewAt) await forgiving(this.#renew());
    if (!this.#stopped) this.start();
  }

  async #renew(): Promise<void> {
    const wasDead = await this.#deps.membership.renew();
    this.#renewAt = this.#deps.clock.monotonic() + LEASE_RENEW_MS;
    if (wasDead) await this.#deps.ownership.tellAll();
  }

  async #tellAll(): Promise<void> {
    await this.#deps.membership.renew();
    await this.#deps.ownership.tellAll();
    const now = this.#deps.clock.monotonic();
    this.#renewAt = now + LEASE_RENEW_MS;
    this.#tellAt = now + OWNERSHIP_REPEAT_MS;
  }
}

/**
 * If Redis fails, waits for the next regular attempt.
 *
 * @returns whether it succeeded
 */
export async function forgiving(work: Promise<void>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
    return false;
  }
}
