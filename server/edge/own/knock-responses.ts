/** What those who knock are told: a page to people, which needs no script and moves on by itself, and JSON to programs. */
import { VISITOR_ERRORS } from '../../../shared/errors.ts';
import { prefersHtml } from '../../../shared/http1/accept.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { KNOCK_SECONDS } from '../../../shared/knocks.ts';
import { escapeHtml, page } from '../../../shared/page.ts';
import { DOOR_PAGE_FIELDS, knockForm, plainAddress, waitAddress } from './door-responses.ts';
import type { Visit } from './notice.ts';
import { type OwnResponse, wholeResponse } from './own-responses.ts';

export interface KnockContext {
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
export function waitingResponse(context: KnockContext, waiting: Waiting): OwnResponse {
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
export function overResponse(context: KnockContext, state: 'refused' | 'unanswered'): OwnResponse {
  const { title, text, again } = OVER[state];
  return response(context, {
    status: VISITOR_ERRORS['access-required'].status,
    title,
    html: `<p>${text}</p>\n${again === undefined ? '' : knockForm(context.visit, again)}`,
    json: { knock: state },
    text,
    fields: '',
  });
}

/** Tells a visitor that he cannot knock. @param seconds after which he may try again */
export function tooManyResponse(context: KnockContext, seconds: number): OwnResponse {
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
export function lostResponse(context: KnockContext): OwnResponse {
  return response(context, {
    status: VISITOR_ERRORS['relay-busy'].status,
    title: VISITOR_ERRORS['relay-busy'].title,
    html: `<p>${UNAVAILABLE_TEXT}</p>\n${knockForm(context.visit, 'Knock again')}`,
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

function response({ head, contact }: KnockContext, told: Told): OwnResponse {
  const { status, title, html, json, text, fields } = told;
  const code = CODES[status];
  const isPage = prefersHtml(fieldValue(head.fields, 'accept'));
  const content = {
    status,
    fields:
      (code === undefined ? '' : `Culvert-Error: ${code}\r\n`) +
      `${fields}${isPage ? DOOR_PAGE_FIELDS : ''}Vary: Accept\r\n`,
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
