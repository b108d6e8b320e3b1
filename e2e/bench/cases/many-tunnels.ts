/** One relay with 1, 1,000 and 10,000 tunnels online: memory for each, and requests a second through one of them. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../support/child.ts';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { type Bench, type Case, startHello, warmUp, wrk } from './requests.ts';

const COUNTS = [1, 1000, 10_000];
const SETTLE_MS = 5000;
/** ms within which the relay closes the trunks, none of which has a visitor: 60 s, and more for 10,000 of them. */
const QUIET_MS = 120_000;
const DAY_MS = 24 * 3600 * 1000;
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
  await relay.stop();
  const ids = insertTunnels(join(relay.dataDirectory, 'culvert.db'), count - 1);
  await relay.restart();
  const clients = ids.length > 0 ? await openTunnels(scope, relay, ids) : undefined;
  await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
  return { count, relay, clients };
}

/** Inserts tunnels of the bootstrap account into a closed store, bypassing the rate limit. */
function insertTunnels(path: string, count: number): string[] {
  const database = new DatabaseSync(path);
  const account = database.prepare('SELECT id FROM accounts').get()?.['id'] ?? null;
  // The only plan that allows this many.
  database.exec("UPDATE accounts SET plan = 'team'");
  const insert = database.prepare(
    `INSERT INTO tunnels (id, account_id, slug, name, local_port, ttl_seconds, idle, created_at, expires_at,
       bytes_in, bytes_out, requests) VALUES (?, ?, ?, '', 9, 86400, 0, ?, ?, 0, 0, 0)`,
  );
  const ids = Array.from({ length: count }, () => randomUUID());
  const now = Date.now();
  database.exec('BEGIN');
  for (const [index, id] of ids.entries()) insert.run(id, account, `idle-${index}`, now, now + DAY_MS);
  database.exec('COMMIT');
  database.close();
  return ids;
}

async function openTunnels(scope: Scope, relay: Relay, ids: readonly string[]): Promise<Child> {
  const clients = new Child(process.execPath, [CLIENTS, 'idle', String(relay.port)], {
    input: ids.map((id) => `${id} ${relay.bootstrapKey}\n`).join(''),
  });
  scope.defer(() => clients.stop('SIGKILL'));
  await clients.printed(new RegExp(`^online ${ids.length}$`, 'm'));
  return clients;
}
