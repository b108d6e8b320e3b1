/**
 * What `culvert run` takes from a package: the name that it asks for, and what its development server reads for its port
 * and the hosts it accepts.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { NAME_MAX_LENGTH, parsePort, NAME_RULE } from '../../../shared/value-rules.ts';

/** Maximum size of a `package.json`, and of a file of git, that `culvert run` reads. */
const PACKAGE_FILE_MAX_BYTES = 1024 * 1024;

/** Branches that are left out of the name. */
const MAIN_BRANCHES = new Set(['main', 'master']);

/**
 * The name that `culvert run` asks for: from the package and the branch, so that each worktree has its own address.
 *
 * @param folder the working directory
 * @returns a valid name; `undefined` without a package that has a name
 */
export function projectName(folder: string): string | undefined {
  const { name } = findPackage(folder) ?? {};
  if (typeof name !== 'string') return undefined;
  const branch = currentBranch(folder);
  const project = asLabel(name.replace(/^@[^/]*\//, ''));
  if (project === '') return undefined;
  const suffix = branch === undefined || MAIN_BRANCHES.has(branch) ? '' : `-${asLabel(branch)}`;
  const label = `${project}${suffix}`.slice(0, NAME_MAX_LENGTH).replace(/-$/, '');
  return NAME_RULE.accepts(label) ? label : undefined;
}

function asLabel(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** The parts of a `package.json` that are used here; any of them may be anything. */
interface PackageFile {
  readonly name?: unknown;
  readonly scripts?: unknown;
}

/** @returns the nearest `package.json` in the folder or above it; `undefined` if none can be read */
export function findPackage(folder: string): PackageFile | undefined {
  const text = findAbove(folder, 'package.json');
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The branch that is checked out; `undefined` outside of a repository, and for a commit without a branch. */
function currentBranch(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const head = readSmall(join(at, '.git', 'HEAD')) ?? worktreeHead(at);
    if (head !== undefined) return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]?.trim();
    if (dirname(at) === at) return undefined;
  }
}

/** In a worktree, `.git` is a file that names the folder of its `HEAD` (gitrepository-layout(5)). */
function worktreeHead(folder: string): string | undefined {
  const [, path] = /^gitdir: (.+)$/m.exec(readSmall(join(folder, '.git')) ?? '') ?? [];
  return path === undefined ? undefined : readSmall(join(resolve(folder, path.trim()), 'HEAD'));
}

function findAbove(folder: string, name: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const text = readSmall(join(at, name));
    if (text !== undefined) return text;
    if (dirname(at) === at) return undefined;
  }
}

/** @returns `undefined` for anything but a readable file of a usual size */
function readSmall(path: string): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      return size > PACKAGE_FILE_MAX_BYTES ? undefined : readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

/**
 * The environment of the command. A server reads those that it knows: Node, Next.js, Rails and most
 * others read `PORT`; Nuxt and Nitro prefer their own, and Flask has only its own. Vite, and so Astro, SvelteKit and
 * Nuxt, and Rails read more hosts.
 *
 * @param url address of the tunnel
 * @param env of this process
 */
export function commandEnvironment(port: number, url: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { hostname } = new URL(url);
  const also = (name: string): string => [env[name] ?? '', hostname].filter(Boolean).join(',');
  return {
    ...env,
    PORT: String(port),
    NUXT_PORT: String(port),
    NITRO_PORT: String(port),
    FLASK_RUN_PORT: String(port),
    CULVERT_URL: url,
    CULVERT_HOST: hostname,
    __VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS: also('__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS'),
    RAILS_DEVELOPMENT_HOSTS: also('RAILS_DEVELOPMENT_HOSTS'),
  };
}

interface Framework {
  /** the subcommands that serve; an empty word stands for none */
  readonly serves: readonly string[];
  /** how its port is given on the command line */
  readonly portOptions: readonly string[];
  /** the arguments that set the port, for a server that reads no variable for it */
  readonly portArguments?: (port: number) => readonly string[];
  /** the arguments that make it accept a host, for a server that reads no variable for it */
  readonly hostArguments?: (host: string) => readonly string[];
  /** those of `serves` that accept only local hosts, if no variable or argument adds one */
  readonly localOnly?: readonly string[];
  /** what the configuration in a folder still needs, for people */
  readonly hint?: (folder: string) => string | undefined;
}

const PORT_OPTION = ['--port'];
const PORT_OR_P = ['--port', '-p'];
const setPort = (port: number): readonly string[] => ['--port', String(port)];

const FRAMEWORKS: Readonly<Record<string, Framework>> = {
  vite: {
    serves: ['', 'dev', 'serve', 'preview'],
    portOptions: PORT_OPTION,
    portArguments: (port) => [...setPort(port), '--strictPort'],
  },
  astro: { serves: ['dev', 'preview'], portOptions: PORT_OPTION, portArguments: setPort },
  ng: { serves: ['serve'], portOptions: PORT_OPTION, portArguments: setPort },
  'react-router': { serves: ['dev'], portOptions: PORT_OPTION, portArguments: setPort },
  storybook: {
    serves: ['dev'],
    portOptions: PORT_OR_P,
    portArguments: setPort,
    localOnly: ['dev'],
    hint: storybookHint,
  },
  webpack: {
    serves: ['serve', 'server', 's'],
    portOptions: PORT_OPTION,
    portArguments: setPort,
    // The page otherwise connects to the server's own port for hot reload, not to that of its address.
    hostArguments: (host) => ['--allowed-hosts', host, '--client-web-socket-url-port', '0'],
  },
  next: { serves: ['', 'dev', 'start'], portOptions: PORT_OR_P, localOnly: ['', 'dev'] },
  nuxt: { serves: ['dev', 'preview'], portOptions: PORT_OR_P },
  rails: { serves: ['server', 's'], portOptions: PORT_OR_P },
  flask: { serves: ['run'], portOptions: PORT_OR_P },
  'manage.py': {
    serves: ['runserver'],
    portOptions: [],
    portArguments: (port) => [String(port)],
    localOnly: ['runserver'],
  },
};

/** With Vite, pages connect to Storybook's own port for hot reload, and no argument or variable changes that. */
function storybookHint(folder: string): string | undefined {
  const names = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts'].map((type) => `.storybook/main.${type}`);
  for (const name of names) {
    const text = readSmall(join(folder, name));
    if (text === undefined) continue;
    return !/vite/i.test(text) || /\bhmr\b/.test(text)
      ? undefined
      : 'For hot reload, stories connect to a port that the tunnel does not have. ' +
          `In viteFinal of ${name}, delete config.server.hmr.port.`;
  }
  return undefined;
}

/** What is known of a command before its port is. */
export interface CommandPlan {
  /** the port that its own arguments name */
  readonly ownPort: number | undefined;
  /** whether its server accepts only local hosts */
  readonly isLocalOnly: boolean;
  /** @returns what the configuration in the working directory still needs, for people */
  hint(folder: string): string | undefined;
  /** @returns the command, with the port and the host as arguments if its server reads no variable for them */
  with(port: number, host: string): readonly string[];
}

/**
 * Recognizes the server that a command starts, directly or as a script of the package.
 *
 * @param command its words, at least one
 */
export function planCommand(command: readonly string[], project: PackageFile | undefined): CommandPlan {
  const script = scriptOf(command, project);
  const known = script === undefined ? recognize(command) : recognize(script.words);
  const unchanged = { ownPort: undefined, isLocalOnly: false, hint: () => undefined, with: () => command };
  if (known === undefined) return unchanged;
  const { framework, subcommand, words } = known;
  const ownPort = portIn([...words, ...(script?.more ?? [])], framework);
  return {
    ownPort,
    isLocalOnly: framework.localOnly?.includes(subcommand) ?? false,
    hint: (folder) => framework.hint?.(folder),
    with(port, host) {
      const setsPort = ownPort === undefined ? framework.portArguments?.(port) : undefined;
      const set = [...(setsPort ?? []), ...(framework.hostArguments?.(host) ?? [])];
      return set.length === 0 ? command : [...command, ...(script?.separator ?? []), ...set];
    },
  };
}

/** Words that start another program with the words that follow. */
const RUNNERS = new Set([
  'npx',
  'pnpx',
  'bunx',
  'bundle',
  'uv',
  'poetry',
  'pipenv',
  'python',
  'python3',
  'cross-env',
]);
const RUNNER_WORDS = new Set(['exec', 'run', 'x', 'dlx']);
const PACKAGE_MANAGERS = new Set(['npm', 'pnpm', 'yarn', 'bun']);

interface Recognized {
  readonly framework: Framework;
  /** one of those that serve */
  readonly subcommand: string;
  /** what follows the program */
  readonly words: readonly string[];
}

function recognize(words: readonly string[]): Recognized | undefined {
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const name = programName(word);
    const isPrefix = RUNNERS.has(name) || PACKAGE_MANAGERS.has(name) || (at > 0 && RUNNER_WORDS.has(word));
    if (!isPrefix && !/^(?:-|\w+=)/.test(word)) break;
  }
  const framework = lookUp(programName(words[at] ?? ''));
  const rest = words.slice(at + 1);
  const first = rest[0] ?? '';
  // What follows `vite` or `next` may also be a folder.
  const subcommand = first.startsWith('-') || /[./\\]/.test(first) ? '' : first;
  if (framework === undefined || !framework.serves.includes(subcommand)) return undefined;
  const isDjango = framework.portOptions.length === 0;
  return isDjango && rest.slice(1).some((word) => !word.startsWith('-'))
    ? undefined
    : { framework, subcommand, words: rest };
}

