import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../support/accounts.ts';
import { eventually } from '../../support/deadline.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { formatRequest, type RawConnection, type Request, type Response } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { type Service, startRawService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, inParallel } from './measure.ts';
import { type Front, straight } from './fronts.ts';

type Figure = 'wrong' | 'endless' | 'leftBehind';

const COUNT = { whole: 1000, short: 50 };

testAttack<Figure>({
  name: 'leaving-and-breaking',
  title:
    'Visitors leave at every possible moment or half-close their connections, local services stop in the middle of a response, and clients are killed or freeze',
  thresholds: {
    wrong: { meaning: 'connections that ended in the wrong way', atMost: 0 },
    endless: { meaning: 'visitors whose connection never ended', atMost: 0 },
    leftBehind: {
      meaning: 'times that a local connection stayed open after its visitor had left',
      atMost: 0,
    },
  },

  async run({ scope, short, say }) {
    const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
    // All waiting visitors use the same address.
    const settings = { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    const relay = await Relay.start(scope, settings);
    const faults = new Faults();
    const count = short ? COUNT.short : COUNT.whole;
    const stageOf = async (): Promise<Stage> => {
      const service = await startService(scope);
      const { key } = await createAccount(relay);
      const address = { url: `http://127.0.0.1:${relay.port}` };
      const { tunnel } = await Culvert.start(scope, address, key, service.port);
      const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
      return { scope, relay, front: straight(relay.port), service, host, faults, count };
    };
    // They mostly wait.
    const freezing = frozenClients(await stageOf(), short);
    say(`${count} visitors leave`);
    await leavingVisitors(await stageOf());
    say(`${count} answers are cut`);
    await truncatingServices(await stageOf());
    say(`${count} visitors half-close`);
    await halfClosedVisitors(await stageOf());
    say(`clients with ${count} visitors are killed`);
    await leavingClients(await stageOf());
    say(`clients with ${count} visitors freeze`);
    await freezing;
    return {
      figures: faults.counts('wrong', 'endless', 'leftBehind'),
      faults: faults.first,
    };
  },
});

/**
 * - `whole`: a complete and correct response of the service
 * - `refused`: a complete error response of the relay itself
 * - `broken`: the connection broke, so that a partial response does not look complete
 * - `wrong`: the response looks complete, but is not
 * - `endless`: no response within the longest permitted wait
 */
export type Outcome = 'whole' | 'refused' | 'broken' | 'wrong' | 'endless';

/** A visitor's request, and the expected response. */
export interface Question {
  readonly request: Request;
  readonly content: string;
}

/**
 * Sends a request, and reads to the end.
 *
 * @param patienceMs how long the visitor waits for the next byte
 * @param behind called once the request is written
 */
export async function outcomeOf(
  front: Front,
  question: Question,
  patienceMs: number,
  behind: (visitor: RawConnection) => void = () => {},
): Promise<Outcome> {
  const scope = new Scope();
  try {
    const visitor = await front.open(scope, { timeoutMs: patienceMs });
    await visitor.write(formatRequest(question.request));
    behind(visitor);
    return judge(await visitor.response(question.request.method), question.content);
  } catch (error) {
    return String(error).includes('no bytes within') ? 'endless' : 'broken';
  } finally {
    await scope.end();
  }
}

function judge({ status, head, text }: Response, content: string): Outcome {
  if (status === 200 && text === content) return 'whole';
  return head.field('culvert-error') === undefined ? 'wrong' : 'refused';
}

/* A service that responds as its visitors ask: completely, cut at any point, slowly, or never. */

/** How a response indicates its end. */
export const FRAMINGS = ['length', 'chunked'] as const;

const REQUEST = /^\S+ \/(\w+)\/(\w+)\/(\d+)\/(\d+) /;
/** ms until a slow response. By then a visitor has half-closed, or left. */
const SLOW_MS = 100;
const TICK_MS = 50;

/** The content of a response, which depends only on the numbers. */
export function contentOf(number: number, size: number): string {
  return `content ${number} `.padEnd(size, 'x');
}

/**
 * Starts the service. Targets are `/HOW/FRAMING/NUMBER/SIZE`, where HOW is
 *
 * - `whole`: immediately; `slow`: a moment after the request is complete; `ticking`: one piece after the other without
 * an end;
 *   `never`: nothing
 * - `cut` and `reset`: ends in the middle, in either way, at a point that depends on the number
 */
export async function startService(scope: Scope): Promise<Service> {
  return await startRawService(scope, (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
      if (end === -1 || text.length < end + 4 + length) return;
      const [, how = '', framing = '', number = '', size = ''] = REQUEST.exec(text) ?? [];
      text = '';
      respond(socket, how, responseOf(framing, contentOf(Number(number), Number(size))), Number(number));
    });
    // A waiting visitor may have sent everything it has to send.
    socket.on('end', () => setTimeout(() => socket.end(), 2 * SLOW_MS));
  });
}

