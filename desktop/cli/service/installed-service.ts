/** Runs `culvert service`: installs, shows and removes services, and is what a service runs. */
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';
import * as yup from 'yup';
import { escapeUnprintable, hasUnprintable } from '../../../shared/unprintable.ts';
import { DurableFile, isMissing, OWNER_ONLY } from '../../client/config/durable-file.ts';
import { readProject } from '../../client/config/project.ts';
import type { Environment } from '../../client/config/relay-access.ts';
import { describeFailure, ExitCode, UsageError } from '../../client/failures.ts';
import { ownFile, ownRuntime } from '../../client/own-program.ts';
import type { RelayAddress } from '../../client/relay/relay-address.ts';
import type { CommandContext } from '../command-line/command.ts';
import { jsonLine, table } from '../output/format.ts';
import { parse } from '../command-line/parse.ts';
import type { Output } from '../output/reporter.ts';
import { openTunnels } from '../serve/run-tunnels.ts';
import {
  FINAL_CODES,
  runProgram,
  type ServiceMachine,
  type ServiceManager,
  serviceManager,
} from './system-services.ts';
import { startCommand } from '../commands/start.ts';

/**
 * Size above which a service begins a new log file. It keeps one old file, and systemd limits its journal
 * itself.
 */
const SERVICE_LOG_MAX_BYTES = 5 * 1024 * 1024;
/** Maximum number of characters of a folder's name in the name of its service. */
const SERVICE_FOLDER_MAX = 32;
/** Maximum size of the file that a service keeps its settings in. */
const SERVICE_FILE_MAX_BYTES = 1024 * 1024;

/** What `culvert service` is asked to do. */
export type ServiceOrder =
  | InstallOrder
  | {
      readonly action: 'status' | 'uninstall';
      /** path of the `culvert.yml`, which may no longer exist; `undefined` if this folder and those above it have none */
      readonly project: string | undefined;
      readonly json: boolean;
    }
  | { readonly action: 'run'; readonly name: string };

interface InstallOrder {
  readonly action: 'install';
  /** path of the `culvert.yml` */
  readonly project: string;
  readonly tunnels: readonly { readonly label: string | undefined; readonly isNamed: boolean }[];
  readonly relay: RelayAddress;
  /** words after `culvert start` */
  readonly start: readonly string[];
  /** variables that the file refers to */
  readonly used: readonly string[];
  readonly env: Environment;
  readonly json: boolean;
}

/** The machine, and the programs that a service consists of. */
export interface ServiceHost extends ServiceMachine {
  /** absolute path of Node, where it is not in the program */
  readonly runtime: readonly string[];
  /** absolute paths of `culvert`, as it was called and without links */
  readonly programs: readonly string[];
  /** folders that are emptied */
  readonly temporary: readonly string[];
}

/** @throws ServiceError, UsageError, ProjectFileError */
export async function runService(
  order: ServiceOrder,
  context: CommandContext,
  host: ServiceHost = thisHost(),
): Promise<number> {
  const records = new ServiceRecords(join(dirname(context.stored.path), 'services'));
  if (order.action === 'run') return runRecord(records.read(order.name), context);
  const manager = serviceManager(host);
  if (order.action === 'install') return install(order, context, host, manager, records);
  const { project, json } = order;
  const name = project === undefined ? undefined : serviceName(project);
  const found = records.list().find((record) => record.name === name);
  return order.action === 'status'
    ? showStatus({ found, project, json }, context.output, manager, records)
    : uninstall({ found, name, project, json }, context.output, manager, records);
}

function thisHost(): ServiceHost {
  const { username, uid } = userInfo();
  const called = resolve(ownFile());
  return {
    platform: process.platform,
    env: process.env,
    home: homedir(),
    username,
    uid: uid === -1 ? undefined : uid,
    run: runProgram,
    runtime: ownRuntime(),
    programs: [called, realpathSync(called)],
    temporary: [tmpdir(), realpathSync(tmpdir()), '/tmp', '/var/tmp', '/dev/shm', '/run'],
  };
}

/* Install. */

/** Variables about the way to the relay, which a service has to have as well. */
const KEPT_VARIABLES = [
  'CULVERT_RELAY',
  'CULVERT_CA',
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
];
/** Those that are read before the record is. */
const EARLY_VARIABLES = ['XDG_CONFIG_HOME', 'NODE_EXTRA_CA_CERTS'];

