/** One relay with 1, 1,000 and 10,000 tunnels online: memory for each, and requests a second through one of them. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Child } from '../../support/child.ts';
import { addTunnels } from '../../support/database.ts';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { type Bench, type Case, startHello, warmUp, wrk } from './requests.ts';

const COUNTS = [1, 1000, 10_000];
const SETTLE_MS = 5000;
/** ms within which the relay closes the trunks, none of which has a visitor: 60 s, and more for 10,000 of them. */
const QUIET_MS = 120_000;
const CLIENTS = fileURLToPath(new URL('../programs/control-sockets.ts', import.meta.url));

export const manyTunnels: Case = {
  name: 'many-tunnels',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const relays: BusyRelay[] = [];
    for (const count of COUNTS) relays.push(await startRelayWith(scope, count, servicePort));
    await delay(SETTLE_MS);
    addMemory(bench, relays, 'RSS KiB, trunks of half open');
    for (const { clients } of relays) await clients?.printed(/^quiet$/m, QUIET_MS);
    await delay(SETTLE_MS);
    addMemory(bench, relays, 'RSS KiB');
    const host = 'bench.localhost';
    for (const { relay } of relays) {
      await warmUp(scope, { port: relay.port, host });
    }
    const { seconds } = bench;
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const closing of [false, true]) {
        for (const { count, relay } of relays) {
          const result = await wrk(scope, { port: relay.port, host, connections: 16, closing, seconds });
          const load = closing ? 'new c16' : 'keep-alive c16';
          bench.samples.add(`${load}, ${count} tunnels/culvert/req/s`, result.perSecond);
        }
      }
      bench.log(`many-tunnels: round ${round} of ${bench.rounds}`);
    }
  },
};

interface BusyRelay {
  readonly count: number;
  readonly relay: Relay;
  /** the program that holds all tunnels but one; `undefined` if there is only one */
  readonly clients: Child | undefined;
}

function addMemory({ samples }: Bench, relays: readonly BusyRelay[], measure: string): void {
  for (const { count, relay } of relays) {
    samples.add(`idle tunnels ${count}/culvert/${measure}`, memoryOf(relay.child.pid).resident / 1024);
  }
}

/** A relay with this many tunnels online; the client program serves one of them, `bench`. */
async function startRelayWith(scope: Scope, count: number, servicePort: number): Promise<BusyRelay> {
  const relay = await Relay.start(scope);
  // The only plan that allows this many.
  const account = await createAccount(relay, { plan: 'team' });
  const clients = count > 1 ? await openTunnels(scope, relay, account, count - 1) : undefined;
  await Culvert.start(scope, relay, account.key, servicePort, ['--name', 'bench']);
  return { count, relay, clients };
}

/** Inserts tunnels into the closed store, all but one bypassing the rate limit, and puts them online. */
async function openTunnels(
  scope: Scope,
  relay: Relay,
  { api, key }: TestAccount,
  count: number,
): Promise<Child> {
  const first = await api.create({ local_port: 9, ttl: '24h' });
  await relay.stop();
  const ids = [first.id, ...addTunnels(relay, first, count - 1)];
  await relay.restart();
  const clients = new Child(process.execPath, [CLIENTS, String(relay.port)], {
    input: ids.map((id) => `${id} ${key}\n`).join(''),
  });
  scope.defer(() => clients.stop('SIGKILL'));
  await clients.printed(new RegExp(`^online ${ids.length}$`, 'm'));
  return clients;
}