function lookUp(name: string): Framework | undefined {
  return Object.hasOwn(FRAMEWORKS, name) ? FRAMEWORKS[name] : undefined;
}

/** `vite` for `./node_modules/.bin/vite`, and for `vite.cmd`. */
function programName(word: string): string {
  const base = word.slice(Math.max(word.lastIndexOf('/'), word.lastIndexOf('\\')) + 1);
  return base.replace(/\.(?:cmd|exe)$/i, '');
}

function portIn(words: readonly string[], { portOptions }: Framework): number | undefined {
  for (const [index, word] of words.entries()) {
    const [name = '', value = words[index + 1] ?? ''] = word.split('=', 2);
    if (portOptions.includes(name)) return parsePort(value);
  }
  return undefined;
}

interface Script {
  readonly words: readonly string[];
  /** arguments of the command that the package manager passes on */
  readonly more: readonly string[];
  /** what has to precede arguments for the script */
  readonly separator: readonly string[];
}

/** A script that is more than one simple command gets its port as a variable only. */
const SHELL_SYNTAX = /[;&|<>$`()\\'"\n]/;

/** The script that `npm run dev` and the like start. */
function scriptOf(command: readonly string[], project: PackageFile | undefined): Script | undefined {
  const manager = programName(command[0] ?? '');
  if (!PACKAGE_MANAGERS.has(manager)) return undefined;
  const rest = command
    .slice(1)
    .filter((word) => !word.startsWith('-') && word !== 'run' && word !== 'run-script');
  const text = scriptText(project, rest[0] ?? '');
  if (text === undefined || SHELL_SYNTAX.test(text)) return undefined;
  const separator = manager === 'npm' && !command.includes('--') ? ['--'] : [];
  return { words: text.trim().split(/\s+/), more: command.slice(1), separator };
}

function scriptText(project: PackageFile | undefined, name: string): string | undefined {
  const scripts = project?.scripts;
  if (typeof scripts !== 'object' || scripts === null || !Object.hasOwn(scripts, name)) return undefined;
  const text = (scripts as Readonly<Record<string, unknown>>)[name];
  return typeof text === 'string' ? text : undefined;
}
