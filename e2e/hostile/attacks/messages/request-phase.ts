/** Hostile requests to real servers, each behind its own tunnel. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { startApacheSite, startNginxSite } from '../../../support/native-server.ts';
import { Scope } from '../../../support/scope.ts';
import { startHttpService, startRawService } from '../../../support/services/listen.ts';
import { type Faults, inParallel } from '../measure.ts';
import { type Front, talk } from '../fronts.ts';
import { type Honest, HonestVisitor } from '../tenants.ts';
import { type HostileMessage, MARK, numbered } from './cases.ts';

/** A witness with the requests for its tunnel. All witnesses get the same ones, except for the host. */
export interface Target {
  readonly witness: Witness;
  readonly requests: readonly HostileMessage[];
}

export interface Phase {
  readonly scope: Scope;
  readonly fronts: readonly Front[];
  readonly honest: Honest;
  readonly faults: Faults;
  readonly say: (line: string) => void;
}

const ATTACKERS = 4;
const PATIENCE = { firstMs: 1500, quietMs: 50 };
/** ms without another sighting after which none is expected: servers log when a request has ended. */
const SETTLE_MS = 1000;
/** `X-Forwarded-For` of a visitor's request that every hop took for a single request. */
const FROM = { straight: '127.0.0.2', proxied: '127.0.0.2, 127.0.0.1' };

interface Sent {
  readonly front: Front;
  readonly witness: Witness;
  readonly request: HostileMessage;
}

/**
 * Sends every request of the targets to one or all of them, through each front.
 *
 * @param each whether each request goes to each target, instead of to one of them
 * @returns how many responses honest visitors got during that
 */
export async function sendRequests(
  { scope, fronts, honest, faults, say }: Phase,
  targets: readonly Target[],
  each: boolean,
): Promise<number> {
  const sent: Sent[] = [];
  const visitors: HonestVisitor[] = [];
  await Promise.all(
    fronts.map(async (front, offset) => {
      const visitor = new HonestVisitor(scope, honest, front, faults);
      visitors.push(visitor);
      const todo = targets.flatMap(({ witness, requests }, turn) =>
        requests
          .filter((_, index) => each || (index + offset) % targets.length === turn)
          .map((request) => ({ front, witness, request })),
      );
      say(`${todo.length} requests, ${front.name}`);
      let asking = Promise.resolve();
      await inParallel(ATTACKERS, todo, async (one) => {
        sent.push(one);
        const number = sent.length - 1;
        const heard = await send(one, number);
        const theirs = [...heard.matchAll(MARK)].filter(([, , other]) => Number(other) !== number);
        const what = describe(one);
        if (theirs.length > 0 || heard.includes('honest /honest'))
          faults.add('strayed', `${what} got ${heard.slice(0, 300)}`);
        // One request at a time on this connection.
        asking = asking.then(() => visitor.ask(`behind ${what}`));
        await asking;
      });
    }),
  );
  judge(sent, await settled(targets), faults);
  return visitors.reduce((sum, { served }) => sum + served, 0);
}

async function send({ front, request }: Sent, number: number): Promise<string> {
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    return (await talk(connection, numbered(request.text, number), PATIENCE)).text;
  } finally {
    await scope.end();
  }
}

/** All sightings, once their number is stable. */
async function settled(targets: readonly Target[]): Promise<Sighting[]> {
  for (let last = -1, since = performance.now(); ; await delay(100)) {
    const all = targets.flatMap(({ witness }) => witness.sightings());
    if (all.length !== last) [last, since] = [all.length, performance.now()];
    if (performance.now() - since > SETTLE_MS) return all;
  }
}

function judge(sent: readonly Sent[], sightings: readonly Sighting[], faults: Faults): void {
  const passedOn = new Set<number>();
  for (const sighting of sightings) {
    const one = sent[sighting.number];
    if (one === undefined) throw new Error(`nobody has sent number ${sighting.number}`);
    const { server, kind, number, from } = sighting;
    if (kind === 'm') passedOn.add(number);
    const isStraight = one.front.name === 'straight';
    const what = `${describe(one)}: ${server} saw ${kind === 's' ? 'the hidden request' : 'it'}`;
    if (isStraight && mayNotPass(one.request, kind)) faults.add('forwarded', what);
    const expected = isStraight ? FROM.straight : FROM.proxied;
    if (kind !== 'a' && from !== undefined && from !== expected) {
      faults.add('strayed', `${what} as if it came from ${JSON.stringify(from)}`);
    }
  }
  for (const [number, one] of sent.entries()) {
    if (one.front.name !== 'straight' || one.request.fate !== 'passed' || passedOn.has(number)) continue;
    faults.add('lost', `${describe(one)} was not passed on`);
  }
}

/**
 * What may not reach a service. Only checked without a proxy, which may have turned an ambiguous request into a clear
 * one.
 */
