/** Checks of this machine (listening programs, the limit of open files, TCP and the clock), of Redis, and of the other relays. */
import { readFile } from 'node:fs/promises';
import { connect, isIP } from 'node:net';
import process from 'node:process';
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

/** @limit Accepted difference between the clocks of two machines: cluster members and proofs allow for that much. */
const DIAGNOSIS_CLOCK_OFF_MS = 10_000;
/** @limit Age above which a database backup is considered old. */
const BACKUP_OLD_MS = 7 * 24 * 3_600_000;

/** Descriptors per visitor of a tunnel, including a share of those of its client. */
const FILES_PER_VISITOR = 3;

export function machineChecks(config: Config): Check[] {
  const { host, port, acme, metrics, maxConnections } = config;

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

  async function httpPort(): Promise<string> {
    if (acme === undefined || acme.httpPort === 0) throw new Skipped('not configured');
    const to = new URL(`http://${uriHost(reachable(host))}:${acme.httpPort}`);
    try {
      const { status } = await ask({ to, path: '/' });
      return `port ${acme.httpPort} responds (status ${status})`;
    } catch (error) {
      throw new Fault(
        `${to.origin}: ${said(error)}`,
        "Certificate authorities connect to this port. Make sure that no other program is using it, and check the relay's log.",
        { cause: error },
      );
    }
  }

  async function readMetrics(): Promise<string> {
    if (metrics === undefined || metrics.port === 0) throw new Skipped('CULVERT_METRICS_PORT is not set');
    const to = new URL(`http://${uriHost(reachable(metrics.host))}:${metrics.port}`);
    try {
      const { status, text } = await ask({ to, path: '/metrics' });
      if (status === 200 && text.includes('culvert_')) return text;
      throw new Error(`status ${status}, but the response does not contain the metrics of a relay`);
    } catch (error) {
      throw new Fault(
        `${to.origin}/metrics: ${said(error)}`,
        'CULVERT_METRICS_HOST and CULVERT_METRICS_PORT must have the same values here as when the relay was started.',
        { cause: error },
      );
    }
  }

  async function files(): Promise<string> {
    const wanted = FILES_PER_VISITOR * maxConnections;
    const ofRelay = metrics === undefined ? undefined : maxFiles(await readMetrics());
    const most = ofRelay ?? hardLimit();
    if (most === undefined) throw new Skipped('this system does not report its limit on open files');
    const whose = ofRelay === undefined ? 'a relay started from here' : 'the relay';
    if (most >= wanted) return `${whose} can open ${most} files`;
    const short = `${whose} can open ${most} files, but ${maxConnections} visitors need ${wanted}`;
    // The program that starts the relay may allow it more.
    if (ofRelay === undefined)
      throw new Skipped(`${short}; set CULVERT_METRICS_PORT to check the running relay`);
    throw new Fault(
      short,
      'Raise the hard limit on open files (LimitNOFILE in the unit, --ulimit nofile for containers), or lower CULVERT_MAX_CONNECTIONS.',
    );
  }

  return [
    { name: 'listener', look: listener },
    { name: 'http-port', look: httpPort },
    { name: 'metrics', look: async () => `${(await readMetrics()).split('\n').length} lines` },
    { name: 'files', needs: 'metrics', look: files },
    { name: 'tcp', look: () => congestionControl() },
  ];
}

/**
 * Which congestion control TCP uses here: it decides the speed of what this machine sends over lines that lose packets.
 *
 * @param path of the system's setting, for tests
 * @throws Skipped where the system does not report it
 */
export async function congestionControl(path = '/proc/sys/net/ipv4/tcp_congestion_control'): Promise<string> {
  let name: string;
  try {
    name = (await readFile(path, 'latin1')).trim();
  } catch {
    throw new Skipped('this system does not report its congestion control');
  }
  if (name.startsWith('bbr')) return `uses ${name}, which stays fast on lines that lose packets`;
  return `uses ${name}, which is slow on lines that lose packets; to change it, run "sysctl -w net.ipv4.tcp_congestion_control=bbr"`;
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

function maxFiles(metrics: string): number | undefined {
  const [, value] = /^process_max_fds(?:\{[^}]*\})? (\S+)$/m.exec(metrics) ?? [];
  return value === undefined ? undefined : Number(value);
}

/** Node raises the soft limit to it. */
function hardLimit(): number | undefined {
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { hard?: unknown } };
  };
  const hard = userLimits?.open_files?.hard;
  if (hard === 'unlimited') return Infinity;
  return hard === undefined ? undefined : Number(hard);
}

function said(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/* Checks of the database, and the age of its last backup. */

/** Name of the database check. */
const DATABASE = 'database';
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
