/** The ways in which visitors, services and clients leave while a response is on its way. */
import { setTimeout as delay } from 'node:timers/promises';
import { createAccount } from '../../../support/accounts.ts';
import { eventually } from '../../../support/deadline.ts';
import { Culvert, type Relay } from '../../../support/programs.ts';
import { formatRequest } from '../../../support/raw-http.ts';
import { Scope } from '../../../support/scope.ts';
import type { Service } from '../../../support/services/listen.ts';
import { SHIPPED } from '../../../support/shipped-proxies.ts';
import type { Faults } from '../../tools/faults.ts';
import type { Front } from '../../tools/fronts.ts';
import { inParallel } from '../../tools/in-parallel.ts';
import { contentOf, FRAMINGS } from './service.ts';
import { type Outcome, outcomeOf, type Question } from './outcome.ts';

const AT_A_TIME = 50;
/** Visitors of one client that is killed or frozen; its tunnel is useless afterwards. */
const OF_A_CLIENT = 50;
/** ms that a visitor of something that has left waits at most, on a busy machine: 10 s for a client, and the way. */
const PATIENCE_MS = 30_000;
/** ms until a client that froze counts as gone: 30 s to a ping, 60 s for its pong; then 10 s, and the way. */
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

/** Visitors leave at any moment; what they leave behind is counted at the end. */
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
      // A visitor that has asked and closes may just have nothing more to send: nobody can tell until there is a response.
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

/** Visitors have sent everything, and still want their response. */
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

/** Clients freeze while they serve; in a short run they go on before anybody can notice. */
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
    // A few get a response first: their data sockets and local connections are kept.
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