function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm');
}

function describe({ front, witness, request }: Sent): string {
  return `${front.name} to ${witness.name}, ${JSON.stringify(request.what)} ${JSON.stringify(request.text.slice(0, 400))}`;
}

/** The requests received on a connection to a hostile service, and whether unsolicited data was sent on it. */
interface Connection {
  readonly requests: Set<number>;
  isOutOfStep: boolean;
}

/**
 * Which requests a hostile service received on which connection. Once it has sent an unsolicited response, that may be
 * taken for the one to the next request on this connection, the next request's for the one after that, and so on.
 * Proxies send the requests of several visitors on one connection, so it may also happen to them without a tunnel.
 */
export class AnsweredRequests {
  readonly #connections = new Map<object, Connection>();

  /** Records a request. */
  asked(connection: object, number: number): void {
    this.#of(connection).requests.add(number);
  }

  /** Records data that was sent on a connection after the response to its last request. */
  sentUnasked(connection: object): void {
    this.#of(connection).isOutOfStep = true;
  }

  /** Whether a request has been received, and only on connections without unsolicited data. */
  isInStep(number: number): boolean {
    const connections = this.#with(number);
    return connections.length > 0 && !connections.some(({ isOutOfStep }) => isOutOfStep);
  }

  /**
   * Whether the service may have caused a visitor to take the response to one request for that to another.
   *
   * @param other the number of the request that got it; the service may not have received it yet
   */
  mayStray(number: number, other: number): boolean {
    const ofOther = this.#with(other);
    return this.#with(number).some(
      (connection) => connection.isOutOfStep && (ofOther.length === 0 || ofOther.includes(connection)),
    );
  }

  #of(connection: object): Connection {
    const known = this.#connections.get(connection) ?? { requests: new Set(), isOutOfStep: false };
    this.#connections.set(connection, known);
    return known;
  }

  #with(number: number): Connection[] {
    return [...this.#connections.values()].filter(({ requests }) => requests.has(number));
  }
}

/* Services that record which marked requests they have seen: three real servers, and one that only scans bytes. */

/** A mark that has reached a service. */
export interface Sighting {
  readonly server: string;
  readonly kind: string;
  readonly number: number;
  /**
   * The addresses that each proxy and the relay have added; `undefined` if only bytes were scanned. If one of them did
   * not recognize a request, it has fewer addresses.
   */
  readonly from: string | undefined;
}

export interface Witness {
  readonly name: string;
  readonly port: number;
  /** everything that it has seen */
  sightings(): readonly Sighting[];
}

/** Fields of a marked request, as nginx and Apache log them. */
const LOG_LINE = {
  nginx: '$http_case|$http_x_forwarded_for',
  apache: '%{Case}i|%{X-Forwarded-For}i',
};

export async function startWitnesses(scope: Scope): Promise<readonly Witness[]> {
  const [nginx, apache] = [await startNginxSite(scope, LOG_LINE), await startApacheSite(scope, LOG_LINE)];
  return [
    await startNode(scope),
    await startLooker(scope),
    { name: 'nginx', port: nginx.port, sightings: () => fromLog('nginx', nginx.log) },
    { name: 'apache', port: apache.port, sightings: () => fromLog('apache', apache.log) },
  ];
}

/** Node's server, which responds with what it has seen. */
async function startNode(scope: Scope): Promise<Witness> {
  const name = 'node';
  const seen: Sighting[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const from = request.headersDistinct['x-forwarded-for']?.join();
    const mark = String(request.headers['case']);
    seen.push(...marksIn(mark, name, from));
    const body = await text(request);
    // The content of a body is a request only to parsers that disagree about its length.
    const behind = `${body} ${request.rawTrailers.join(' ')}`;
    seen.push(...marksIn(behind, name, from).filter(({ kind }) => kind === 'a'));
    response.end(`seen: ${mark}\n`);
  }
  const { port } = await startHttpService(scope, (request, response) => {
    answer(request, response).catch(() => request.destroy());
  });
  return { name, port, sightings: () => seen };
}

/** Scans bytes for marks, so it cannot tell a hidden request from a body. */
async function startLooker(scope: Scope): Promise<Witness> {
  const name = 'bytes';
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
  return {
    name,
    port,
    sightings: () => connections.flatMap(({ bytes }) => marksIn(bytes, name, undefined)),
  };
}

function fromLog(name: string, log: string): Sighting[] {
  const lines = readFileSync(log, 'latin1').split('\n');
  return lines.flatMap((line) => {
    const [mark = '', from = ''] = line.split('|');
    return marksIn(mark, name, from);
  });
}

function marksIn(bytes: string, server: string, from: string | undefined): Sighting[] {
  return [...bytes.matchAll(MARK)].map(([, kind = '', number]) => ({
    server,
    kind,
    number: Number(number),
    from,
  }));
}
