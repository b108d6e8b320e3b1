/** Hostile requests, to real servers, each behind its own tunnel. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Faults } from '../../tools/faults.ts';
import type { Front } from '../../tools/fronts.ts';
import { HonestVisitor, type Honest } from '../../tools/honest.ts';
import { inParallel } from '../../tools/in-parallel.ts';
import { talk } from '../../tools/talk.ts';
import type { Sighting, Witness } from './witnesses.ts';
import { Scope } from '../../../support/scope.ts';
import { type HostileMessage, MARK, numbered } from './case.ts';

/** A witness with the requests for the tunnel that leads to it; all have the same ones, but for the host. */
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
/** ms without another sighting after which no more are expected: servers log when a request has ended. */
const SETTLE_MS = 1000;
/** `X-Forwarded-For` of a visitor's request that everybody took for a single request. */
const FROM = { straight: '127.0.0.2', proxied: '127.0.0.2, 127.0.0.1' };

interface Sent {
  readonly front: Front;
  readonly witness: Witness;
  readonly request: HostileMessage;
}

/**
 * Sends every request of the targets to some or all of them, each way.
 *
 * @param each whether each request goes to each target, instead of to one of them
 * @returns how many responses honest visitors got meanwhile
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
        // One at a time on its connection.
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

/** All sightings, once there are no more of them. */
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
 * What may not reach a service. Only checked for the straight way: a proxy may have turned an ambiguous request into a clear
 * one.
 */
function mayNotPass({ fate }: HostileMessage, kind: string): boolean {
  return fate === 'refused' || (fate === 'broken' && kind !== 'm');
}

function describe({ front, witness, request }: Sent): string {
  return `${front.name} to ${witness.name}, ${JSON.stringify(request.what)} ${JSON.stringify(request.text.slice(0, 400))}`;
}
