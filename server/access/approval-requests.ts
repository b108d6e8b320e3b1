/** All approval requests of one tunnel that the relay knows: waiting, approved, and recently denied. */
import { KNOCK_SECONDS } from '../../shared/knocks.ts';
import { networkOf } from '../address-network.ts';
import type { Clock } from '../clock.ts';
import type { StoredKnock, StoredKnocks } from '../store/records.ts';

/** Maximum number of a tunnel's visitors that may be waiting for approval at the same time. */
export const APPROVALS_WAITING_MAX = 32;
/**
 * Maximum number of visitors from one address that may be waiting for approval, including those denied recently.
 * An IPv6 address counts as its /64.
 * @limit visitor: Open approval requests from one IP address, per tunnel | 429 `access-attempts`
 */
export const APPROVALS_PER_ADDRESS_MAX = 3;
/** Maximum number of denied visitors that the relay remembers per tunnel; the oldest is forgotten first. */
export const APPROVALS_REFUSED_MAX = 32;
/** Maximum number of responses that the relay delays for one approval request: a few browser tabs. */
export const KNOCK_HOLDS_MAX = 4;

export type ApprovalState = 'waiting' | 'admitted' | 'refused' | 'unanswered';

/**
 * When a request expires, wall time in ms: it can no longer be answered, the approval ends, or a denied visitor may
 * ask again.
 */
export function endOf({ at, answer }: StoredKnock): number {
  return typeof answer === 'number' ? answer : at + KNOCK_SECONDS * 1000;
}

export class ApprovalRequests {
  /** of the `access` that the visitors met */
  readonly version: string;
  readonly #knocks: ReadonlyMap<string, StoredKnock>;

  constructor({ version, knocks }: StoredKnocks) {
    this.version = version;
    this.#knocks = new Map(knocks.map((knock) => [knock.id, knock]));
  }

  /** @returns the request, unless it has expired */
  find(id: string, now: number): StoredKnock | undefined {
    const knock = this.#knocks.get(id);
    return knock !== undefined && endOf(knock) > now ? knock : undefined;
  }

  /** @returns `undefined` for one that is forgotten, as all are some time after they expire */
  stateOf(id: string, now: number): ApprovalState | undefined {
    const knock = this.#knocks.get(id);
    if (knock === undefined) return undefined;
    if (endOf(knock) > now) return stateOf(knock);
    return knock.answer === null ? 'unanswered' : undefined;
  }

  /** Whether the owner has approved it. */
  isApproved(id: string, now: number): boolean {
    const answer = this.#knocks.get(id)?.answer;
    return typeof answer === 'number' && answer > now;
  }

  /** Those that have not expired, oldest first. */
  current(now: number): StoredKnock[] {
    return [...this.#knocks.values()].filter((knock) => endOf(knock) > now);
  }

  /** Those that wait for an answer, oldest first. */
  waiting(now: number): StoredKnock[] {
    return this.current(now).filter(({ answer }) => answer === null);
  }

  /** Approved ones, the first to expire first. */
  approved(now: number): StoredKnock[] {
    const admitted = this.current(now).filter(({ answer }) => typeof answer === 'number');
    return admitted.toSorted((a, b) => endOf(a) - endOf(b));
  }

  /**
   * Whether one more may wait.
   *
   * @param arriving addresses of requests that are just being stored
   * @returns ms until there may be capacity; 0 if there is some
   */
  wait(address: string, arriving: readonly string[], now: number): number {
    const network = networkOf(address);
    const unlet = this.current(now).filter(({ answer }) => typeof answer !== 'number');
    const waiting = unlet.filter(({ answer }) => answer === null);
    const near = unlet.filter((knock) => networkOf(knock.address) === network);
    const nearArriving = arriving.filter((other) => networkOf(other) === network);
    const isFull =
      waiting.length + arriving.length >= APPROVALS_WAITING_MAX ||
      near.length + nearArriving.length >= APPROVALS_PER_ADDRESS_MAX;
    if (!isFull) return 0;
    const ends = (near.length > 0 ? near : waiting).map(endOf);
    return Math.min(...ends, now + KNOCK_SECONDS * 1000) - now;
  }

  /** @returns the requests with one more, or with a changed answer; without expired ones */
  with(knock: StoredKnock, now: number): StoredKnock[] {
    const others = this.current(now).filter(({ id }) => id !== knock.id);
    const all = [...others, knock].filter((each) => endOf(each) > now).toSorted((a, b) => a.at - b.at);
    const refused = all.filter(({ answer }) => answer === false);
    const forgotten = new Set(refused.slice(0, Math.max(0, refused.length - APPROVALS_REFUSED_MAX)));
    return all.filter((each) => !forgotten.has(each));
  }
}

/** Of a request that has not expired. */
export function stateOf({ answer }: StoredKnock): 'waiting' | 'admitted' | 'refused' {
  if (answer === null) return 'waiting';
  return answer === false ? 'refused' : 'admitted';
}

export const NO_APPROVALS = new ApprovalRequests({ version: '', knocks: [] });

/* Responses that are held back until the owner has answered an approval request. */

/**
 * Why a response is no longer held back: something about the requests of the tunnel has `changed`, it is `late`, the
 * tunnel is `over`, or none is held back because too many already are or the relay is shutting down (`none`).
 */
type WaitEnd = 'changed' | 'late' | 'over' | 'none';

interface Wait {
  readonly knockId: string;
  readonly end: (why: WaitEnd) => void;
}

export class ApprovalWaits {
  readonly #clock: Clock;
  /** by the tunnel's id */
  readonly #waits = new Map<string, Set<Wait>>();
  #isReleased = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are held back. */
  get size(): number {
    let size = 0;
    for (const waits of this.#waits.values()) size += waits.size;
    return size;
  }

  /** @param ms the longest wait */
  wait(tunnelId: string, knockId: string, ms: number): Promise<WaitEnd> {
    const waits = this.#waits.get(tunnelId) ?? new Set();
    const same = [...waits].filter((wait) => wait.knockId === knockId);
    if (this.#isReleased || same.length >= KNOCK_HOLDS_MAX) return Promise.resolve('none');
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => wait.end('late'), ms);
      const wait: Wait = {
        knockId,
        end: (why) => {
          timer.cancel();
          waits.delete(wait);
          if (waits.size === 0) this.#waits.delete(tunnelId);
          resolve(why);
        },
      };
      waits.add(wait);
      this.#waits.set(tunnelId, waits);
    });
  }

  /** The approval requests of a tunnel have changed, or the tunnel has ended. */
  wake(tunnelId: string, why: 'changed' | 'over'): void {
    for (const wait of this.#waits.get(tunnelId) ?? []) wait.end(why);
  }

  /** The relay is shutting down: no response is held back from now on. */
  release(): void {
    this.#isReleased = true;
    for (const waits of this.#waits.values()) for (const wait of waits) wait.end('none');
  }
}
