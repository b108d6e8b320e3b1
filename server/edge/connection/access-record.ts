/** What the access log will say about one request, from its head to its end. */
import type { VisitorErrorCode } from '../../../shared/errors.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { AccessLog } from '../../observe/access-log.ts';
import type { Outcomes } from '../../observe/counters.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import type { Plan } from '../routing/request-plan.ts';
import { TunnelLookup } from '../routing/tunnel-lookup.ts';

const ABSOLUTE_FORM = /^https?:\/\/[^/?]*/i;
const INVITATION = /^(\/(?:v1\/invites|invite)\/).*/;
/** As long as the token of an invitation or longer, in any spelling. */
const LONG_WORD = /(?:[\w-]|%[0-9A-Fa-f]{2}){32,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
      path: head && pathOf(head.target, tunnel !== undefined),
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

/**
 * The path of a target, without what grants access. An invitation's token stays good after a request that was refused, was
 * sent to the wrong host or was misspelled, so that every word that could be one is hidden, unless a tunnel serves the path.
 *
 * @param target as sent, in any form (RFC 9112 section 3.2)
 */
function pathOf(target: string, isTunnels: boolean): string {
  const [sent = ''] = target.replace(ABSOLUTE_FORM, '').split('?', 1);
  const path = sent === '' ? '/' : sent;
  if (isTunnels) return path;
  return path.replace(INVITATION, '$1…').replaceAll(LONG_WORD, (word) => (UUID.test(word) ? word : '…'));
}
