/** How the requests of one connection end, one after the other: counted, and reported to the access log if there is one. */
import type { VisitorErrorCode } from '../../../shared/errors.ts';
import { type Outcomes, refusals, requests } from '../../observe/counters.ts';
import { visitorAddress } from '../admission/visitor-address.ts';
import type { Origins } from '../exchange/origins.ts';
import type { Peer } from '../heads/request-head.ts';
import type { OwnResponse } from '../own/own-responses.ts';
import type { Plan } from '../routing/request-plan.ts';
import { AccessRecord, type Progress } from './access-record.ts';
import type { VisitorSocket } from './visitor-socket.ts';

export class RequestOutcomes {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #origins: Origins;
  /** Counts how the current request ends. */
  #outcomes: Outcomes = requests.nowhere;
  /** What the access log will say about it. */
  #access: AccessRecord | undefined;

  constructor(socket: VisitorSocket, peer: Peer, origins: Origins) {
    this.#socket = socket;
    this.#peer = peer;
    this.#origins = origins;
  }

  /**
   * A request begins.
   *
   * @param plan `undefined` for one that is refused for its head
   * @param headLength bytes of it that have been taken
   */
  begin(plan: Plan | undefined, headLength: number): void {
    const { accessLog, context } = this.#origins;
    if (accessLog === undefined) return;
    const { now, taken, sent } = this.#progress;
    const address = visitorAddress(plan?.head.fields ?? [], this.#peer, context.trustedProxies);
    this.#access = new AccessRecord(accessLog, address, plan, { now, taken: taken - headLength, sent });
  }

  /** It is now known where the current request goes. */
  countIn(outcomes: Outcomes): void {
    this.#outcomes = outcomes;
  }

  /**
   * The current request has ended, and what was to be sent has been.
   *
   * @param status of the response, if one was begun
   */
  end(outcome: keyof Outcomes, status: number | undefined, error?: VisitorErrorCode): void {
    this.#outcomes[outcome] += 1;
    this.#outcomes = requests.nowhere;
    if (this.#access !== undefined) this.#tell(outcome, status, error);
  }

  /** Another relay serves the current request, and counts it. */
  passed(): void {
    this.#outcomes = requests.nowhere;
    this.#access = undefined;
  }

  /** The relay has responded in place of the target. */
  responded({ status, refuses, error }: OwnResponse): void {
    if (error !== undefined) refusals[error] += 1;
    this.end(refuses ? 'refused' : 'answered', status, error);
  }

  /** The current request has opened a WebSocket: it counts now, and is logged once it is known how much it has carried. */
  opened(): void {
    this.#outcomes.upgraded += 1;
  }

  /** A WebSocket has ended, if one was opened. */
  closed(): void {
    if (this.#access !== undefined) this.#tell('upgraded', 101);
  }

  #tell(outcome: keyof Outcomes, status: number | undefined, error?: VisitorErrorCode): void {
    this.#access?.end(outcome, this.#progress, status, error);
    this.#access = undefined;
  }

  get #progress(): Progress {
    return { now: this.#origins.now(), taken: this.#socket.bytesTaken, sent: this.#socket.bytesSent };
  }
}
