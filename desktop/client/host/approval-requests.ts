/** The pending approval requests of one tunnel. */
import type { KnockMessage } from '../../../shared/control.ts';
import { KNOCK_SECONDS } from '../../../shared/knocks.ts';

/** How long a visitor waits for approval before the relay turns them away. */
export const APPROVAL_WAIT_MS = KNOCK_SECONDS * 1000;
/** Maximum number of pending approval requests for a tunnel; a relay queues no more than these. */
export const APPROVALS_MAX = 32;

/** A visitor who asks for access. */
export interface ApprovalRequest extends Pick<KnockMessage, 'id' | 'address' | 'agent' | 'client'> {
  /** wall-clock ms of this machine; the relay denies it {@link APPROVAL_WAIT_MS} later */
  readonly since: number;
}

/** How much of the host of an agent is shown: it must not push anything else out of sight. */
const HOST_SHOWN_MAX_LENGTH = 40;

/**
 * The host of an agent as it is shown. Anyone may own the end of a host, so its beginning, such as that of
 * `claude.ai.evil.example`, is what can be left out.
 */
export function endOfHost(host: string): string {
  return host.length <= HOST_SHOWN_MAX_LENGTH ? host : `…${host.slice(1 - HOST_SHOWN_MAX_LENGTH)}`;
}

export class ApprovalRequests {
  readonly #now: () => number;
  #pending: readonly ApprovalRequest[] = [];

  /** @param now wall-clock ms */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** the longest waiting first */
  get all(): readonly ApprovalRequest[] {
    const now = this.#now();
    return this.#pending.filter(({ since }) => now - since < APPROVAL_WAIT_MS);
  }

  /**
   * @returns whether it is new and there is a free slot: relays repeat pending requests when they reconnect, and queue
   *   no more
   */
  add({ id, address, agent, client }: Omit<ApprovalRequest, 'since'>): boolean {
    const others = this.all;
    if (others.length >= APPROVALS_MAX || others.some((other) => other.id === id)) return false;
    this.#pending = [...others, { id, address, agent, ...(client && { client }), since: this.#now() }];
    return true;
  }

  remove(id: string): void {
    this.#pending = this.#pending.filter((other) => other.id !== id);
  }

  clear(): void {
    this.#pending = [];
  }
}
