/**
 * `culvert-relay serve`: runs the relay until a signal ends it. Everything that it needs before it listens
 * is loaded as this one file (docs/decisions/0015-bundled-programs.md), hence the exports that follow the imports.
 */
import { VERSION } from '../../shared/version.ts';
import { RevokedKeyError } from '../accounts/accounts.ts';
import { namesMuchOfTheInternet } from '../address-network.ts';
import { StrangerError } from '../cluster/members.ts';
import type { Config } from '../config.ts';
import { readAuthorities, readKeyPair, TlsFileError } from '../edge/listener.ts';
import { HandoffError } from '../handoff/take.ts';
import { describeError, errorFields, type Log } from '../log.ts';
import { OtherAddressError } from '../listeners.ts';
import { type RunningRelay, startWorkerRelay } from '../relay.ts';
import { DatabaseInUseError } from '../store/store-errors.ts';
import { PrimaryLink } from '../workers/primary-link.ts';
import type { Operator } from '../observe/logger.ts';
import { CommandError, ExitCode, type OpenAccessLog, type Shell, usageError } from './command.ts';
import type { StopSignals } from './stop-signals.ts';

/**
 * How long open connections have to finish after the first SIGTERM (protocol.md section 7).
 * @limit operator: Time for open connections after SIGTERM | they are closed
 */
const STOP_DEADLINE_MS = 30_000;

export { systemClock } from '../clock.ts';
export { loadConfig } from '../config.ts';
export { AccessFile, createAccessLog } from '../observe/logger.ts';
export { createLog, finishLog, stderrStream } from '../observe/logger.ts';
export { startRelay } from '../relay.ts';

export type StartRelay = (config: Config, operator: Operator, replaces: boolean) => Promise<RunningRelay>;

const NO_SHARED_PORTS =
  'this system does not allow programs to share a port; remove CULVERT_REUSE_PORT, and use a load balancer with relays on different ports';
const OTHER_SECRET =
  'CULVERT_CLUSTER_SECRET must be the secret that the other relays on this Redis server use, but it is different. A relay that was killed stays listed for 10 more seconds';
const REVOKED_KEY =
  'CULVERT_BOOTSTRAP_KEY must be a key that was not revoked; set a different key, or remove the setting';

/**
 * Runs the relay. The first signal shuts it down in order, a second one ends it immediately.
 *
 * @param replaces whether it takes over from a relay that serves the same data folder and port
 * @param signals end the process by themselves before the relay is about to serve
 * @returns the exit code, once the relay has ended
 * @throws CommandError when it cannot start, after logging the reason
 */
export async function serve(
  shell: Shell,
  config: Config,
  startRelay: StartRelay,
  replaces: boolean,
  signals: StopSignals,
): Promise<number> {
  await checkTls(config);
  const log = await shell.openLog(config.log);
  void signals.startEnded.then(() => log('relay stopped'));
  const tell = shell.isTerminal ? (line: string) => shell.err(line) : undefined;
  const starting = startProcess(shell, config, log, (own) => {
    log('relay starting', { version: VERSION, node: process.versions.node });
    const operator: Operator = {
      ...own,
      tell,
      listeners: shell.listeners,
      primary: undefined,
      announce: async () => {
        try {
          await shell.tellServiceManager();
        } catch (error) {
          log('service manager not told', { error: describeError(error) });
        }
      },
      commit: () => signals.commit(),
    };
    return start(config, startRelay, replaces, operator, signals);
  });
  const aborted = signals.second.then(() => {
    log('relay aborted');
    starting.then(({ relay }) => relay.abort()).catch(() => undefined);
    throw new CommandError(ExitCode.failed, []);
  });
  const { relay, reload } = await Promise.race([starting, aborted]);
  await signals.commit();
  if (reload !== undefined) signals.reload = reload;
  const ended = untilEnded(relay, signals, log);
  await relay.announced;
  log('listening', { url: relay.url });
  shell.out(`listening on ${relay.url}`);
  sayWhatIsNext(config, relay, log, tell);
  return await Promise.race([ended, aborted]);
}

/**
 * Runs one of the processes of a relay that has several, until the first one asks it to end, or ends.
 *
 * @param channel to the first process
 */
export async function serveWorker(shell: Shell, config: Config, channel: NodeJS.Process): Promise<number> {
  const primary = await PrimaryLink.open(channel);
  const log = primary.logOf(await shell.openLog(config.log));
  try {
    const { relay, reload } = await startProcess(shell, config, log, (own) =>
      startWorkerRelay(config, {
        ...own,
        tell: undefined,
        listeners: new Map(),
        primary,
        announce: () => Promise.resolve(),
        commit: () => Promise.resolve(),
      }),
    );
    return await primary.serve(relay, reload);
  } catch (error) {
    primary.refused(error);
    return ExitCode.failed;
  }
}

/**
 * Starts a process of a relay, with what each has for itself.
 *
 * @returns the relay, and what opens its certificates and log files again, if it has any
 */