/** @throws UsageError, ServiceError */
async function install(
  order: InstallOrder,
  { output, stored }: CommandContext,
  host: ServiceHost,
  manager: ServiceManager,
  records: ServiceRecords,
): Promise<number> {
  const { project, env, relay, json, start, tunnels } = order;
  const command = [...host.runtime, choosePath(host)];
  checkProgram(command, host);
  const early = pick(env, EARLY_VARIABLES);
  if (Object.values(early).some(hasUnprintable))
    throw new UsageError(
      `${Object.keys(early).join(' or ')} contains a control character, so no service can use it.`,
    );
  if (stored.read()?.relay.origin !== relay.origin)
    throw new UsageError(
      `A service uses the API key that "culvert login" stores, and none is stored for ${relay.origin}. Run "culvert login --relay ${relay.origin}" first.`,
    );
  await manager.check(command);
  const name = serviceName(project);
  const log = manager.log(name);
  const kept = pick(env, [...KEPT_VARIABLES, ...order.used]);
  const record = {
    name,
    project,
    start: [...start],
    env: kept['CULVERT_CA'] === undefined ? kept : { ...kept, CULVERT_CA: resolve(kept['CULVERT_CA']) },
    log: 'file' in log ? log.file : undefined,
  };
  await records.write(record);
  if ('file' in log) mkdirSync(dirname(log.file), { recursive: true, mode: 0o700 });
  const { beforeLogin, hint } = await manager.install({
    name,
    description: project,
    command: [...command, 'service', 'run', name],
    env: early,
  });
  const where = 'file' in log ? log.file : log.command;
  const labels = tunnels.map(({ label }) => label);
  if (json) {
    output.out(jsonLine({ service: name, project, tunnels: labels, before_login: beforeLogin, log: where }));
    return ExitCode.ok;
  }
  const names = Object.keys(record.env);
  const random = tunnels.filter(({ isNamed }) => !isNamed).map(({ label }) => label);
  const login = `when you log in${hint === undefined ? '' : `. To start it with this machine: ${hint}`}`;
  output.out(
    `Service    ${name}\nProject    ${project}\nTunnels    ${labels.join(', ')}\n` +
      `Starts     now, and ${beforeLogin ? 'with this machine, before you log in' : login}\n` +
      (names.length === 0 ? '' : `Keeps      ${names.join(', ')} (in ${records.path(name)})\n`) +
      `Log        ${where}\n`,
  );
  if (random.length > 0)
    output.out(
      `The address of ${random.join(', ')} changes with each start. To keep it, add "name" or "domain" to culvert.yml.\n`,
    );
  return ExitCode.ok;
}

/**
 * Version managers call the program through a temporary link, package managers keep it in a folder of its version, to
 * which a lasting link leads.
 */
function choosePath({ programs, temporary }: ServiceHost): string {
  return programs.find((path) => !isTemporary(path, temporary)) ?? programs[0] ?? '';
}

/**
 * Refuses what would be gone, or could not be named, when the service starts.
 *
 * @throws UsageError
 */
function checkProgram(paths: readonly string[], { temporary }: ServiceHost): void {
  for (const path of paths) {
    if (hasUnprintable(path))
      throw new UsageError(
        `${escapeUnprintable(path)} contains a control character, so no service can use it.`,
      );
    if (isTemporary(path, temporary))
      throw new UsageError(
        `${path} is a temporary installation, as npx makes them, and would be gone when the service starts. ` +
          'Install Culvert with "npm install -g" first.',
      );
  }
}

function isTemporary(path: string, folders: readonly string[]): boolean {
  return (
    folders.some((folder) => path.startsWith(`${folder}${sep}`)) ||
    path.split(/[/\\]/).some((part) => part === '_npx' || /^(?:dlx|bunx)(?:-|$)/.test(part))
  );
}

function pick(env: Environment, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    [...new Set(names)].flatMap((name) => {
      const value = env[name];
      return value === undefined || value === '' || name === 'CULVERT_API_KEY' ? [] : [[name, value]];
    }),
  );
}

/** @returns the same for the same file, and no other: its folder for people, and a hash */
export function serviceName(project: string): string {
  const folder = basename(dirname(project))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, SERVICE_FOLDER_MAX)
    .replaceAll(/^-|-$/g, '');
  const hash = createHash('sha256').update(project).digest('hex').slice(0, 8);
  return ['culvert', folder, hash].filter(Boolean).join('-');
}

/* Status and uninstall. */

interface Asked {
  readonly found: ServiceRecord | undefined;
  readonly project: string | undefined;
  readonly json: boolean;
}

async function showStatus(
  { found, project, json }: Asked,
  output: Output,
  manager: ServiceManager,
  records: ServiceRecords,
): Promise<ExitCode> {
  const state = found && (await manager.state(found.name));
  if (found === undefined || state === undefined) {
    output.out(
      json
        ? jsonLine({ project: project ?? null, installed: false, running: false })
        : notInstalled(project, records),
    );
    return ExitCode.failed;
  }
  const log = manager.log(found.name);
  const where = 'file' in log ? log.file : log.command;
  const { running, text } = state;
  output.out(
    json
      ? jsonLine({
          service: found.name,
          project: found.project,
          installed: true,
          running,
          state: text,
          log: where,
        })
      : `Service    ${found.name}\nProject    ${found.project}\nState      ${text}\nLog        ${where}\n`,
  );
  return running ? ExitCode.ok : ExitCode.failed;
}

