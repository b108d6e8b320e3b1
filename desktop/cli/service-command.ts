/** `culvert service`: the tunnels of a `culvert.yml` as a service of the user's system. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { UsageError } from '../client/failures.ts';
import { type CommandLine, defineCommand } from './command.ts';
import type { ServiceOrder } from './service-run.ts';
import { limitHeap, readStart } from './tunnel-commands.ts';

export const serviceCommand = defineCommand({
  name: 'service',
  operands: 'install [NAME…] | status | uninstall',
  words: ['install', 'status', 'uninstall'],
  summary: 'Keep the tunnels of culvert.yml open in the background',
  options: {
    Project: ['config', 'allow-other-hosts'],
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
    'culvert service status': 'show whether the service is running, and where its log is',
    'culvert service uninstall': 'stop the service and remove it',
  },
  details: `
    The service runs as you, with systemd on Linux, launchd on macOS and the Task Scheduler on Windows. Each culvert.yml
    has a service of its own. On Linux it starts with the machine, on macOS when you log in. On Windows it starts with
    the machine if you install it in a terminal that runs as administrator, otherwise when you log in.

    The service uses the API key that "culvert login" stored. It keeps the variables that culvert.yml uses,
    CULVERT_RELAY, CULVERT_CA and the proxy settings as they are when you install it, in a file that only you can read.

    Unlike "culvert start", the service keeps trying if there is no network, the relay is down or another client serves a tunnel.
    It does not reopen a tunnel that was closed with "culvert close", or whose "ttl" has passed. To restart the service,
    for example after you change culvert.yml or update Culvert, run "culvert service install" again.

    "status" exits with code 1 if the service is not running. If a project no longer exists, use --config with the path that it
    had. The service itself runs "culvert service run".`,
  read: readService,
  async run(given, context) {
    if (given.action === 'run') limitHeap();
    const { runService } = await import('./service-run.ts');
    return runService(given, context);
  },
});

/** @throws UsageError, ProjectFileError */
function readService(line: CommandLine): ServiceOrder {
  const { values } = line;
  const [action = '', ...names] = line.operands;
  const json = values.json ?? false;
  if (action === 'run') {
    line.atMost(2);
    return { action, name: names[0] ?? '' };
  }
  if (action === 'install') return readInstall(line, names);
  if (action !== 'status' && action !== 'uninstall')
    throw new UsageError(
      action === ''
        ? 'Use install, status or uninstall.'
        : `Unknown command "service ${action}". Use install, status or uninstall.`,
    );
  line.atMost(1);
  return { action, project: locateProject(values.config), json };
}

/** @throws UsageError, ProjectFileError */
function readInstall(line: CommandLine, names: readonly string[]): ServiceOrder {
  const { values, files } = line;
  const { env } = line.accessSources();
  const used = new Set<string>();
  const watched = new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') used.add(name);
      return Reflect.get(target, name) as unknown;
    },
  });
  const given = readStart(line, names, (path) => files.readProject(path, watched));
  const { config, relay, ca, insecure, 'allow-other-hosts': otherHosts } = values;
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