function respond(socket: Socket, how: string, whole: string, number: number): void {
  if (how === 'whole') socket.write(whole);
  if (how === 'slow') setTimeout(() => socket.write(whole), SLOW_MS);
  if (how === 'ticking') {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const ticking = setInterval(() => socket.write('4\r\ntick\r\n'), TICK_MS);
    socket.once('close', () => clearInterval(ticking));
  }
  if (how === 'cut' || how === 'reset') {
    // Anywhere: in the head, right after it, in the body, one byte before its end.
    const at = number % 7 === 0 ? whole.length - 1 : 1 + ((number * 7919) % (whole.length - 1));
    socket.write(whole.slice(0, at), () => {
      if (how === 'cut') socket.end();
      else setTimeout(() => socket.resetAndDestroy(), 5);
    });
  }
}

function responseOf(framing: string, content: string): string {
  return framing === 'chunked'
    ? `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`
    : `HTTP/1.1 200 OK\r\nContent-Length: ${content.length}\r\n\r\n${content}`;
}

const AT_A_TIME = 50;
/** Visitors of one client that is killed or frozen. Its tunnel is not used afterwards. */
const OF_A_CLIENT = 50;
/**
 * ms that a visitor waits at most after the other side has left, on a busy machine: 10 s for a client, and
 * transmission.
 */
const PATIENCE_MS = 30_000;
/** ms until a client that froze counts as gone: 30 s to a ping, 60 s for its pong, then 10 s, and transmission. */
const FROZEN_PATIENCE_MS = 130_000;
const SHORT_FREEZE_MS = 3000;
const BODY = 'x'.repeat(20_000);

export interface Stage {
  readonly scope: Scope;
  readonly relay: Relay;
  readonly front: Front;
  readonly service: Service;
  /** of the tunnel to the service */
  readonly host: string;
  readonly faults: Faults;
  /** how many of each kind */
  readonly count: number;
}

/** Visitors leave at any moment. Whatever they leave behind is counted at the end. */
export async function leavingVisitors({ front, host, service, count, faults }: Stage): Promise<void> {
  await inParallel(AT_A_TIME, Array(count).keys(), async (number) => {
    const scope = new Scope();
    try {
      const visitor = await front.open(scope);
      const how = number % 2 === 0 ? 'ticking' : 'never';
      const whole = formatRequest({ host, method: 'POST', target: `/${how}/chunked/1/1`, body: BODY });
      // In the head, in the body, while waiting, in the response.
      const moment = number % 4;
      const length = [whole.length - BODY.length - 10, whole.length - 100, whole.length, whole.length][
        moment
      ];
      await visitor.write(whole.subarray(0, length));
      if (moment === 3 && how === 'ticking') await visitor.finalHead();
      else await delay(number % 50);
      // A visitor that closes after its request may just have nothing more to send: nobody can tell until there is a
      // response.
      const mayWait = moment >= 2 && how === 'never';
      if (number % 3 === 0 || mayWait) visitor.reset();
      else visitor.socket.destroy();
    } finally {
      await scope.end();
    }
  });
  await eventually(PATIENCE_MS, () => {
    if (service.open.size > 0) throw new Error(`${service.open.size} local connections are open`);
  }).catch((error: unknown) => faults.add('leftBehind', String(error)));
}

/** Services end before their response does. */
export async function truncatingServices(stage: Stage): Promise<void> {
  await inParallel(AT_A_TIME, Array(stage.count).keys(), async (number) => {
    const how = number % 2 === 0 ? 'cut' : 'reset';
    const question = ask(stage.host, how, number, 100 + (number % 5) * 20_000);
    const version = number % 3 === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
    const request = { ...question.request, version };
    const outcome = await outcomeOf(stage.front, { ...question, request }, PATIENCE_MS);
    expect(stage, outcome, ['broken', 'refused'], `${how} ${version} ${request.target}`);
  });
}

