/** Hostile answers, of a service behind a tunnel of its own. */
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
 * With it a request has its local connection for itself. What a service says unasked on one that is shared may be taken for the
 * next answer, as it may without a tunnel.
 */
export const LOGIN: readonly Field[] = [['Authorization', 'Basic YTpi']];
const ASKED = /^\S+ \/answer\/(\d+)\/(\d+) /gm;
/** An interim answer that says how long it is. */
const INTERIM =
  /^HTTP\/1\.[01] 1\d\d[^\r]*\r\n(?:[^\r]+\r\n)*(?:content-length|transfer-encoding|trailer):/im;

/** @returns the port of a service that answers `/answer/INDEX/NUMBER` with one of these */
export async function startHostileService(scope: Scope, answers: readonly HostileMessage[]): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, index, number] of text.slice(0, end).matchAll(ASKED)) {
        const answer = answers[Number(index)];
        if (answer !== undefined) void write(socket, answer, Number(number));
      }
      text = text.slice(end);
    });
  });
  return port;
}

/** Half of the answers end with their connection; the others leave it for the next request. */
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
  readonly answer: HostileMessage;
  readonly number: number;
}

/**
 * Asks for every answer, each way, and lets others ask right behind.
 *
 * @param host of the tunnel to the hostile service
 * @returns answers that honest visitors got meanwhile
 */
export async function askForAnswers(
  phase: Phase,
  answers: readonly HostileMessage[],
  host: string,
): Promise<number> {
  const { scope, fronts, honest, faults, say } = phase;
  let next = 0;
  const visitors: HonestVisitor[] = [];
  await Promise.all(
    fronts.map(async (front) => {
      say(`${answers.length} answers, ${front.name}`);
      const free = Array.from({ length: ATTACKERS }, () => new HonestVisitor(scope, honest, front, faults));
      visitors.push(...free);
      await inParallel(ATTACKERS, answers.entries(), async ([index, answer]) => {
        next += 1;
        const asked = { front, answer, number: next };
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
  const { front, answer, number } = asked;
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const target = `/answer/${index}/${number}`;
    const request = { host, target, method: answer.method ?? 'GET', headers: LOGIN };
    const { text, ended } = await talk(connection, formatRequest(request), PATIENCE);
    await meanwhile();
    const what = `${describe(asked)} reached its visitor as ${JSON.stringify(text.slice(0, 500))}`;
    const own = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) === number);
    if (own.some(([, kind = '']) => mayNotPass(answer, kind)) || INTERIM.test(text))
      faults.add('forwarded', what);
    if (isAnothers(text, number, front.name !== 'straight')) faults.add('strayed', what);
    if (answer.fate === 'passed' && !text.includes(String(number).padStart(6, '0'))) faults.add('lost', what);
    if (ended) return;
    const second = await talk(connection, formatRequest({ host: honest.host, target: '/second' }), PATIENCE);
    const isHidden = [...second.text.matchAll(MARK)].some(([, kind]) => kind !== 'm');
    if (isHidden || isAnothers(second.text, number)) {
      faults.add(
        'strayed',
        `${describe(asked)}: the next answer was ${JSON.stringify(second.text.slice(0, 500))}`,
      );
    }
  } finally {
    await scope.end();
  }
}

/** What no visitor may get, either way: it is the relay that reads answers first. */
function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm') || (fate === 'any' && kind === 's');
}

/**
 * Whether an answer has the mark of another one.
 *
 * @param isShared whether another visitor of the same service was on the same connection: what the service has said behind the
 * answer to that one may be taken for its answer to this one, as it may without a tunnel
 */
function isAnothers(text: string, number: number, isShared = false): boolean {
  const others = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) !== number);
  return others.some(([, kind]) => !isShared || kind !== 's');
}

function describe({ front, answer, number }: Asked): string {
  return `${front.name}, ${JSON.stringify(answer.what)} ${number} ${JSON.stringify(answer.text.slice(0, 400))}`;
}
