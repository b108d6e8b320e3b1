/** Checks of this machine (the relay, the ports of tunnels and the clock), of the database, of Redis, and of the other relays. */
import { readFile } from 'node:fs/promises';
import { connect, isIP } from 'node:net';
import type { Redis } from 'ioredis';
import { uriHost } from '../../shared/networks.ts';
import type { Clock } from '../clock.ts';
import type { ClusterSettings } from '../cluster/cluster.ts';
import { nameOf, readRecord, type RelayAddress } from '../cluster/members.ts';
import { REDIS_TIMEOUT_MS } from '../cluster/redis-client.ts';
import { RELAYS } from '../cluster/scripts.ts';
import { type Config, publicUrlOf, schemeOf } from '../config.ts';
import { isTrusted } from '../edge/request-head.ts';
import { describeError } from '../log.ts';
import { nameOfDatabase } from '../store/database-address.ts';
import { openStore } from '../store/open-store.ts';
import { lastBackup } from '../store/sqlite/backup.ts';
import { type Check, counted, Fault, Skipped, versionAt } from './check.ts';
import { ask } from './http-probe.ts';

/** Accepted difference between the clocks of two machines: cluster members and proofs allow for that much. */
const DIAGNOSIS_CLOCK_OFF_MS = 10_000;
/** Age above which a database backup is considered old. */
const BACKUP_OLD_MS = 7 * 24 * 3_600_000;
/** Name of the database check. */
const DATABASE = 'database';

export function machineChecks(config: Config): Check[] {
  const { host, port } = config;

  async function listener(): Promise<string> {
    if (port === 0) throw new Skipped('the relay chose its port itself (CULVERT_PORT=0)');
    try {
      return `Culvert relay ${await versionHere(config)} is ready on port ${port}`;
    } catch (error) {
      throw new Fault(
        `${schemeOf(config)}://${uriHost(reachable(host))}:${port}: ${said(error)}`,
        'Start the relay (systemctl start culvert-relay) and check its log. CULVERT_HOST and CULVERT_PORT must have the same values here as when the relay was started, and as ListenStream in culvert-relay.socket if systemd listens.',
        { cause: error },
      );
    }
  }

  return [{ name: 'listener', look: listener }];
}

/**
 * @returns the version of the relay on the configured port of this machine
 * @throws Error if it cannot be reached, or is not ready
 */
export async function versionHere(config: Config): Promise<string> {
  const address = reachable(config.host);
  const to = new URL(`${schemeOf(config)}://${uriHost(address)}:${config.port}`);
  to.hostname = publicUrlOf(config, config.port).hostname;
  // A connection to an address of this machine comes from the same address.
  const isBalancer = config.proxyProtocol && isIP(address) !== 0 && isTrusted(address, config.trustedProxies);
  const preamble = isBalancer ? { preamble: 'PROXY UNKNOWN\r\n' } : {};
  return await versionAt({ to, address, anyCertificate: true, ...preamble });
}

/** The address that reaches a listener on this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/* The ports of TCP tunnels on this machine. */

const SYSTEM_PORTS = '/proc/sys/net/ipv4/ip_local_port_range';
const RESERVED_PORTS = '/proc/sys/net/ipv4/ip_local_reserved_ports';
/** State of a socket that listens, in the kernel's tables. */
const LISTENING = '0A';