/** Visitors have sent everything, and still expect their response. */
export async function halfClosedVisitors(stage: Stage): Promise<void> {
  await inParallel(AT_A_TIME, Array(stage.count).keys(), async (number) => {
    const question = ask(stage.host, number % 2 === 0 ? 'whole' : 'slow', number, 1 + (number % 3) * 50_000);
    const body = number % 4 < 2 ? {} : { method: 'POST', body: BODY };
    const request = { ...question.request, ...body };
    const outcome = await outcomeOf(stage.front, { ...question, request }, PATIENCE_MS, (visitor) =>
      visitor.halfClose(),
    );
    expect(stage, outcome, ['whole'], `half-closed ${JSON.stringify(question.request)}`);
  });
}

/** Clients are killed while they serve. */
export async function leavingClients(stage: Stage): Promise<void> {
  await eachClient(stage, async (culvert, visits) => {
    await delay(100);
    culvert.child.kill('SIGKILL');
    for (const [what, outcome] of await visits(PATIENCE_MS)) {
      expect(stage, outcome, ['whole', 'broken', 'refused'], `client killed, ${what}`);
    }
  });
}

/** Clients freeze while they serve. In a short run they resume before it can be noticed. */
export async function frozenClients(stage: Stage, short: boolean): Promise<void> {
  await eachClient(stage, async (culvert, visits) => {
    await delay(100);
    culvert.child.kill('SIGSTOP');
    const all = visits(FROZEN_PATIENCE_MS);
    if (short) {
      await delay(SHORT_FREEZE_MS);
      culvert.child.kill('SIGCONT');
    }
    const allowed: readonly Outcome[] = short ? ['whole'] : ['whole', 'broken', 'refused'];
    for (const [what, outcome] of await all) expect(stage, outcome, allowed, `client frozen, ${what}`);
    culvert.child.kill('SIGKILL');
  });
}

type Visits = (patienceMs: number) => Promise<(readonly [what: string, outcome: Outcome])[]>;

/** Starts clients, each with its own visitors: some before it leaves, some after. */
async function eachClient(
  stage: Stage,
  serve: (culvert: Culvert, visits: Visits) => Promise<void>,
): Promise<void> {
  const { scope, relay, front, service, count } = stage;
  const clients = Array(Math.ceil(count / OF_A_CLIENT)).keys();
  await inParallel(4, clients, async (client) => {
    const { key } = await createAccount(relay);
    const address = { url: `http://127.0.0.1:${relay.port}` };
    const culvert = await Culvert.start(scope, address, key, service.port);
    const host = `${culvert.tunnel.slug}.${SHIPPED.tunnelDomain}`;
    const visit = async (number: number, patienceMs: number): Promise<readonly [string, Outcome]> => {
      const { request, content } = ask(host, number % 2 === 0 ? 'slow' : 'whole', number, 1000);
      const method = number % 4 < 2 ? {} : { method: 'POST', body: BODY };
      const question = { request: { ...request, ...method }, content };
      return [`${method.method ?? 'GET'} ${request.target}`, await outcomeOf(front, question, patienceMs)];
    };
    const first = client * OF_A_CLIENT;
    const numbers = Array.from({ length: OF_A_CLIENT }, (_, index) => first + index);
    // A few get a response first, so that their data sockets and local connections are kept.
    await Promise.all(numbers.slice(0, 5).map((number) => visit(number, PATIENCE_MS)));
    const before = numbers
      .filter((number) => number % 3 === 0)
      .map((number) => visit(number, FROZEN_PATIENCE_MS));
    await serve(culvert, async (patienceMs) => {
      const behind = numbers.filter((number) => number % 3 !== 0).map((number) => visit(number, patienceMs));
      return await Promise.all([...before, ...behind]);
    });
  });
}

function ask(host: string, how: string, number: number, size: number): Question {
  const framing = FRAMINGS[number % FRAMINGS.length] ?? 'length';
  const target = `/${how}/${framing}/${number}/${size}`;
  return { request: { host, target }, content: contentOf(number, size) };
}

function expect({ faults }: Stage, outcome: Outcome, allowed: readonly Outcome[], what: string): void {
  if (allowed.includes(outcome)) return;
  faults.add(outcome === 'endless' ? 'endless' : 'wrong', `${what}: ${outcome}`);
}
