/** `culvert service`: the tunnels of a `culvert.yml` as a service of the user's system. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type CommandContext, type AnyLine, defineCommand, type Group } from '../command-line/command.ts';
import type { ServiceOrder } from '../service/installed-service.ts';
import { readStart } from './start.ts';
import { limitHeap } from './tunnel-options.ts';

const WHICH = { Project: ['config'], Output: ['json'] } as const;

const installCommand = defineCommand({
  name: 'service install',
  operands: { names: { shown: '[NAME…]', count: 'any' } },
  summary: 'Install a service that keeps tunnels open, and start it',
  options: {
    Project: ['config', 'allow-other-hosts', 'take-over'],
    Relay: ['relay', 'ca', 'insecure'],
    Output: ['json'],
  },
  meanings: {
    relay:
      'Address of the relay. Default: CULVERT_RELAY, then "relay" in culvert.yml, then the relay you logged in to.',
  },
  examples: {
    'culvert service install': 'start every tunnel in the nearest culvert.yml, now and after each restart',
    'culvert service install web': 'start only the tunnel "web"',
  },
  details: `
    The service uses the API key that "culvert login" stored. The command saves the current values of the variables that
    culvert.yml uses, of CULVERT_RELAY and CULVERT_CA, and of the proxy settings, in a file that only you can read.

    To restart the service, for example after you change culvert.yml or update Culvert, run the command again.`,
  read: (line) => readInstall(line, line.operands.names),
  run: runService,
});

const statusCommand = defineCommand({
  name: 'service status',
  summary: 'Show whether the service is running, and where its log is',
  options: WHICH,
  examples: { 'culvert service status': 'show whether the service is running, and where its log is' },
  details: `
    If the service is not running, the exit code is 1.`,
  read: (line) => readAction('status', line),
  run: runService,
});

const uninstallCommand = defineCommand({
  name: 'service uninstall',
  summary: 'Stop the service and remove it',
  options: WHICH,
  examples: { 'culvert service uninstall': 'stop the service and remove it' },
  read: (line) => readAction('uninstall', line),
  run: runService,
});

/** The service itself. */
const serveCommand = defineCommand({
  name: 'service run',
  operands: { name: { shown: '[SERVICE]', count: 'optional' } },
  summary: 'Serve the tunnels of a service',
  options: {},
  examples: {},
  isInternal: true,
  read: ({ operands: { name = '' } }): ServiceOrder => ({ action: 'run', name }),
  async run(given, context) {
    limitHeap();
    return runService(given, context);
  },
});

export const serviceCommands = {
  name: 'service',
  summary: 'Keep the tunnels of culvert.yml open in the background',
  details: `
    Each culvert.yml has its own service. The service runs under your user account, with systemd on Linux, launchd on
    macOS and the Task Scheduler on Windows. On Linux, it starts with the machine. On macOS, it starts when you log in. On
    Windows, it starts when you log in, or with the machine if you install it as an administrator.

    The service keeps trying when there is no network, when the relay is down, or when another client serves a tunnel.
    "culvert start" gives up in these cases. The service does not reopen a tunnel that you closed with "culvert close", or
    whose "ttl" has passed. If one of your live tunnels already has a name from culvert.yml, the same rules apply as
    for "culvert start" without a terminal.

    If a project no longer exists, use --config with its former path.`,
  commands: [installCommand, statusCommand, uninstallCommand, serveCommand],
} as const satisfies Group;

async function runService(given: ServiceOrder, context: CommandContext): Promise<number> {
  const service = await import('../service/installed-service.ts');
  return service.runService(given, context);
}

function readAction(action: 'status' | 'uninstall', { values }: AnyLine): ServiceOrder {
  return { action, project: locateProject(values.config), json: values.json ?? false };
}

/** @throws UsageError, ProjectFileError */
function readInstall(line: AnyLine, names: readonly string[]): ServiceOrder {
  const { values, files, env } = line;
  const used = new Set<string>();
  const watched = new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') used.add(name);
      return Reflect.get(target, name) as unknown;
    },
  });
  const given = readStart(line, names, (path) => files.readProject(path, watched));
  const { config, relay, ca, insecure, 'allow-other-hosts': otherHosts, 'take-over': takeOver } = values;
  const project = absolute(given.project);
  return {
    action: 'install',
    project,
    tunnels: given.tunnels.map(({ label, name, domain }) => ({
      label,
      isNamed: (name ?? domain) !== undefined,
    })),
    relay: given.relay,
    start: [
      // Without it, the file has to belong to the user.
      ...(config === undefined ? [] : [`--config=${project}`]),
      ...(relay === undefined ? [] : [`--relay=${relay}`]),
      ...(ca === undefined ? [] : [`--ca=${resolve(ca)}`]),
      ...(insecure === true ? ['--insecure'] : []),
      ...(otherHosts === true ? ['--allow-other-hosts'] : []),
      ...(takeOver === true ? ['--take-over'] : []),
      ...names,
    ],
    used: [...used],
    env,
    json: values.json ?? false,
  };
}

/** Of a file that may no longer exist. @returns `undefined` if none is named, and none is in this folder or above it */
function locateProject(config: string | undefined): string | undefined {
  if (config !== undefined) return absolute(resolve(config));
  for (let folder = process.cwd(); ; folder = dirname(folder)) {
    const file = join(folder, 'culvert.yml');
    if (existsSync(file)) return absolute(file);
    if (dirname(folder) === folder) return undefined;
  }
}

/** One path for each file, also if a link points to its folder. */
function absolute(file: string): string {
  try {
    return join(realpathSync.native(dirname(file)), basename(file));
  } catch {
    return resolve(file);
  }
}
