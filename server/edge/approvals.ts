/** Visitors at the door who knock, and wait until the owner has answered (docs/protocol.md section 11.3). */
import { ApiError, VISITOR_ERRORS } from '../../shared/errors.ts';
import { fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { ADMISSION_MAX_SECONDS, KNOCK_SECONDS } from '../../shared/knocks.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import { isSentFromHere, approvedVisitor } from '../access/access-check.ts';
import type { AccessPolicy } from '../access/access-policy.ts';
import { endOf, type ApprovalState, type ApprovalWaits } from '../access/approval-requests.ts';
import type { Passes } from '../access/passes.ts';
import { KNOCK_HOLD_MS, KNOCK_LOOK_SECONDS } from '../limits.ts';
import type { StoredKnock } from '../store/records.ts';
import { TooManyApprovalRequestsError, type TunnelApprovals } from '../tunnels/tunnel-approvals.ts';
import {
  ACCESS_PAGE_FIELDS,
  type AccessStep,
  redirect,
  approvalForm,
  plainAddress,
  waitAddress,
} from './access-pages.ts';
import { type OwnResponse, wholeResponse } from './builtin-responses.ts';
import type { Visit } from './notice.ts';
import { passCookie } from './request-head.ts';

/** A visitor whom the gate does not let in, at a tunnel where he may knock. */
export interface Knocker {
  readonly head: RequestHead;
  readonly visit: Visit;
  readonly access: AccessPolicy;
  readonly address: string;
  /** id of the knock for which he waits, or has waited */
  readonly knock: string | undefined;
  readonly step: AccessStep | undefined;
}

export interface ApprovalsOptions {
  readonly knocks: Pick<TunnelApprovals, 'knock'>;
  readonly waits: Pick<ApprovalWaits, 'wait'>;
  /** with which visitors are known from their knock on, for as long as they may be let in */
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

  /** @returns a promise never rejects; `undefined`: he is told what there is for those who have not knocked */
  respond(knocker: Knocker): OwnResponse | Promise<OwnResponse> | undefined {
    const { head, visit, knock: id, step } = knocker;
    const state = id === undefined ? undefined : visit.tunnel.knocks.stateOf(id, this.#options.now());
    if (step === 'knock') return this.#requestOnce(knocker, state);
    if (id === undefined || state === undefined) return undefined;
    // What a program or a page sends in the background, or a form, goes on from no other page.
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

  /** People see a page that they can reload; programs are told where to wait. */
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
      // Where he is let in, or everything is different now, the address itself says so.
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
    const form = prefix === '' ? 'host' : 'path';
    // He may be let in for as long as that; the tunnel knows for how long he is.
    const seconds = KNOCK_SECONDS + ADMISSION_MAX_SECONDS;
    const end = Math.floor(at / 1000) + seconds;
    const value = passes.make(
      { tunnelId: tunnel.id, version: access.version, form },
      approvedVisitor(id),
      end,
    );
    return passCookie({ value, prefix, secure, seconds });
  }

  #context({ head, visit }: Knocker): { head: RequestHead; visit: Visit; contact: string | undefined } {
    return { head, visit, contact: this.#options.contact };
  }
}

/* What those who knock are told: a page to people, which needs no script and moves on by itself, and JSON to programs. */

export interface ApprovalContext {
  readonly head: RequestHead;
  readonly visit: Visit;
  /** address of a link for complaints */
  readonly contact: string | undefined;
}

/** A visitor who waits, as he is told. */
export interface Waiting {
  /** s since he knocked */
  readonly seconds: number;
  /** s after which the page looks for the answer, which is held back until there is one */
  readonly lookIn: number;
  /** Whether he has asked for nothing but that: he is not refused what he has not asked for. */
  readonly isAsked: boolean;
  /** a `Set-Cookie` that makes him known */
  readonly cookie?: string;
}

/** What those are told who do not wait any more. */
const OVER = {
  refused: {
    title: 'Not this time',
    text: 'Whoever shares this page has seen that you knocked, and has not let you in.',
    again: undefined,
  },
  unanswered: {
    title: 'Nobody has answered',
    text: 'Nobody has answered your knock. Perhaps whoever shares this page is not at the computer right now.',
    again: 'Knock again',
  },
} as const;

const FULL_TEXT = 'Too many are waiting to be let in already. Try again in a few minutes.';
const UNAVAILABLE_TEXT = 'Your knock could not be taken right now. Try again in a moment.';

/** Tells a visitor that he waits, and for how long. */
export function waitingResponse(context: ApprovalContext, waiting: Waiting): OwnResponse {
  const { head, visit } = context;
  const wait = waitAddress(visit);
  const { seconds, lookIn, isAsked, cookie } = waiting;
  const left = Math.max(0, KNOCK_SECONDS - seconds);
  const html = `<p role="status">You knocked <strong>${spoken(seconds)}</strong> ago. Whoever shares this page has been asked, and can let you in.</p>
<p>Keep this page open: it moves on by itself as soon as there is an answer. It waits for <strong>${spoken(left)}</strong> more.</p>
<p><a class="go" href="${escapeHtml(plainAddress(visit))}">Look now</a></p>`;
  return response(context, {
    status: isAsked ? 202 : VISITOR_ERRORS['access-required'].status,
    title: 'Waiting to be let in',
    html,
    json: { knock: 'waiting', wait, seconds_left: left },
    text: 'You have knocked, and nobody has answered yet.',
    fields:
      (prefersHtml(fieldValue(head.fields, 'accept')) ? `Refresh: ${lookIn};url=${wait}\r\n` : '') +
      (cookie === undefined ? '' : `Set-Cookie: ${cookie}\r\n`),
  });
}

/** Tells a visitor that nobody has let him in. */
export function overResponse(context: ApprovalContext, state: 'refused' | 'unanswered'): OwnResponse {
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

/** Tells a visitor that he cannot knock. @param seconds after which he may try again */
export function tooManyResponse(context: ApprovalContext, seconds: number): OwnResponse {
  return response(context, {
    status: VISITOR_ERRORS['access-attempts'].status,
    title: 'Too many are knocking',
    html: `<p>${FULL_TEXT}</p>`,
    json: {},
    text: FULL_TEXT,
    fields: `Retry-After: ${seconds}\r\n`,
  });
}

/** Tells a visitor that his knock was lost. */
export function lostResponse(context: ApprovalContext): OwnResponse {
  return response(context, {
    status: VISITOR_ERRORS['relay-busy'].status,
    title: VISITOR_ERRORS['relay-busy'].title,
    html: `<p>${UNAVAILABLE_TEXT}</p>\n${approvalForm(context.visit, 'Knock again')}`,
    json: {},
    text: UNAVAILABLE_TEXT,
    fields: 'Retry-After: 5\r\n',
  });
}

interface Told {
  readonly status: 202 | 401 | 429 | 503;
  readonly title: string;
  readonly html: string;
  /** what programs are told besides */
  readonly json: object;
  readonly text: string;
  /** each with its line end */
  readonly fields: string;
}

const CODES = { 202: undefined, 401: 'access-required', 429: 'access-attempts', 503: 'relay-busy' } as const;

function response({ head, contact }: ApprovalContext, told: Told): OwnResponse {
  const { status, title, html, json, text, fields } = told;
  const code = CODES[status];
  const isPage = prefersHtml(fieldValue(head.fields, 'accept'));
  const content = {
    status,
    fields:
      (code === undefined ? '' : `Culvert-Error: ${code}\r\n`) +
      `${fields}${isPage ? ACCESS_PAGE_FIELDS : ''}Vary: Accept\r\n`,
    contentType: isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body: isPage
      ? page(title, html, code === undefined ? `${status}` : `${status} ${code}`, contact)
      : JSON.stringify(code === undefined ? json : { error: text, code, ...json }),
  };
  const headOnly = head.method === 'HEAD';
  return {
    status,
    refuses: code !== undefined,
    ...(code !== undefined && { error: code }),
    bytes: (close) => wholeResponse(content, close, headOnly),
  };
}

/** @returns as people say it, in whole minutes beyond the first */
function spoken(seconds: number): string {
  if (seconds < 1) return 'a moment';
  if (seconds < 60) return `${Math.floor(seconds)} ${seconds < 2 ? 'second' : 'seconds'}`;
  const minutes = Math.round(seconds / 60);
  return `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}