/** Names the other services, because a project may have moved. */
function notInstalled(project: string | undefined, records: ServiceRecords): string {
  const what =
    project === undefined
      ? 'There is no culvert.yml in this folder or above it.'
      : `No service is installed for ${project}.`;
  const others = records.list();
  if (others.length === 0) return `${what}\n`;
  const rows = others.map(({ name, project: path }) => [name, path]);
  return `${what} Installed for other projects, which --config names:\n\n${table([['SERVICE', 'PROJECT'], ...rows])}`;
}

async function uninstall(
  { found, name, project, json }: Asked & { readonly name: string | undefined },
  output: Output,
  manager: ServiceManager,
  records: ServiceRecords,
): Promise<ExitCode> {
  await manager.check();
  const isDefined = name !== undefined && (await manager.state(name)) !== undefined;
  if (name === undefined || (found === undefined && !isDefined)) {
    output.out(json ? jsonLine({ status: 'not-installed' }) : notInstalled(project, records));
    return name === undefined ? ExitCode.failed : ExitCode.ok;
  }
  await manager.remove(name);
  await records.remove(name);
  output.out(json ? jsonLine({ status: 'removed' }) : `Stopped and removed ${name}.\n`);
  return ExitCode.ok;
}

/* What a service consists of, in a file each that only the user can read. */

const recordSchema = yup
  .object({
    name: yup.string().required(),
    project: yup.string().required(),
    start: yup.array(yup.string().defined()).required(),
    env: yup.mixed<Record<string, string>>().required(),
    log: yup.string(),
  })
  .strict();

type ServiceRecord = yup.InferType<typeof recordSchema>;

const NAME = /^culvert-[a-z0-9-]+$/;

class ServiceRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  path(name: string): string {
    return join(this.#folder, `${name}.json`);
  }

  write(record: ServiceRecord): Promise<void> {
    return new DurableFile(this.path(record.name)).write(`${JSON.stringify(record)}\n`);
  }

  /** @throws UsageError */
  read(name: string): ServiceRecord {
    if (!NAME.test(name))
      throw new UsageError(`There is no service "${name}". "culvert service install" makes one.`);
    const path = this.path(name);
    try {
      if (statSync(path).size > SERVICE_FILE_MAX_BYTES) throw new Error('it is too large');
      return recordSchema.validateSync(JSON.parse(readFileSync(path, 'utf8')));
    } catch (error) {
      const why = isMissing(error) ? 'is missing' : 'is damaged';
      throw new UsageError(`${path} ${why}: run "culvert service install" in the project's folder.`);
    }
  }

  /** Those that can be read, by name. */
  list(): ServiceRecord[] {
    let files: string[];
    try {
      files = readdirSync(this.#folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
    return files.sort().flatMap((file) => {
      try {
        return file.endsWith('.json') ? this.read(file.slice(0, -'.json'.length)) : [];
      } catch {
        return [];
      }
    });
  }

  async remove(name: string): Promise<void> {
    await new DurableFile(this.path(name)).remove();
  }
}

/* Run. */

/**
 * @returns the exit code; with a log file, 0 also if starting the service again would not help, because the systems
 *   without a journal do not know the other codes
 * @throws what `culvert start` throws
 */
async function runRecord(record: ServiceRecord, context: CommandContext): Promise<number> {
  const { project, start, env, log } = record;
  const output = log === undefined ? context.output : new LogFile(log);
  Object.assign(process.env, env);
  try {
    process.chdir(dirname(project));
    const { values, positionals } = parse(start);
    const files = {
      readLogin: () => context.stored.read(),
      readProject: (path: string | undefined) => readProject(path, process.cwd()),
    };
    const sources = { ...process.env, CULVERT_API_KEY: '' };
    const { given } = startCommand.prepare(positionals, values, sources, files);
    // The nearest file is another one if the service's own is gone.
    if (basename(given.project) !== basename(project) || dirname(given.project) !== process.cwd())
      throw new UsageError(
        `${project} no longer exists. "culvert service uninstall --config FILE" removes its service.`,
      );
    const code = await openTunnels({ ...given, isService: true }, { ...context, output });
    return log !== undefined && FINAL_CODES.includes(code) ? ExitCode.ok : code;
  } catch (error) {
    if (log !== undefined) output.err(`culvert: ${describeFailure(error)}\n`);
    throw error;
  }
}

/** A log file that is replaced when it is large. One old file is kept. */
export class LogFile implements Output {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  out(text: string): void {
    const time = new Date().toISOString();
    const lines = escapeUnprintable(text, '\n\t').replace(/^(?=.)/gm, `${time}  `);
    try {
      this.#turn();
      appendFileSync(this.#path, lines, { mode: OWNER_ONLY });
    } catch {
      // A full disk must not end the tunnels.
    }
  }

  err(text: string): void {
    this.out(text);
  }

  #turn(): void {
    const { size = 0 } = statSync(this.#path, { throwIfNoEntry: false }) ?? {};
    if (size > SERVICE_LOG_MAX_BYTES) renameSync(this.#path, `${this.#path}.1`);
  }
}
