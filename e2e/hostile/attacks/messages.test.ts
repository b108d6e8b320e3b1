/**
 * Hostile requests and responses, directly and through the shipped proxies, whose connections to the relay serve other
 * visitors as well. Which of them may pass follows from RFC 9112 and protocol.md (messages/cases.ts).
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../support/accounts.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { type Field, formatRequest } from '../../support/raw-http.ts';
import { Scope, suiteScope } from '../../support/scope.ts';
import { startHttpService, startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { Faults, inParallel, sample, SEED } from './attack.ts';
import { type Front, startFronts, talk } from './fronts.ts';
import { AFTER, CANARY, type HostileMessage, MARK, numbered, PAUSE } from './messages/cases.ts';
import { hostileRequests } from './messages/requests.ts';
import { hostileResponses } from './messages/responses.ts';
import { type Honest, HonestVisitor, startHonest } from './tenants.ts';

/** Messages of each kind, through each front. */
const REQUESTS = 130;
const RESPONSES = 80;
const ATTACKERS = 4;
const PATIENCE = { firstMs: 1500, quietMs: 50 };
/** For a response that must arrive, even on a busy machine. */
const LONG_PATIENCE = { ...PATIENCE, firstMs: 20_000 };
/** ms without another sighting after which none is expected. */
const SETTLE_MS = 1000;
/** ms: longer than a visitor of the attacker waits, so that another visitor may be sending a request in that time. */
const PAUSE_MS = 150;
/** `X-Forwarded-For` of a visitor's request that every hop took for a single request. */
const FROM = { straight: '127.0.0.2', proxied: '127.0.0.2, 127.0.0.1' };
/** Gives a request a dedicated local connection. */
const LOGIN: readonly Field[] = [['Authorization', 'Basic YTpi']];
/** An informational response with a Content-Length. */
const INTERIM =
  /^HTTP\/1\.[01] 1\d\d[^\r]*\r\n(?:[^\r]+\r\n)*(?:content-length|transfer-encoding|trailer):/im;

interface Sent {
  readonly front: Front;
  readonly message: HostileMessage;
  readonly number: number;
}

/** A mark that has reached a service. */
interface Sighting {
  readonly kind: string;
  readonly number: number;
  /** the addresses that each proxy and the relay have added; fewer if one of them did not recognize a request */
  readonly from?: string | undefined;
}

