/** One tenant causes as much trouble as it can, and the effect on another one's visitors is measured. */
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { rotated, Samples } from '../../bench/stats.ts';
import { createAccount } from '../../support/accounts.ts';
import { addTunnels } from '../../support/database.ts';
import { eventually } from '../../support/deadline.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { type Row, torture } from '../torture.ts';
import { type Attack, ATTACKS, type AttackTarget, Forked, type Latencies } from '../tools/forked.ts';
import { startTenant } from '../tools/tenants.ts';

/** Enough visits in each window to make its slowest hundredth significant. */
const REQUESTS_A_SECOND = 200;
const WINDOW_MS = 6000;
const ROUNDS = 5;
const SHORT_WINDOW_MS = 2000;
const SHORT_ROUNDS = 2;
/** ms for an attack to reach its full strength. */
const SETTLE_MS = 500;
/** Slow readers are fast at first, until the kernel's buffers are full: 800 MB for all of them. */
const READERS_SETTLE_MS = 15_000;
const SHORT_READERS_SETTLE_MS = 8000;
/** ms for its effects to be gone. */
const CALM_MS = 60_000;
const ANSWER_MS = 60_000;
/** The maximum of the attacker's plan, one of them online. */
const TUNNELS = 1000;
/** The attacker's own programs run at the lowest priority, because they would not run on the relay's machine. */
const ATTACKER_NICE = 19;

const MEANINGS: Readonly<Record<Attack, string>> = {
  extends: 'extends tunnels',
  creates: 'creates tunnels',
  lists: `lists ${TUNNELS} tunnels`,
  hints: 'sends endless 103 responses',
  heads: 'sends and receives large heads',
  readers: 'has 200 slow readers',
};

torture<Attack>({
  name: 'worst-tenant',
  onlyWhole: true,
  title: `One tenant attacks the relay in several ways while another tenant gets ${REQUESTS_A_SECOND} visitors per second, whose latency is compared with a run without attack`,
  thresholds: Object.fromEntries(
    ATTACKS.map((attack) => [
      attack,
      {
        meaning: `others' p99 latency, relative to no attack, while the attacker ${MEANINGS[attack]}`,
        atMost: 2,
      },
    ]),
  ) as Row<Attack>['thresholds'],

  async run({ scope, short, say }) {
    const service = await startHttpService(scope, (_request, response) => response.end('ok'));
    const attacker = new Forked(scope, ATTACKER_NICE);
    const servicePort = await attacker.tell('serve', undefined, ANSWER_MS);
    const { relay, target } = await startAttacked(scope, servicePort);
    const { host } = await startTenant(scope, relay, service.port);
    const visitors = new Forked(scope);
    const ms = short ? SHORT_WINDOW_MS : WINDOW_MS;
    const readersSettleMs = short ? SHORT_READERS_SETTLE_MS : READERS_SETTLE_MS;
    const measure = (forMs: number): Promise<Latencies> =>
      visitors.tell(
        'measure',
        { port: relay.port, host, perSecond: REQUESTS_A_SECOND, ms: forMs },
        forMs + ANSWER_MS,
      );
    await measure(ms);
    const { p50: usual } = await measure(ms);
    const samples = new Samples();
    const rounds = short ? SHORT_ROUNDS : ROUNDS;
    for (let round = 0; round < rounds; round += 1) {
      for (const attack of rotated(ATTACKS, round)) {
        await eventually(CALM_MS, async () => {
          const { p50 } = await measure(SETTLE_MS);
          if (p50 > 2 * usual) throw new Error(`others still wait for ${p50} ms after an attack`);
        });
        const calm = await measure(ms);
        await attacker.tell('attack', { attack, target }, ANSWER_MS);
        await delay(attack === 'readers' ? readersSettleMs : SETTLE_MS);
        const under = await measure(ms);
        const responses = await attacker.tell('stop', undefined, ANSWER_MS);
        samples.add(`${attack}/calm`, calm.p99);
        samples.add(`${attack}/under`, under.p99);
        say(`${attack}: ${describe(calm)}; ${describe(under)}, ${responses} responses for the attacker`);
      }
    }
    const ratio = (attack: Attack): number => samples.ratio(`${attack}/under`, `${attack}/calm`) ?? NaN;
    const p99 = (attack: Attack): string => (samples.median(`${attack}/under`) ?? NaN).toFixed(1);
    if (relay.child.hasExited) throw new Error(`the relay has ended: ${relay.child.stderr.slice(-2000)}`);
    return {
      figures: Object.fromEntries(ATTACKS.map((attack) => [attack, ratio(attack)])) as Record<Attack, number>,
      faults: [],
      done: `medians of ${rounds} rounds; p99 latency in ms during each attack: ${ATTACKS.map((attack) => `${attack} ${p99(attack)}`).join(', ')}`,
    };
  },
});

/** A relay, and the attacking tenant: with the maximum number of tunnels of its plan, one of which it serves. */
async function startAttacked(
  scope: Scope,
  servicePort: number,
): Promise<{ readonly relay: Relay; readonly target: AttackTarget }> {
  const relay = await Relay.start(scope);
  const account = await createAccount(relay, { plan: 'dev' });
  const first = await account.api.create({ local_port: 1 });
  await relay.stop();
  addTunnels(relay, first, TUNNELS - 2);
  await relay.restart();
  const culvert = await Culvert.start(scope, relay, account.key, servicePort);
  setPriority(culvert.child.pid, ATTACKER_NICE);
  const { tunnel } = culvert;
  const target = { port: relay.port, key: account.key, tunnelId: tunnel.id, host: hostOf(tunnel, relay) };
  return { relay, target };
}

function describe({ requests, failed, p50, p99 }: Latencies): string {
  return `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms of ${requests}, ${failed} failed`;
}
