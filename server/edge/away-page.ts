/** What visitors get at a kept name that no client serves, if its owner has left a text (protocol.md section 16). */
import { VISITOR_ERRORS } from '../../shared/errors.ts';
import { fieldValue, prefersHtml } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { firstLine } from '../../shared/names.ts';
import { escapeHtml, page } from '../../shared/page.ts';
import type { Away } from '../store/records.ts';
import { type OwnResponse, reply } from './builtin-responses.ts';

/** Seconds after which programs should try again if the owner has not said when they are back. */
const AWAY_RETRY_SECONDS = 60;
/** Seconds after which the page looks whether the tunnel is back. */
const AWAY_LOOK_SECONDS = 20;
/** Lines of the text that the page shows as such: more would move what the relay says of it out of sight. */
const LINES_MAX = 12;
/** Characters and lines up to which a text is in large letters. */
const LARGE_MAX = { characters: 100, lines: 3 };

interface AwayContext {
  readonly head: RequestHead;
  /** host of the relay, named so that nobody takes the page for a company's own */
  readonly relay: string;
  /** address of a link for complaints */
  readonly contact: string | undefined;
  /** wall time in ms */
  readonly now: number;
}

/** The owner's text and nothing else of theirs: plain text, in which nothing is a link. */
export function awayResponse({ text, until }: Away, { head, relay, contact, now }: AwayContext): OwnResponse {
  const back = until !== null && until > now ? until : undefined;
  const html = prefersHtml(fieldValue(head.fields, 'accept'));
  const seconds = back === undefined ? AWAY_RETRY_SECONDS : Math.ceil((back - now) / 1000);
  const looks = html && head.method === 'GET' ? `Refresh: ${AWAY_LOOK_SECONDS}\r\n` : '';
  const body = html
    ? page(
        escapeHtml(firstLine(text)),
        `${back === undefined ? '' : backLine(back, now)}<p>This page reloads on its own once the site is back.</p>`,
        `A message from the owner of this address, shown by the tunnel relay ${relay}`,
        contact,
        heading(text),
      )
    : JSON.stringify({
        error: text,
        code: 'away',
        until: back === undefined ? null : new Date(back).toISOString(),
      });
  return reply({
    status: VISITOR_ERRORS.away.status,
    error: 'away',
    fields:
      'Culvert-Error: away\r\n' +
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n" +
      `Vary: Accept\r\nRetry-After: ${seconds}\r\n${looks}`,
    contentType: html ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
    body,
    headOnly: head.method === 'HEAD',
  });
}

/** Each of its lines has the direction of its own language. Accents that are piled up stay inside of it. */
function heading(text: string): string {
  const all = text
    .trim()
    .replaceAll(/\n\s*\n/g, '\n\n')
    .split('\n');
  const lines = [...all.slice(0, LINES_MAX - 1), all.slice(LINES_MAX - 1).join(' ')];
  const shown = lines.join('\n').trim();
  const isLong = Array.from(shown).length > LARGE_MAX.characters || all.length > LARGE_MAX.lines;
  return `<h1 class="text${isLong ? ' long' : ''}" dir="auto">${escapeHtml(shown)}</h1>`;
}

/** A time span is the same in every time zone. */
function backLine(back: number, now: number): string {
  const at = new Date(back).toISOString();
  const time = (shown: string): string => `<time datetime="${at}">${shown}</time>`;
  return `<p>Back in about ${time(roughly(back - now))} (${time(`${at.slice(0, 16).replace('T', ' ')} UTC`)}).</p>\n`;
}

const UNITS = [
  ['day', 24 * 3_600_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** In the largest unit of which there are at least two, rounded up. */
function roughly(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= 2 * each) ?? UNITS[2];
  const count = Math.max(1, Math.ceil(ms / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
