/** Hostile responses, from a service behind its own tunnel. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Field, formatRequest } from '../../../support/raw-http.ts';
import { Scope } from '../../../support/scope.ts';
import { startRawService } from '../../../support/services/listen.ts';
import type { Front } from '../../tools/fronts.ts';
import { HonestVisitor } from '../../tools/honest.ts';
import { inParallel } from '../../tools/in-parallel.ts';
import { talk } from '../../tools/talk.ts';
import { type HostileMessage, MARK, numbered, PAUSE } from './case.ts';
import type { Phase } from './request-phase.ts';

const ATTACKERS = 4;
const PATIENCE = { firstMs: 1500, quietMs: 50 };
/** ms: longer than an attacker's visitor waits, so that somebody else may be asking meanwhile. */
const PAUSE_MS = 150;
/**
 * With this field, a request has its local connection to itself. What a service sends unasked on a shared one may be taken
 * for the next response, as it may without a tunnel.
 */
export const LOGIN: readonly Field[] = [['Authorization', 'Basic YTpi']];
const ASKED = /^\S+ \/answer\/(\d+)\/(\d+) /gm;
/** An interim response that says how long it is. */
const INTERIM =
  /^HTTP\/1\.[01] 1\d\d[^\r]*\r\n(?:[^\r]+\r\n)*(?:content-length|transfer-encoding|trailer):/im;

/** @returns the port of a service that responds to `/answer/INDEX/NUMBER` with one of these */
export async function startHostileService(
  scope: Scope,
  responses: readonly HostileMessage[],
): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, index, number] of text.slice(0, end).matchAll(ASKED)) {
        const response = responses[Number(index)];
        if (response !== undefined) void write(socket, response, Number(number));
      }
      text = text.slice(end);
    });
  });
  return port;
}

/** After half of the responses the connection ends; after the others it stays for the next request. */
async function write(socket: Socket, { text }: HostileMessage, number: number): Promise<void> {
  const [first = '', ...others] = text.split(PAUSE);
  socket.write(numbered(first, number));
  for (const part of others) {
    await delay(PAUSE_MS);
    socket.write(numbered(part, number));
  }
  if (number % 2 === 0) socket.end();
}

interface Asked {
  readonly front: Front;
  readonly response: HostileMessage;
  readonly number: number;
}

/**
 * Asks for every response, each way, and lets others ask right after that.
 *
 * @param host of the tunnel to the hostile service
 * @returns how many responses honest visitors got meanwhile
 */
export async function askForResponses(
  phase: Phase,
  responses: readonly HostileMessage[],
  host: string,
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
        await visit(phase, asked, index, host, async () => await visitor?.ask(`behind ${describe(asked)}`));
        if (visitor !== undefined) free.push(visitor);
      });
    }),
  );
  return visitors.reduce((sum, { served }) => sum + served, 0);
}

/** @param meanwhile what somebody else does before the next request of this connection */
async function visit(
  { honest, faults }: Phase,
  asked: Asked,
  index: number,
  host: string,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const { front, response, number } = asked;
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const target = `/answer/${index}/${number}`;
    const request = { host, target, method: response.method ?? 'GET', headers: LOGIN };
    const { text, ended } = await talk(connection, formatRequest(request), PATIENCE);
    await meanwhile();
    const what = `${describe(asked)} reached its visitor as ${JSON.stringify(text.slice(0, 500))}`;
    const own = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) === number);
    if (own.some(([, kind = '']) => mayNotPass(response, kind)) || INTERIM.test(text))
      faults.add('forwarded', what);
    if (isAnothers(text, number, front.name !== 'straight')) faults.add('strayed', what);
    if (response.fate === 'passed' && !text.includes(String(number).padStart(6, '0')))
      faults.add('lost', what);
    if (ended) return;
    const second = await talk(connection, formatRequest({ host: honest.host, target: '/second' }), PATIENCE);
    const isHidden = [...second.text.matchAll(MARK)].some(([, kind]) => kind !== 'm');
    if (isHidden || isAnothers(second.text, number)) {
      faults.add(
        'strayed',
        `${describe(asked)}: the next response was ${JSON.stringify(second.text.slice(0, 500))}`,
      );
    }
  } finally {
    await scope.end();
  }
}

/** What no visitor may get, on any way: the relay is the first to read responses. */
function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm') || (fate === 'any' && kind === 's');
}

/**
 * Whether a response has the mark of another one.
 *
 * @param isShared whether another visitor of the same service was on the same connection: what the service has sent after
 *   its response to that one may be taken for its response to this one, as it may without a tunnel
 */
function isAnothers(text: string, number: number, isShared = false): boolean {
  const others = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) !== number);
  return others.some(([, kind]) => !isShared || kind !== 's');
}

function describe({ front, response, number }: Asked): string {
  return `${front.name}, ${JSON.stringify(response.what)} ${number} ${JSON.stringify(response.text.slice(0, 400))}`;
}
