/** Redis, the other relays, and the clock. */
import { connect } from 'node:net';
import type { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import { nameOf, readRecord, type RelayAddress } from '../cluster/members.ts';
import { RELAYS } from '../cluster/scripts.ts';
import type { Config } from '../config.ts';
import { DIAGNOSIS_CLOCK_OFF_MS, REDIS_TIMEOUT_MS } from '../limits.ts';
import { describeError } from '../log.ts';
import { type Check, counted, Fault, Skipped } from './check.ts';
import { ask } from './http-probe.ts';

const ALONE = 'this relay is not part of a cluster';

export function clusterChecks(
  { cluster, acme }: Pick<Config, 'cluster' | 'acme'>,
  clock: Pick<Clock, 'now'>,
): Check[] {
  return [
    { name: 'redis', look: async () => await onRedis(cluster, checkRedis) },
    { name: 'cluster', needs: 'redis', look: async () => await onRedis(cluster, checkMembers) },
    { name: 'clock', needs: 'redis', look: checkClock },
  ];

  async function checkClock(): Promise<string> {
    const off = Math.round((await otherTime()) - clock.now());
    if (Math.abs(off) <= DIAGNOSIS_CLOCK_OFF_MS) return "this machine's clock is right";
    throw new Fault(
      `this machine's clock is ${Math.round(Math.abs(off) / 1000)} s ${off > 0 ? 'slow' : 'fast'}`,
      'Synchronize it with NTP (timedatectl set-ntp true).',
    );
  }

  /** @returns wall time in ms of another machine */
  async function otherTime(): Promise<number> {
    if (cluster !== undefined)
      return await onRedis(cluster, async (redis) => Number((await redis.time())[0]) * 1000);
    if (acme === undefined)
      throw new Skipped(
        'there is no server to compare the clock with; "timedatectl" shows whether it is synchronized',
      );
    const directory = new URL(acme.directory);
    const { headers } = await ask({ to: directory, path: directory.pathname, anyCertificate: true });
    const date = Date.parse(headers.date ?? '');
    if (Number.isNaN(date)) throw new Skipped(`${directory.host} does not send the time`);
    return date;
  }
}

async function checkRedis(redis: Redis): Promise<string> {
  await redis.ping();
  // A server may refuse the command.
  const [, policy] = ((await redis.config('GET', 'maxmemory-policy').catch(() => [])) ?? []) as string[];
  if (policy === undefined || policy === 'noeviction') return 'it responds';
  throw new Fault(
    `maxmemory-policy is ${policy}: Redis may delete the information about which relay each client is connected to`,
    'Set "maxmemory-policy noeviction" in the Redis configuration.',
  );
}

async function checkMembers(redis: Redis, { secret }: ClusterSettings): Promise<string> {
  const words = ((await redis.eval(RELAYS.lua, 0)) ?? []) as string[];
  const members: RelayAddress[] = [];
  for (let at = 0; at + 2 < words.length; at += 3) {
    const [incarnation = '', record = ''] = words.slice(at + 1, at + 3);
    const member = readRecord(record, incarnation, secret);
    if (member === undefined)
      throw new Fault(
        `a relay in the cluster has a different secret: ${record.replace(/~.*$/s, '').replaceAll(/[^\w.:[\]-]/g, '')}`,
        'Set the same CULVERT_CLUSTER_SECRET on all relays, and restart the relays that had a different one.',
      );
    members.push(member);
  }
  if (members.length === 0) throw new Skipped('no relay is running');
  for (const member of members) {
    if (await takesConnections(member)) continue;
    throw new Fault(
      `the relay ${nameOf(member)} does not accept connections from here`,
      'CULVERT_CLUSTER_HOST must be an address that the other relays can reach, without a firewall in between.',
    );
  }
  return `${counted(members.length, 'relay')}, with the same secret: ${members.map(nameOf).join(', ')}`;
}

async function onRedis<T>(
  settings: ClusterSettings | undefined,
  work: (redis: Redis, settings: ClusterSettings) => Promise<T>,
): Promise<T> {
  if (settings === undefined) throw new Skipped(ALONE);
  // A CommonJS module: in a bundle it has no named exports.
  const { Redis: Client } = (await import('ioredis')).default;
  const redis = new Client(settings.redisUrl, {
    lazyConnect: true,
    connectTimeout: REDIS_TIMEOUT_MS,
    commandTimeout: REDIS_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let lost: unknown;
  redis.on('error', (error: unknown) => (lost = error));
  try {
    await redis.connect();
    return await work(redis, settings);
  } catch (error) {
    if (error instanceof Fault || error instanceof Skipped) throw error;
    throw new Fault(
      `Redis: ${describeError(lost ?? error)}`,
      'Check that Redis is running, and that this machine can reach it at CULVERT_REDIS_URL.',
      { cause: error },
    );
  } finally {
    redis.disconnect();
  }
}

function takesConnections({ host, port }: RelayAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: REDIS_TIMEOUT_MS });
    const answer = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => answer(true));
    socket.once('timeout', () => answer(false));
    socket.on('error', () => answer(false));
  });
}
