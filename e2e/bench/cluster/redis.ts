/** The time Redis's single core spends on each kind of command from relays. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { connectionId } from '../../../server/cluster/connection-id.ts';
import { RedisLink } from '../../../server/cluster/redis-client.ts';
import { ANNOUNCE, ASSERT, CLAIM, LEASE, RELAYS } from '../../../server/cluster/scripts.ts';
import { OWNERSHIP_BATCH } from '../../../server/limits.ts';
import { RedisServer } from '../../support/redis.ts';
import type { Scope } from '../../support/scope.ts';
import { cpuSeconds } from '../machine.ts';
import type { ClusterCase } from './case.ts';

const TUNNELS = 10_000;
const CALLS = 30_000;
/** Calls in flight at the same time, as on a busy relay; and the same for slow calls. */
const AT_ONCE = 50;
const LONG_AT_ONCE = 4;
const KEEP_MS = 15 * 60_000;
const LEASE_MS = 3_600_000;
/** Relays that receive the broadcast messages. */
const LISTENERS = [1, 10, 100];
/** Relays in the list that each relay reads every 3 s. */
const MEMBERS = [10, 100, 1000];

type Call = (index: number) => Promise<unknown>;

export const redis: ClusterCase = {
  name: 'redis',
  async run(scope, { samples, log }) {
    const server = await RedisServer.start(scope);
    const link = await openLink(scope, server);
    const ids = Array.from({ length: TUNNELS }, () => randomUUID());
    const add = (what: string, us: number): void => samples.add(`Redis/${what}/CPU µs`, us);
    const cost = async (calls: number, call: Call, atOnce = AT_ONCE): Promise<number> => {
      const before = cpuSeconds([server.pid]);
      await repeat(calls, call, atOnce);
      return ((cpuSeconds([server.pid]) - before) * 1e6) / calls;
    };
    const id = (index: number): string => ids[index % TUNNELS] ?? '';
    await link.run(LEASE, 1, 'one', '127.0.0.1:1', LEASE_MS);
    await listen(scope, server, 'culvert:to:one', 1);
    const claim = (index: number): Promise<unknown> => link.run(CLAIM, id(index), 1, 'one', id(0), KEEP_MS);
    const memory = (await server.counters()).memory;
    await repeat(TUNNELS, claim);
    samples.add('Redis/entry of a tunnel/bytes', ((await server.counters()).memory - memory) / TUNNELS);
    add(
      'announcement of a visitor to another relay',
      await cost(CALLS, (index) => link.run(ANNOUNCE, id(index), connectionId(2, 'secret'), 'two')),
    );
    const batch = ids.slice(0, OWNERSHIP_BATCH).flatMap((each) => [each, '1', id(0)]);
    const told = await cost((2 * CALLS) / OWNERSHIP_BATCH, () =>
      link.run(ASSERT, 1, 'one', KEEP_MS, ...batch),
    );
    add('tunnel told again (of 500 at a time)', told / OWNERSHIP_BATCH);
    let members = 1;
    for (const count of MEMBERS) {
      for (; members < count; members += 1)
        await link.run(LEASE, members + 1, `incarnation-${members}`, '10.0.0.1:7000', LEASE_MS);
      add(
        `list of relays, ${count} of them`,
        await cost((10 * CALLS) / count, () => link.run(RELAYS), LONG_AT_ONCE),
      );
    }
    let listeners = 0;
    for (const count of LISTENERS) {
      await listen(scope, server, 'culvert:all', count - listeners);
      listeners = count;
      add(`control socket entered, ${count} relays told`, await cost(CALLS, claim));
    }
    log('redis: done');
  },
};

async function openLink(scope: Scope, server: RedisServer): Promise<RedisLink> {
  const isUp = Promise.withResolvers<void>();
  const link = await RedisLink.open({
    url: server.url,
    channels: ['culvert:none'],
    events: { up: isUp.resolve, message() {}, unsent() {} },
    log: () => {},
  });
  scope.defer(() => link.close());
  await isUp.promise;
  return link;
}

/** Relays that only listen. */
async function listen(scope: Scope, server: RedisServer, channel: string, count: number): Promise<void> {
  for (let started = 0; started < count; started += 1) {
    const socket = connect(server.port, '127.0.0.1');
    scope.defer(() => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.write(`SUBSCRIBE ${channel}\r\n`);
    await once(socket, 'data');
    socket.resume();
  }
}

async function repeat(calls: number, call: Call, atOnce = AT_ONCE): Promise<void> {
  let next = 0;
  const callers = Array.from({ length: atOnce }, async () => {
    while (next < calls) await call(next++);
  });
  await Promise.all(callers);
}