async function startProcess<R extends Pick<RunningRelay, 'reload'>>(
  shell: Shell,
  config: Config,
  log: Log,
  startOne: (own: Pick<Operator, 'log' | 'accessLog' | 'startWorker'>) => Promise<R>,
): Promise<{ readonly relay: R; readonly reload: (() => void) | undefined }> {
  const accessLog = await openAccessLog(shell, config, log);
  shell.onCrash((error) => log('relay crashed', errorFields(error)));
  const relay = await startOne({
    log,
    accessLog: accessLog?.write,
    startWorker: () => shell.startWorker(),
  });
  shell.limitGrowth();
  const reloads = [relay.reload, accessLog?.reopen].filter((reload) => reload !== undefined);
  return { relay, reload: reloads.length === 0 ? undefined : () => reloads.forEach((each) => each()) };
}

/** A person at a terminal reads lines; a log gets one of its own. */
function sayWhatIsNext(config: Config, { url, isNew }: RunningRelay, log: Log, tell: Operator['tell']): void {
  for (const gap of gapsOf(config)) log('setting missing', { ...gap });
  if (config.foreignVariables.length > 0)
    log('setting ignored', { settings: config.foreignVariables.join(' ') });
  for (const unsafe of unsafeSettings(config)) log('setting unsafe', { ...unsafe });
  if (!isNew || config.publicUrl !== undefined) return;
  if (tell === undefined) log('first start', { data: config.dataDir, next: HELP });
  else for (const line of firstSteps(config, url)) tell(line);
}

/** Before anything is logged, because wrong settings are printed as plain lines. */
async function checkTls({ tls, acme }: Config): Promise<void> {
  try {
    if (tls !== undefined) await readKeyPair(tls);
    if (acme?.ca !== undefined) await readAuthorities(acme.ca);
  } catch (error) {
    if (error instanceof TlsFileError) throw usageError(error.message);
    throw error;
  }
}

async function openAccessLog(
  shell: Shell,
  { accessLog }: Config,
  log: Log,
): Promise<OpenAccessLog | undefined> {
  try {
    return accessLog && (await shell.openAccessLog(accessLog, log));
  } catch (error) {
    throw usageError(
      `CULVERT_ACCESS_LOG must be a file that this user can write to (${describeError(error)})`,
    );
  }
}

async function untilEnded(relay: RunningRelay, signals: StopSignals, log: Log): Promise<number> {
  const stopping = signals.first.then(() => 'relay stopping' as const);
  const replaced = relay.replaced.then(() => 'relay replaced' as const);
  log(await Promise.race([stopping, replaced]), { deadline_ms: STOP_DEADLINE_MS });
  return await stopInOrder(relay, log);
}

async function stopInOrder(relay: RunningRelay, log: Log): Promise<number> {
  try {
    await relay.stop(STOP_DEADLINE_MS);
    log('relay stopped');
    return ExitCode.ok;
  } catch (error) {
    log('stop failed', { error: describeError(error) });
    return ExitCode.failed;
  }
}

