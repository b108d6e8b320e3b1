/** Visitors who ask for approval and wait until the owner has answered (protocol.md section 11.3). */
import { ApiError, VISITOR_ERRORS } from '../../shared/errors.ts';
import { fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { approvedVisitor, isSentFromHere } from '../access/access-check.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import { type ApprovalState, type ApprovalWaits, endOf } from '../access/approval-requests.ts';
import { type Passes, passScope } from '../access/passes.ts';
import type { StoredKnock } from '../store/records.ts';
import { TooManyApprovalRequestsError, type TunnelApprovals } from '../tunnels/links-and-approvals.ts';
import {
  ACCESS_PAGE_FIELDS,
  type AccessStep,
  approvalForm,
  plainAddress,
  redirect,
  waitAddress,
  type PageContext,
} from './access-pages.ts';
import { type OwnResponse, reply, type Visit } from './builtin-responses.ts';
import { passCookie } from './request-head.ts';

/**
 * How long the relay delays a response while it waits for the owner's decision: less than the timeouts of
 * reverse proxies.
 */
export const KNOCK_HOLD_MS = 25_000;
/**
 * Interval at which a waiting visitor's page checks again if too many of that visitor's responses are already
 * delayed.
 */
export const KNOCK_LOOK_SECONDS = 5;

/** A visitor without access, at a tunnel that accepts approval requests. */
interface Knocker {
  readonly head: RequestHead;
  readonly visit: Visit;
  readonly access: AccessPolicy;
  readonly address: string;
  /** id of the visitor's approval request that is or was waiting */
  readonly knock: string | undefined;
  readonly step: AccessStep | undefined;
}

export interface ApprovalsOptions {
  readonly knocks: Pick<TunnelApprovals, 'knock'>;
  readonly waits: Pick<ApprovalWaits, 'wait'>;
  /** identify visitors from their request on, for as long as an approval may last */
  readonly passes: Passes;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: () => number;
}

export class Approvals {
  readonly #options: ApprovalsOptions;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** @returns never rejects; `undefined`: the access page for visitors who have not asked */
  respond(knocker: Knocker): OwnResponse | Promise<OwnResponse> | undefined {
    const { head, visit, knock: id, step } = knocker;
    const state = id === undefined ? undefined : visit.tunnel.knocks.stateOf(id, this.#options.now());
    if (step === 'knock') return this.#requestOnce(knocker, state);
    if (id === undefined || state === undefined) return undefined;
    // Background requests of a program or a page, and forms, cannot continue from another page.
    const isLook = head.method === 'GET' || head.method === 'HEAD';
    if (state === 'waiting' && step === 'wait' && head.method === 'GET') return this.#hold(knocker, id);
    return isLook ? this.#tell(knocker, id, state) : undefined;
  }

  #requestOnce(
    knocker: Knocker,
    state: ApprovalState | undefined,
  ): OwnResponse | Promise<OwnResponse> | undefined {
    if (!isSentFromHere(knocker.head)) return undefined;
    if (state === 'refused') return overResponse(this.#context(knocker), state);
    if (state === 'waiting') return this.#begun(knocker, undefined);
    return this.#request(knocker);
  }

  async #request(knocker: Knocker): Promise<OwnResponse> {
    const { head, visit, address } = knocker;
    try {
      const agent = fieldValue(head.fields, 'user-agent') ?? '';
      const knock = await this.#options.knocks.knock(visit.tunnel, address, agent);
      return this.#begun(knocker, knock);
    } catch (error) {
      if (error instanceof TooManyApprovalRequestsError)
        return tooManyResponse(this.#context(knocker), Math.ceil(error.ms / 1000));
      if (error instanceof ApiError) return lostResponse(this.#context(knocker));
      throw error;
    }
  }

  /** People get a page that they can reload; programs get an address to wait at. */
  #begun(knocker: Knocker, knock: StoredKnock | undefined): OwnResponse {
    const { head, visit } = knocker;
    const cookie = knock === undefined ? undefined : this.#cookie(knocker, knock);
    if (prefersHtml(fieldValue(head.fields, 'accept'))) return redirect(visit, cookie);
    const waiting = { seconds: 0, lookIn: 0, isAsked: true };
    return waitingResponse(this.#context(knocker), { ...waiting, ...(cookie !== undefined && { cookie }) });
  }

  /** Responds once there is an answer, or after a while without one. */
  async #hold(knocker: Knocker, id: string): Promise<OwnResponse> {
    const { visit, access } = knocker;
    const { tunnel } = visit;
    const { waits, now } = this.#options;
    const until = now() + KNOCK_HOLD_MS;
    for (;;) {
      const knock = tunnel.knocks.find(id, now());
      const end = Math.min(until, knock === undefined ? until : endOf(knock));
      const why = await waits.wait(tunnel.id, id, Math.max(1, end - now()));
      const isSame = why !== 'over' && tunnel.access?.version === access.version;
      const state = isSame ? tunnel.knocks.stateOf(id, now()) : undefined;
      if (state === 'refused' || state === 'unanswered') return this.#tell(knocker, id, state);
      // If the visitor has access, or the situation has changed, the requested address itself responds.
      if (state !== 'waiting') return redirect(visit, undefined);
      if (why === 'none') return this.#tell(knocker, id, state, KNOCK_LOOK_SECONDS);
      if (now() >= until) return this.#tell(knocker, id, state);
    }
  }

  #tell(knocker: Knocker, id: string, state: ApprovalState, lookIn = 0): OwnResponse {
    const { visit, step } = knocker;
    if (state === 'admitted') return redirect(visit, undefined);
    if (state !== 'waiting') return overResponse(this.#context(knocker), state);
    const { now } = this.#options;
    const at = visit.tunnel.knocks.find(id, now())?.at ?? now();
    const seconds = Math.max(0, Math.floor((now() - at) / 1000));
    const waiting: Waiting = { seconds, lookIn, isAsked: step === 'wait' };
    return waitingResponse(this.#context(knocker), waiting);
  }

  #cookie({ visit, access }: Knocker, { id, at }: StoredKnock): string {
    const { passes, secure } = this.#options;
    const { tunnel, prefix } = visit;
    // The longest possible approval; the tunnel knows how long this one lasts.
    const seconds = KNOCK_SECONDS + ADMISSION_MAX_SECONDS;
    const end = Math.floor(at / 1000) + seconds;
    const value = passes.make(passScope(tunnel.id, access.version, visit), approvedVisitor(id), end);
    return passCookie({ value, prefix, secure, seconds });
  }

  #context({ head, visit }: Knocker): PageContext {
    return { head, visit, contact: this.#options.contact };
  }
}

/*
 * Responses to visitors who ask for approval: a page for people, which needs no script and reloads itself, and JSON
 * for programs.
 */

/** A waiting visitor, as shown on the page. */
export interface Waiting {
  /** seconds since the visitor asked */
  readonly seconds: number;
  /** Seconds after which the page checks for the answer; the response to that is held back until there is one. */
  readonly lookIn: number;
  /** Whether the request asked only for this status: then the response is not an error. */
  readonly isAsked: boolean;
  /** a `Set-Cookie` that identifies the visitor */
  readonly cookie?: string;
}

/** Texts for requests that no longer wait. */
const OVER = {
  refused: {
    title: 'Access denied',
    text: 'The owner of this page has seen your request and denied it.',
    again: undefined,
  },
  unanswered: {
    title: 'No answer',
    text: 'Nobody has responded to your request. The owner of this page may be away from the computer.',
    again: 'Ask again',
  },
} as const;

const FULL_TEXT = 'Too many people are already waiting for access. Try again in a few minutes.';
const UNAVAILABLE_TEXT = 'Your request could not be stored right now. Try again in a moment.';

/** Tells the visitor to wait, and for how long. */
function waitingResponse(context: PageContext, waiting: Waiting): OwnResponse {
  const { head, visit } = context;
  const wait = waitAddress(visit);
  const { seconds, lookIn, isAsked, cookie } = waiting;
  const left = Math.max(0, KNOCK_SECONDS - seconds);
  const html = `<p role="status">You asked for access <strong>${spoken(seconds)}</strong> ago. The owner of this page has been notified and can approve your request.</p>
<p>Keep this page open: it continues automatically as soon as the owner responds. It waits for up to <strong>${spoken(left)}</strong> more.</p>
<p><a class="go" href="${escapeHtml(plainAddress(visit))}">Check now</a></p>`;
  return response(context, {
    status: isAsked ? 202 : VISITOR_ERRORS['access-required'].status,
    title: 'Waiting for approval',
    html,
    json: { knock: 'waiting', wait, seconds_left: left },
    text: 'You have asked for access, but nobody has responded yet.',
    fields:
      (prefersHtml(fieldValue(head.fields, 'accept')) ? `Refresh: ${lookIn};url=${wait}\r\n` : '') +
      (cookie === undefined ? '' : `Set-Cookie: ${cookie}\r\n`),
  });
}

/** Tells the visitor that access was not granted. */
function overResponse(context: PageContext, state: 'refused' | 'unanswered'): OwnResponse {
  const { title, text, again } = OVER[state];
  return response(context, {
    status: VISITOR_ERRORS['access-required'].status,
    title,
    html: `<p>${text}</p>\n${again === undefined ? '' : approvalForm(context.visit, again)}`,
    json: { knock: state },
    text,
    fields: '',
  });
}

/** Tells the visitor that no more approval requests are accepted. @param seconds after which to try again */
function tooManyResponse(context: PageContext, seconds: number): OwnResponse {
  return response(context, {
    status: VISITOR_ERRORS['access-attempts'].status,
    title: 'Too many people are waiting',
    html: `<p>${FULL_TEXT}</p>`,
    json: {},
    text: FULL_TEXT,
    fields: `Retry-After: ${seconds}\r\n`,
  });
}

/** Tells the visitor that the approval request could not be stored. */
function lostResponse(context: PageContext): OwnResponse {
  return response(context, {
    status: VISITOR_ERRORS['relay-busy'].status,
    title: VISITOR_ERRORS['relay-busy'].title,
    html: `<p>${UNAVAILABLE_TEXT}</p>\n${approvalForm(context.visit, 'Ask again')}`,
    json: {},
    text: UNAVAILABLE_TEXT,
    fields: 'Retry-After: 5\r\n',
  });
}

interface Told {
  readonly status: 202 | 401 | 429 | 503;
  readonly title: string;
  readonly html: string;
  /** additional JSON for programs */
  readonly json: object;
  readonly text: string;
  /** each with its line end */
  readonly fields: string;
}

const CODES = { 202: undefined, 401: 'access-required', 429: 'access-attempts', 503: 'relay-busy' } as const;

function response({ head, contact }: PageContext, told: Told): OwnResponse {
  const { status, title, html, json, text, fields } = told;
  const code = CODES[status];
  const isPage = prefersHtml(fieldValue(head.fields, 'accept'));
  return reply({
    status,
    error: code,
    fields:
      (code === undefined ? '' : `Culvert-Error: ${code}\r\n`) +
      `${fields}${isPage ? ACCESS_PAGE_FIELDS : ''}Vary: Accept\r\n`,
    contentType: isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: isPage
      ? page(title, html, undefined, contact)
      : JSON.stringify(code === undefined ? json : { error: text, code, ...json }),
    headOnly: head.method === 'HEAD',
  });
}

/** @returns a duration for people, in whole minutes if it is longer than one */
function spoken(seconds: number): string {
  if (seconds < 1) return 'a moment';
  if (seconds < 60) return `${Math.floor(seconds)} ${seconds < 2 ? 'second' : 'seconds'}`;
  const minutes = Math.round(seconds / 60);
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}
