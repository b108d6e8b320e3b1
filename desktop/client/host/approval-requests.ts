/** The pending approval requests of one tunnel. */
import type { KnockMessage } from '../../../shared/control.ts';
import { KNOCK_SECONDS } from '../../../shared/knocks.ts';

/** @limit How long a visitor waits for approval before the relay turns them away. */
export const APPROVAL_WAIT_MS = KNOCK_SECONDS * 1000;
/** @limit Maximum number of pending approval requests for a tunnel; a relay queues no more than these. */
export const APPROVALS_MAX = 32;

/** A visitor who asks for access. */
export type ApprovalRequest = Pick<KnockMessage, 'id' | 'address' | 'agent'>;

interface Pending {
  readonly request: ApprovalRequest;
  /** wall-clock ms of this machine at which the relay denies it */
  readonly until: number;
}

export class ApprovalRequests {
  readonly #now: () => number;
  #pending: readonly Pending[] = [];

  /** @param now wall-clock ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** the longest waiting first */
  get all(): readonly ApprovalRequest[] {
    return this.#current.map(({ request }) => request);
  }

  /**
   * @returns whether it is new and there is a free slot: relays repeat pending requests when they reconnect, and queue
   *   no more
   */
  add({ id, address, agent }: ApprovalRequest): boolean {
    const others = this.#current;
    if (others.length >= APPROVALS_MAX || others.some(({ request }) => request.id === id)) return false;
    this.#pending = [...others, { request: { id, address, agent }, until: this.#now() + APPROVAL_WAIT_MS }];
    return true;
  }

  remove(id: string): void {
    this.#pending = this.#pending.filter(({ request }) => request.id !== id);
  }

  clear(): void {
    this.#pending = [];
  }

  get #current(): readonly Pending[] {
    const now = this.#now();
    return this.#pending.filter(({ until }) => until > now);
  }
}