async function start(
  config: Config,
  startRelay: StartRelay,
  replaces: boolean,
  operator: Operator,
  signals: StopSignals,
): Promise<RunningRelay> {
  try {
    return await startRelay(config, operator, replaces);
  } catch (error) {
    // A signal to all processes of the relay may have ended one that could not ignore it yet.
    if (signals.hasCome) return await signals.endStart();
    if (error instanceof RevokedKeyError) throw usageError(REVOKED_KEY);
    if (error instanceof StrangerError) throw usageError(OTHER_SECRET);
    if (OtherAddressError.is(error)) throw usageError(error.message);
    if (error instanceof HandoffError) {
      operator.log('start refused', { reason: `the running relay continues: ${describeError(error)}` });
      throw new CommandError(ExitCode.failed, []);
    }
    const reason =
      replaces && error instanceof DatabaseInUseError
        ? `no relay on port ${config.port} of this data folder can be replaced, but ${error.message}. To change CULVERT_PORT or CULVERT_DATA_DIR, restart the relay instead`
        : whyNotStarted(error, config);
    operator.log('start refused', { reason });
    throw new CommandError(ExitCode.failed, []);
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
  /** flags that override them */
  readonly flag: string;
  readonly hostFlag: string;
}

/** Which of the listeners it is that could not have the port that has failed. */
function placeOf({ host, port, metrics, acme }: Config, failed: unknown): Place {
  if (failed !== port && metrics !== undefined && failed === metrics.port)
    return { ...metrics, flag: '--metrics-port', hostFlag: '--metrics-host' };
  if (failed !== port && acme !== undefined && failed === acme.httpPort)
    return { host, port: acme.httpPort, flag: '--http-port', hostFlag: '--host' };
  return { host, port, flag: '--port', hostFlag: '--host' };
}

function whyNotStarted(error: unknown, config: Config): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const failed = error instanceof Error && 'port' in error ? error.port : undefined;
  const { host, port, flag, hostFlag } = placeOf(config, failed);
  const isShared = config.reusePort && hostFlag === '--host';
  switch (code) {
    case 'EADDRINUSE':
      return `cannot listen on ${host} port ${port}: another program is using it${isShared ? ' and does not share it' : ''}; choose a different port with ${flag}`;
    case 'EACCES':
      return `cannot listen on ${host} port ${port}: this user is not allowed to; choose a port above 1023 with ${flag}${config.acme === undefined ? '' : ', or use the systemd unit in server/deploy, which allows them'}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `cannot listen on ${host}: this machine has no such address; choose a different address with ${hostFlag}`;
    case 'ENOTSUP':
      if (isShared) return NO_SHARED_PORTS;
      break;
  }
  return `the relay cannot start: ${describeError(error)}`;
}

/* What a person reads at the first start of a relay without settings: what to set next. */

/** Explains it again. */
const HELP = 'culvert-relay help serve';

/**
 * @param url address the relay listens on
 * @returns lines to show below the first key
 */
function firstSteps({ database, dataDir }: Pick<Config, 'database' | 'dataDir'>, url: string): string[] {
  const own = new URL(url);
  own.hostname = 'localhost';
  const data = database.kind === 'sqlite' ? database.path : `PostgreSQL; other files: ${dataDir}`;
  return [
    '',
    `The relay is ready on this machine: run culvert login --relay ${own.origin} and enter the key above.`,
    'To make the relay public, you need a server, two DNS records that point to the server (relay.example.com and',
    '*.tunnels.example.com), and these settings at the next start (the key stays valid):',
    "  CULVERT_PUBLIC_URL=https://relay.example.com   the relay's own address",
    '  CULVERT_TUNNEL_DOMAIN=tunnels.example.com      tunnels get addresses NAME.tunnels.example.com',
    '  CULVERT_ACME_EMAIL=you@example.com             certificates; ports 443 and 80 must be open',
    '  CULVERT_HOST=:: CULVERT_PORT=443               listen on all addresses',
    `Database: ${data}`,
    `All settings: ${HELP}`,
    '',
  ];
}

/* Settings with which a relay serves, but not at the addresses that it gives out, or without protecting its tunnels. */

/** A setting that is missing. */
interface Gap {
  /** the variable that would close it */
  readonly setting: string;
  /** what follows from it, and what to do */
  readonly reason: string;
}

type Given = Pick<Config, 'publicUrl' | 'tunnelDomain' | 'tls' | 'acme' | 'trustedProxies' | 'pathForm'>;

/** @returns the settings missing beside `CULVERT_PUBLIC_URL`; empty without it */
export function gapsOf(config: Given): Gap[] {
  const { publicUrl } = config;
  if (publicUrl === undefined) return [];
  return [tunnelDomainGap(config, publicUrl), certificateGap(config, publicUrl)].filter(
    (gap) => gap !== undefined,
  );
}

/** @returns the settings that take protection away, with what follows from each */
export function unsafeSettings({ trustedProxies }: Pick<Config, 'trustedProxies'>): Gap[] {
  return namesMuchOfTheInternet(trustedProxies) ? [TRUSTS_ALL] : [];
}

const TRUSTS_ALL: Gap = {
  setting: 'CULVERT_TRUST_PROXY',
  reason:
    'CULVERT_TRUST_PROXY covers a large part of the internet: visitors from there can claim any address, host and scheme, so address-based access, limits per address and logs cannot be trusted; list only the proxies in front of this relay',
};

function tunnelDomainGap({ tunnelDomain, pathForm }: Given, { hostname, origin }: URL): Gap | undefined {
  if (!isThisMachine(tunnelDomain) || isThisMachine(hostname)) return undefined;
  const otherwise = pathForm ? `; until then, only addresses such as ${origin}/t/NAME work` : '';
  return {
    setting: 'CULVERT_TUNNEL_DOMAIN',
    reason: `tunnel addresses are below ${tunnelDomain}, which points to each visitor's own machine; set CULVERT_TUNNEL_DOMAIN to a domain whose wildcard DNS record points here, such as tunnels.example.com with *.tunnels.example.com${otherwise}`,
  };
}

function certificateGap({ tls, acme, trustedProxies }: Given, { protocol }: URL): Gap | undefined {
  const isServed = tls !== undefined || acme !== undefined || trustedProxies.rules.length > 0;
  if (protocol !== 'https:' || isServed) return undefined;
  return {
    setting: 'CULVERT_ACME_EMAIL',
    reason:
      'CULVERT_PUBLIC_URL is an https address, but this relay has no certificate and trusts no proxy that has one: without a proxy, nobody can reach the relay there, and with a proxy, all visitors share the limits of one address; set CULVERT_ACME_EMAIL, or CULVERT_TLS_CERT and CULVERT_TLS_KEY, or CULVERT_TRUST_PROXY',
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || host.startsWith('127.');
}