/** @param read a file of the kernel */
export function portChecks(
  { tcpPorts, database }: Pick<Config, 'tcpPorts' | 'database'>,
  read: (path: string) => Promise<string> = (path) => readFile(path, 'utf8'),
): Check[] {
  async function ports(): Promise<string> {
    if (tcpPorts === undefined)
      throw new Skipped('CULVERT_TCP_PORTS is not set, so there are no TCP tunnels');
    const { first, last } = tcpPorts;
    const all = Array.from({ length: last - first + 1 }, (_, index) => first + index);
    const text = await read(SYSTEM_PORTS).catch(() => {
      throw new Skipped('this system does not report its ports');
    });
    const [lowest = 0, highest = 0] = text.trim().split(/\s+/).map(Number);
    const reserved = rangesIn(await read(RESERVED_PORTS));
    const isReserved = (port: number): boolean => reserved.some(([from, to]) => port >= from && port <= to);
    const shared = all.filter((port) => port >= lowest && port <= highest && !isReserved(port));
    if (shared.length > 0)
      throw new Fault(
        `the system uses ${counted(shared.length, 'port')} of ${first}-${last} for outgoing connections as well (${lowest}-${highest})`,
        `Choose a range outside ${lowest}-${highest}, or reserve yours: sysctl -w net.ipv4.ip_local_reserved_ports=${first}-${last}`,
      );
    const used = await othersListenOn(new Set(all));
    const ofOthers =
      used.length === 0 ? 'none' : used.slice(0, 5).join(', ') + (used.length > 5 ? ', …' : '');
    return `${counted(all.length, 'port')} (${first}-${last}); in use by other programs: ${ofOthers}`;
  }

  /** The ports that something listens on, without those of tunnels. */
  async function othersListenOn(wanted: Set<number>): Promise<readonly number[]> {
    const tables = await Promise.all(
      ['tcp', 'tcp6'].map((name) => read(`/proc/net/${name}`).catch(() => '')),
    );
    const listening = tables
      .flatMap((table) => table.split('\n').map((line) => line.trim().split(/\s+/)))
      .filter(([, , , state]) => state === LISTENING)
      .map(([, local = '']) => Number.parseInt(local.slice(local.indexOf(':') + 1), 16));
    const store = await openStore(database, 'must-exist', () => {});
    try {
      for (const { tunnel } of await store.findTunnels('protocol', ['tcp']))
        wanted.delete(tunnel.remotePort ?? 0);
    } finally {
      await store.close();
    }
    return [...new Set(listening)].filter((port) => wanted.has(port)).toSorted((a, b) => a - b);
  }

  return [{ name: 'tcp-ports', needs: DATABASE, look: ports }];
}

/** @param list as the kernel writes it, such as `22,8000-8010` */
function rangesIn(list: string): readonly (readonly [from: number, to: number])[] {
  return list
    .trim()
    .split(',')
    .map((entry) => entry.split('-').map(Number))
    .map(([from = 0, to = from]) => [from, to]);
}

/* Checks of the database, and the age of its last backup. */

const DAY_MS = 24 * 3_600_000;

export function storeChecks({ database }: Pick<Config, 'database'>, clock: Pick<Clock, 'now'>): Check[] {
  const name = nameOfDatabase(database);

  async function open(): Promise<string> {
    try {
      const store = await openStore(database, 'must-exist', () => {});
      try {
        return `${name} responds, with ${counted((await store.listAccounts()).length, 'account')}`;
      } finally {
        await store.close();
      }
    } catch (error) {
      throw new Fault(
        describeError(error),
        'Use the same settings as the relay (its relay.env, --data-dir or --database-url). Only "culvert-relay serve" creates a database.',
        { cause: error },
      );
    }
  }

  function backup(): Promise<string> {
    if (database.kind !== 'sqlite')
      throw new Skipped('PostgreSQL does not record when it was last backed up');
    const at = lastBackup(database.path);
    if (at === undefined)
      throw new Skipped(
        'no backup has been made with "culvert-relay backup FILE", and backups made in other ways cannot be detected',
      );
    const days = counted(Math.floor((clock.now() - at) / DAY_MS), 'day');
    if (clock.now() - at <= BACKUP_OLD_MS) return Promise.resolve(`the last backup was made ${days} ago`);
    throw new Fault(
      `the last backup was made ${days} ago`,
      'Run "culvert-relay backup FILE" every day, and move the file to another machine.',
    );
  }

  return [
    { name: DATABASE, look: open },
    { name: 'backup', look: async () => await backup() },
  ];
}

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
