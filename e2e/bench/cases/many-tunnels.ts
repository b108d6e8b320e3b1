/** What 10,000 idle tunnels add to the memory of a relay with one. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createAccount } from '../../support/accounts.ts';
import { Child } from '../../support/child.ts';
import { addTunnels } from '../../support/database.ts';
import { memoryOf } from '../../support/memory.ts';
import { Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import type { Case } from './requests.ts';

const COUNTS = [1, 10_000];
const SETTLE_MS = 5000;
/** ms within which the relay closes the trunks, none of which has a visitor: 60 s, and more for 10,000 of them. */
const QUIET_MS = 120_000;
const CLIENTS = fileURLToPath(new URL('../programs/control-sockets.ts', import.meta.url));

export const manyTunnels: Case = {
  name: 'many-tunnels',
  async run(scope, { samples, log }) {
    const relays = [];
    for (const count of COUNTS) relays.push({ count, ...(await startRelayWith(scope, count)) });
    for (const { clients } of relays) await clients.printed(/^quiet$/m, QUIET_MS);
    await delay(SETTLE_MS);
    for (const { count, relay } of relays)
      samples.add(`idle tunnels ${count}/culvert/RSS KiB`, memoryOf(relay.child.pid).resident / 1024);
    log('many-tunnels: done');
  },
};

/** A relay with this many tunnels online, all but one inserted into the closed store, because creating is limited. */
async function startRelayWith(scope: Scope, count: number): Promise<{ relay: Relay; clients: Child }> {
  const relay = await Relay.start(scope);
  // The only plan that allows this many.
  const { api, key } = await createAccount(relay, { plan: 'team' });
  const first = await api.create({ local_port: 9, ttl: '24h' });
  await relay.stop();
  const ids = [first.id, ...addTunnels(relay, first, count - 1)];
  await relay.restart();
  const clients = new Child(process.execPath, [CLIENTS, String(relay.port)], {
    input: ids.map((id) => `${id} ${key}\n`).join(''),
  });
  scope.defer(() => clients.stop('SIGKILL'));
  await clients.printed(new RegExp(`^online ${count}$`, 'm'));
  return { relay, clients };
}
