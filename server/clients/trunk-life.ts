/** Whether the peer is still at the other end of a trunk: a tunnel's client, or another relay. */
import { CloseCode } from '../../shared/control.ts';
import type { Trunk } from '../../shared/trunk/trunk.ts';
import { LIFE_SIGN_MS } from './client-streams.ts';

/**
 * How long data on a trunk may go unanswered before the relay probes the client and sends it no new visitors
 * over that trunk until it responds. A local service may need longer to respond; the client itself answers.
 */
export const TRUNK_DOUBT_MS = 2000;
/**
 * Minimum time that a client has to acknowledge the end of a stream, which waits behind what was sent before
 * (protocol.md section 10.2).
 */
export const TRUNK_ANSWER_MS = 60_000;

/**
 * A peer that does not react to what it was sent is asked for a sign of life, and gets no streams until it gives one;
 * without one, the trunk ends. It also ends if the peer never answers the end of a stream, which would otherwise be
 * counted forever.
 */
export class TrunkLife {
  readonly #trunk: Trunk;
  /** number of times that the peer had sent something, and since when it has not although it should, monotonic ms */
  #words = 0;
  #quietSince: number | undefined;
  /** when the pending sign of life was requested, monotonic ms */
  #askedAt: number | undefined;
  /** when the ends of streams last had to be answered, monotonic ms */
  #answeredAt: number | undefined;

  constructor(trunk: Trunk) {
    this.#trunk = trunk;
  }

  /** Whether the peer does not owe a sign of life. */
  get isTrusted(): boolean {
    return this.#askedAt === undefined || !this.#trunk.isSilent;
  }

  /**
   * @param now monotonic ms; to be called about every second
   * @returns whether the peer was asked for a sign of life
   */
  tick(now: number): boolean {
    this.#answeredAt ??= now;
    const wasAsked = this.#askedAt !== undefined;
    if (now - this.#answeredAt >= TRUNK_ANSWER_MS) {
      this.#answeredAt = now;
      this.#trunk.expectAnswers();
    }
    if (this.#askedAt === undefined) this.#listen(now);
    else if (!this.#trunk.isSilent) this.#askedAt = undefined;
    else if (now - this.#askedAt >= LIFE_SIGN_MS) this.#trunk.close(CloseCode.abnormal);
    return !wasAsked && this.#askedAt !== undefined;
  }

  /** Asks the peer for a sign of life, unless it owes one already. */
  ask(now: number): void {
    if (this.#askedAt !== undefined) return;
    this.#askedAt = now;
    this.#trunk.probe();
  }

  #listen(now: number): void {
    const trunk = this.#trunk;
    if (!trunk.isUnanswered || trunk.words !== this.#words) this.#quietSince = undefined;
    this.#words = trunk.words;
    if (!trunk.isUnanswered) return;
    this.#quietSince ??= now;
    if (now - this.#quietSince < TRUNK_DOUBT_MS) return;
    this.#quietSince = undefined;
    this.ask(now);
  }
}