describe('hostile messages', () => {
  const scope = suiteScope();
  let relay: Relay;
  let fronts: readonly Front[];
  let honest: Honest;
  let key: string;

  before(async () => {
    ({ relay, fronts } = await startFronts(scope));
    honest = await startHonest(scope, relay);
    ({ key } = await createAccount(relay));
  });

  async function hostOf(port: number): Promise<string> {
    const { tunnel } = await Culvert.start(scope, { url: `http://127.0.0.1:${relay.port}` }, key, port);
    return `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
  }

  /** Sends messages through every front, at each of them {@link ATTACKERS} at a time, each with its own visitor. */
  async function through(
    messages: readonly HostileMessage[],
    faults: Faults,
    act: (sent: Sent, index: number, others: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    let next = 0;
    const visitors = fronts.map(async (front) => {
      const free = Array.from({ length: ATTACKERS }, () => new HonestVisitor(scope, honest, front, faults));
      const all = [...free];
      await inParallel(ATTACKERS, messages.entries(), async ([index, message]) => {
        const sent = { front, message, number: next };
        next += 1;
        const visitor = free.pop() ?? assert.fail('there are as many visitors as attackers');
        await act(sent, index, () => visitor.ask(`behind ${describeSent(sent)}`));
        free.push(visitor);
      });
      return all.reduce((sum, { served }) => sum + served, 0);
    });
    const served = (await Promise.all(visitors)).reduce((sum, count) => sum + count, 0);
    assert.ok(served >= messages.length * fronts.length * 0.9, `${served} visitors were served`);
  }

  it('to a service pass as a whole or not at all, and none becomes part of another one', async () => {
    const faults = new Faults();
    for (const [turn, witness] of [await startNode(scope), await startLooker(scope)].entries()) {
      const hosts = { host: await hostOf(witness.port), victim: honest.host, relay: SHIPPED.relayHost };
      const requests = sample(hostileRequests(hosts), REQUESTS / 2, new Random(SEED, turn));
      const sent: Sent[] = [];
      await through(requests, faults, async (one, _index, others) => {
        sent[one.number] = one;
        const part = new Scope();
        const connection = await one.front.open(part);
        const { text } = await talk(connection, numbered(one.message.text, one.number), PATIENCE);
        await part.end();
        if (marksOfOthers(text, one.number).length > 0 || text.includes('honest /honest'))
          faults.add('strayed', `${describeSent(one)} got ${text.slice(0, 300)}`);
        await others();
      });
      judge(sent, await settled(witness.sightings), faults);
    }
    faults.assertNone();
  });

  it('of a service reach their visitor in strict form or not at all, and nobody else', async () => {
    const faults = new Faults();
    const responses = sample(hostileResponses(), RESPONSES, new Random(SEED));
    // What is sent unasked may be taken for the response to the next visitor of the same service, as it may without a
    // tunnel. So these come last.
    for (const all of [responses.filter((each) => !isUnasked(each)), responses.filter(isUnasked)]) {
      const host = await hostOf(await startHostileService(scope, all));
      await through(all, faults, (sent, index, others) =>
        askFor(sent, { host, index, isUnasked: isUnasked(sent.message) }, honest.host, faults, others),
      );
    }
    faults.assertNone();
  });
});

/** Asks for a response of the hostile service, and for another one on the same connection. */
async function askFor(
  sent: Sent,
  at: { readonly host: string; readonly index: number; readonly isUnasked: boolean },
  honestHost: string,
  faults: Faults,
  others: () => Promise<void>,
): Promise<void> {
  const { front, message, number } = sent;
  const { fate, method = 'GET' } = message;
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const request = { host: at.host, target: `/answer/${at.index}/${number}`, method, headers: LOGIN };
    const isStraight = front.name === 'straight';
    const isDue = fate === 'passed' || (fate === 'mended' && isStraight);
    const patience = isDue ? LONG_PATIENCE : PATIENCE;
    const { text, ended } = await talk(connection, formatRequest(request), patience);
    await others();
    const what = `${describeSent(sent)} reached its visitor as ${JSON.stringify(text.slice(0, 500))}`;
    const own = [...text.matchAll(MARK)].filter(([, , other]) => Number(other) === number);
    const isStrict = fate !== 'mended' || own.length === 0 || hasStrictHead(text);
    // No front makes up for it: the relay is the first to parse responses.
    const isForbidden = own.some(
      ([, kind = '']) => mayNotPass(message, kind) || (fate === 'any' && kind === 's'),
    );
    if (isForbidden || INTERIM.test(text) || !isStrict) faults.add('forwarded', what);
    if (at.isUnasked && !isStraight) return;
    if (marksOfOthers(text, number).length > 0) faults.add('strayed', what);
    if (isDue && !text.includes(padded(number))) faults.add('lost', what);
    if (ended) return;
    const next = formatRequest({ host: honestHost, target: '/second' });
    const second = (await talk(connection, next, PATIENCE)).text;
    if (hasStrayMark(second) || marksOfOthers(second, number).length > 0)
      faults.add(
        'strayed',
        `${describeSent(sent)}: the next response was ${JSON.stringify(second.slice(0, 500))}`,
      );
  } finally {
    await scope.end();
  }
}

function judge(sent: readonly Sent[], sightings: readonly Sighting[], faults: Faults): void {
  const passed = new Set<number>();
  for (const { kind, number, from } of sightings) {
    const one = sent[number] ?? assert.fail(`nobody has sent number ${number}`);
    if (kind === 'm') passed.add(number);
    const isStraight = one.front.name === 'straight';
    const what = `${describeSent(one)}: a service saw ${kind === 's' ? 'the hidden request' : 'it'}`;
    // A proxy may have turned an ambiguous request into a clear one.
    if (isStraight && mayNotPass(one.message, kind)) faults.add('forwarded', what);
    const expected = isStraight ? FROM.straight : FROM.proxied;
    if (kind !== 'a' && from !== undefined && from !== expected)
      faults.add('strayed', `${what} as if it came from ${JSON.stringify(from)}`);
  }
  for (const one of sent)
    if (one.front.name === 'straight' && one.message.fate === 'passed' && !passed.has(one.number))
      faults.add('lost', `${describeSent(one)} was not passed on`);
}

/** All sightings, once their number is stable. */
async function settled(look: () => readonly Sighting[]): Promise<readonly Sighting[]> {
  for (let last = -1, since = performance.now(); ; await delay(100)) {
    const all = look();
    if (all.length !== last) [last, since] = [all.length, performance.now()];
    if (performance.now() - since > SETTLE_MS) return all;
  }
}

function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm');
}

/** Whether every line of the head ends in CRLF, and at most one field determines the length of the body. */
function hasStrictHead(text: string): boolean {
  const head = text.slice(0, text.indexOf('\r\n\r\n'));
  const framing = head.match(/^(?:content-length|transfer-encoding)[ \t]*:/gim) ?? [];
  return /^HTTP\/1\.[01] \d{3} /.test(head) && !/(?<!\r)\n|\r(?!\n)/.test(head) && framing.length <= 1;
}

/** Whether a service sends more than its response, after a while. */
function isUnasked({ text }: HostileMessage): boolean {
  return text.split(PAUSE).slice(1).some(hasStray);
}

function hasStray(part: string): boolean {
  return part.includes(AFTER) || part.includes(CANARY);
}

function hasStrayMark(text: string): boolean {
  return [...text.matchAll(MARK)].some(([, kind]) => kind !== 'm');
}

function marksOfOthers(text: string, number: number): RegExpExecArray[] {
  return [...text.matchAll(MARK)].filter(([, , other]) => Number(other) !== number);
}

function describeSent({ front, message, number }: Sent): string {
  return `${front.name}, ${JSON.stringify(message.what)} ${number} ${JSON.stringify(message.text.slice(0, 400))}`;
}

function padded(number: number): string {
  return String(number).padStart(6, '0');
}

/* Services that record which marks they have seen, and one that sends hostile responses. */

interface Witness {
  readonly port: number;
  readonly sightings: () => readonly Sighting[];
}

/** Node's server, which responds with what it has seen. */
async function startNode(scope: Scope): Promise<Witness> {
  const seen: Sighting[] = [];
  const { port } = await startHttpService(scope, (request, response) => {
    const from = request.headersDistinct['x-forwarded-for']?.join();
    const mark = String(request.headers['case']);
    seen.push(...marksIn(mark, from));
    const answer = async (): Promise<void> => {
      const body = await textOf(request);
      // The content of a body is a request only to parsers that disagree about its length.
      const behind = marksIn(`${body} ${request.rawTrailers.join(' ')}`, from);
      seen.push(...behind.filter(({ kind }) => kind === 'a'));
      response.end(`seen: ${mark}\n`);
    };
    answer().catch(() => request.destroy());
  });
  return { port, sightings: () => seen };
}

/** Scans bytes for marks, so it cannot tell a hidden request from a body. */
async function startLooker(scope: Scope): Promise<Witness> {
  const connections: { bytes: string }[] = [];
  const { port } = await startRawService(scope, (socket) => {
    const connection = { bytes: '' };
    connections.push(connection);
    socket.on('data', (piece: Buffer) => {
      connection.bytes += piece.toString('latin1');
      if (piece.includes('\r\n\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    socket.on('end', () => socket.end());
  });
  return { port, sightings: () => connections.flatMap(({ bytes }) => marksIn(bytes)) };
}

function marksIn(bytes: string, from?: string): Sighting[] {
  return [...bytes.matchAll(MARK)].map(([, kind = '', number]) => ({ kind, number: Number(number), from }));
}

/**
 * Starts a service that responds to `/answer/INDEX/NUMBER` with the response of that index. The connection ends after
 * half of them, and stays open for the next request after the others.
 *
 * @returns its port
 */
async function startHostileService(scope: Scope, responses: readonly HostileMessage[]): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('end', () => socket.end());
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, index, number] of text.slice(0, end).matchAll(/^\S+ \/answer\/(\d+)\/(\d+) /gm))
        void respond(socket, responses[Number(index)]?.text ?? '', Number(number));
      text = text.slice(end);
    });
  });
  return port;
}

async function respond(socket: Socket, text: string, number: number): Promise<void> {
  const [first = '', ...others] = text.split(PAUSE);
  socket.write(numbered(first, number));
  for (const part of others) {
    await delay(PAUSE_MS);
    socket.write(numbered(part, number));
  }
  if (number % 2 === 0) socket.end();
}
