/** One relay with 1, 1,000 and 10,000 tunnels online: memory for each, and requests a second through one of them. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { memoryOf } from '../../support/memory.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { wrk } from '../wrk.ts';
import type { Case } from './case.ts';
import { startHello, warmUp } from './requests.ts';

const COUNTS = [1, 1000, 10_000];
const SETTLE_MS = 5000;
const DAY_MS = 24 * 3600 * 1000;
const CLIENTS = fileURLToPath(new URL('../programs/idle-clients.ts', import.meta.url));

export const manyTunnels: Case = {
  name: 'many-tunnels',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const relays: { count: number; relay: Relay }[] = [];
    for (const count of COUNTS)
      relays.push({ count, relay: await startRelayWith(scope, count, servicePort) });
    await delay(SETTLE_MS);
    for (const { count, relay } of relays) {
      bench.samples.add(`idle tunnels ${count}/culvert/RSS KiB`, memoryOf(relay.child.pid).resident / 1024);
    }
    const host = 'bench.localhost';
    for (const { relay } of relays) {
      await warmUp(scope, { port: relay.port, host, relayPids: () => [], clientPids: () => [] });
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

/** A relay with this many tunnels online; the client program serves one of them, `bench`. */
async function startRelayWith(scope: Scope, count: number, servicePort: number): Promise<Relay> {
  const relay = await Relay.start(scope);
  await relay.stop();
  const ids = insertTunnels(join(relay.dataDirectory, 'culvert.db'), count - 1);
  await relay.restart();
  if (ids.length > 0) await openControlSockets(scope, relay, ids);
  await Culvert.start(scope, relay, relay.bootstrapKey, servicePort, ['--name', 'bench']);
  return relay;
}

/** Puts tunnels of the bootstrap account into a store that no relay has open, bypassing the rate limit. */
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

async function openControlSockets(scope: Scope, relay: Relay, ids: readonly string[]): Promise<void> {
  const clients = spawn(process.execPath, [CLIENTS, String(relay.port), relay.bootstrapKey], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  scope.defer(() => clients.kill('SIGKILL'));
  clients.stdin.end(ids.map((id) => `${id}\n`).join(''));
  const signal = AbortSignal.timeout(60_000);
  const [printed] = (await once(clients.stdout.setEncoding('utf8'), 'data', { signal })) as [string];
  if (printed !== `online ${ids.length}\n`) throw new Error(`control sockets: ${printed}`);
}
