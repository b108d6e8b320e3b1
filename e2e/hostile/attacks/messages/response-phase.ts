/** Hostile responses of a service behind its own tunnel. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Field, formatRequest } from '../../../support/raw-http.ts';
import { Scope } from '../../../support/scope.ts';
import { startRawService } from '../../../support/services/listen.ts';
import { inParallel } from '../measure.ts';
import { type Front, talk } from '../fronts.ts';
import { HonestVisitor } from '../tenants.ts';
import { AFTER, CANARY, type HostileMessage, MARK, numbered, PAUSE } from './cases.ts';
import { AnsweredRequests, type Phase } from './request-phase.ts';

const ATTACKERS = 4;
const PATIENCE = { firstMs: 1500, quietMs: 50 };
/** For a response that must arrive, even on a busy machine. */
const LONG_PATIENCE = { ...PATIENCE, firstMs: 20_000 };
/**
 * Gives a request a dedicated local connection. Unsolicited data on a shared one may be taken for the next response, as
 * it may without a tunnel.
 */
export const LOGIN: readonly Field[] = [['Authorization', 'Basic YTpi']];
/** An informational response with a Content-Length. */
const INTERIM =
  /^HTTP\/1\.[01] 1\d\d[^\r]*\r\n(?:[^\r]+\r\n)*(?:content-length|transfer-encoding|trailer):/im;

/** The tunnel to a hostile service. */
export interface HostileTunnel {
  readonly host: string;
  /** requests received by the service */
  readonly requests: AnsweredRequests;
}

interface Asked {
  readonly front: Front;
  readonly response: HostileMessage;
  readonly number: number;
}

/**
 * Requests every response through each front, and lets other visitors send requests right after that.
 *
 * @returns how many responses honest visitors got during that
 */
export async function askForResponses(
  phase: Phase,
  responses: readonly HostileMessage[],
  tunnel: HostileTunnel,
): Promise<number> {
  const { scope, fronts, honest, faults, say } = phase;
  let next = 0;
  const visitors: HonestVisitor[] = [];
  await Promise.all(
    fronts.map(async (front) => {
      say(`${responses.length} responses, ${front.name}`);
      const free = Array.from({ length: ATTACKERS }, () => new HonestVisitor(scope, honest, front, faults));
      visitors.push(...free);
      await inParallel(ATTACKERS, responses.entries(), async ([index, response]) => {
        next += 1;
        const asked = { front, response, number: next };
        const visitor = free.pop();
        await visit(phase, asked, index, tunnel, async () => await visitor?.ask(`behind ${describe(asked)}`));
        if (visitor !== undefined) free.push(visitor);
      });
    }),
  );
  return visitors.reduce((sum, { served }) => sum + served, 0);
}

/** @param meanwhile what another visitor does before the next request of this connection */
async function visit(
  { honest, faults }: Phase,
  asked: Asked,
  index: number,
  { host, requests }: HostileTunnel,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const { front, response, number } = asked;
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const target = `/answer/${index}/${number}`;
    const request = { host, target, method: response.method ?? 'GET', headers: LOGIN };
    const isMended = response.fate === 'mended';
    const isDue = response.fate === 'passed' || (isMended && front.name === 'straight');
    const patience = isDue ? LONG_PATIENCE : PATIENCE;
    const { text, ended } = await talk(connection, formatRequest(request), patience);
    await meanwhile();
    const what = `${describe(asked)} reached its visitor as ${JSON.stringify(text.slice(0, 500))}`;
    const own = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) === number);
    if (own.some(([, kind = '']) => mayNotPass(response, kind)) || INTERIM.test(text))
      faults.add('forwarded', what);
    if (isMended && own.length > 0 && !hasStrictHead(text)) faults.add('forwarded', what);
    // Only a proxy shares connections between visitors.
    const isShared = front.name !== 'straight';
    const mayStray = (other: number): boolean => isShared && requests.mayStray(other, number);
    if (marksOfOthers(text, number).some(([, , other]) => !mayStray(Number(other))))
      faults.add('strayed', what);
    const isOwed = isDue && (!isShared || requests.isInStep(number));
    if (isOwed && !text.includes(String(number).padStart(6, '0'))) faults.add('lost', what);
    if (ended) return;
    const second = await talk(connection, formatRequest({ host: honest.host, target: '/second' }), PATIENCE);
    const isHidden = [...second.text.matchAll(MARK)].some(([, kind]) => kind !== 'm');
    if (isHidden || marksOfOthers(second.text, number).length > 0) {
      faults.add(
        'strayed',
        `${describe(asked)}: the next response was ${JSON.stringify(second.text.slice(0, 500))}`,
      );
    }
  } finally {
    await scope.end();
  }
}

/** What no visitor may get through any front: the relay is the first to parse responses. */
function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm') || (fate === 'any' && kind === 's');
}

/** Whether every line of the head ends in CRLF, and at most one field determines the length of the body. */
function hasStrictHead(text: string): boolean {
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  const framing = head.match(/^(?:content-length|transfer-encoding)[ \t]*:/gim) ?? [];
  return /^HTTP\/1\.[01] \d{3} /.test(head) && !/(?<!\r)\n|\r(?!\n)/.test(head) && framing.length <= 1;
}

function marksOfOthers(text: string, number: number): RegExpExecArray[] {
  return [...text.matchAll(MARK)].filter(([, , other]) => Number(other) !== number);
}

function describe({ front, response, number }: Asked): string {
  return `${front.name}, ${JSON.stringify(response.what)} ${number} ${JSON.stringify(response.text.slice(0, 400))}`;
}

/** ms: longer than an attacker's visitor waits, so that another visitor may be sending a request in that time. */
const PAUSE_MS = 150;
const ASKED = /^\S+ \/answer\/(\d+)\/(\d+) /gm;

/** Starts a service that responds to `/answer/INDEX/NUMBER` with the response of that index. */
export async function startHostileService(scope: Scope, responses: readonly HostileMessage[]) {
  const requests = new AnsweredRequests();
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, index, number] of text.slice(0, end).matchAll(ASKED)) {
        const response = responses[Number(index)];
        requests.asked(socket, Number(number));
        if (response !== undefined) void write(socket, response, Number(number), requests);
      }
      text = text.slice(end);
    });
  });
  return { port, requests };
}

/** The connection ends after half of the responses, and stays open for the next request after the others. */
async function write(
  socket: Socket,
  { text }: HostileMessage,
  number: number,
  requests: AnsweredRequests,
): Promise<void> {
  const [first = '', ...others] = text.split(PAUSE);
  socket.write(numbered(first, number));
  for (const part of others) {
    await delay(PAUSE_MS);
    // Data in one piece with the response cannot reach another visitor: the relay reads and drops it.
    if (part.includes(AFTER) || part.includes(CANARY)) requests.sentUnasked(socket);
    socket.write(numbered(part, number));
  }
  if (number % 2 === 0) socket.end();
}
