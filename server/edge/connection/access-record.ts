/** What the access log will say about one request, from its head to its end. */
import type { VisitorErrorCode } from '../../../shared/errors.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { AccessLog } from '../../observe/access-log.ts';
import type { Outcomes } from '../../observe/counters.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import type { Plan } from '../routing/request-plan.ts';
import { TunnelLookup } from '../routing/tunnel-lookup.ts';

/** Whoever reads the log must not get what an invitation gives. */
const INVITATION = /^(\/(?:v1\/invites|invite)\/).*/;

/** How far a connection has come. */
export interface Progress {
  /** monotonic ms */
  readonly now: number;
  /** bytes from the visitor that have been taken */
  readonly taken: number;
  /** bytes it was sent */
  readonly sent: number;
}

export class AccessRecord {
  readonly #log: AccessLog;
  readonly #address: string;
  readonly #plan: Plan | undefined;
  readonly #begin: Progress;

  /** @param begin the time at the end of the request's head, and the bytes before it */
  constructor(log: AccessLog, address: string, plan: Plan | undefined, begin: Progress) {
    this.#log = log;
    this.#address = address;
    this.#plan = plan;
    this.#begin = begin;
  }

  /**
   * The request has ended.
   *
   * @param status of the response, if one was begun
   */
  end(outcome: keyof Outcomes, end: Progress, status: number | undefined, error?: VisitorErrorCode): void {
    const head = this.#plan?.head;
    const tunnel = tunnelOf(this.#plan);
    this.#log({
      address: this.#address,
      method: head?.method,
      host: head && fieldValue(head.fields, 'host'),
      path: head && pathOf(head.target, this.#plan),
      status,
      outcome,
      error,
      bytes_in: end.taken - this.#begin.taken,
      bytes_out: end.sent - this.#begin.sent,
      ms: Math.round(end.now - this.#begin.now),
      tunnel: tunnel?.id,
      slug: tunnel?.slug,
      account: tunnel?.account.id,
    });
  }
}

function tunnelOf(plan: Plan | undefined): LiveTunnel | undefined {
  if (plan?.route.kind !== 'tunnel') return undefined;
  const { tunnel } = plan.route;
  return tunnel instanceof TunnelLookup ? tunnel.found : tunnel;
}

function pathOf(target: string, plan: Plan | undefined): string {
  const path = target.split('?', 1)[0] ?? '';
  return plan?.route.kind === 'relay' ? path.replace(INVITATION, '$1…') : path;
}
