/** Ports of this machine on which programs listen. */
import type { PortView } from '../../ipc/snapshot.ts';
import { PORTS_MAX } from '../limits.ts';
import { type Listener, listListeners, listWithLsof, listWithNetstat, SocketOwners } from './listeners.ts';

export interface PortScan {
  /** every port that has a listener */
  readonly listening: ReadonlySet<number>;
  /** whether all other ports are free; false if the system hides other users' programs */
  readonly isComplete: boolean;
  /** ports to offer, likeliest first */
  readonly ports: readonly PortView[];
}

/** Lower ports are system services, which nobody exposes by accident. */
const FIRST_USUAL_PORT = 1024;

/**
 * @param own process ids of Culvert itself
 */
export function portScan(
  listeners: readonly Listener[],
  isComplete: boolean,
  own: ReadonlySet<number>,
  guess: (listener: Listener) => string | undefined,
): PortScan {
  const offered = new Map<number, PortView>();
  for (const listener of listeners) {
    const { port, pid, process } = listener;
    if (port < FIRST_USUAL_PORT && process === undefined) continue;
    if (pid !== undefined && own.has(pid)) continue;
    const known = offered.get(port);
    if (known?.process !== undefined) continue;
    offered.set(port, { port, process, framework: guess(listener) });
  }
  const ports = [...offered.values()].sort((a, b) => likelihood(b) - likelihood(a) || a.port - b.port);
  return {
    listening: new Set(listeners.map(({ port }) => port)),
    isComplete,
    ports: ports.slice(0, PORTS_MAX),
  };
}

function likelihood({ framework, process, port }: PortView): number {
  return (
    (framework === undefined ? 0 : 4) + (process === undefined ? 0 : 2) + (port < FIRST_USUAL_PORT ? 0 : 1)
  );
}

/** Lists the listeners of one system. */
interface Lister {
  readonly list: () => Promise<readonly Listener[]>;
  /** see {@link PortScan.isComplete} */
  readonly isComplete: boolean;
}

/**
 * @param own process ids of Culvert itself, asked for each time
 * @returns a function that scans the ports; its result is `undefined` if the system does not allow that
 */
export function createPortScan(
  platform: NodeJS.Platform,
  own: () => ReadonlySet<number>,
): () => Promise<PortScan | undefined> {
  const lister = listerOf(platform);
  return async () => {
    try {
      return lister && portScan(await lister.list(), lister.isComplete, own(), guessFramework);
    } catch {
      return undefined;
    }
  };
}

function listerOf(platform: NodeJS.Platform): Lister | undefined {
  if (platform === 'linux') {
    const owners = new SocketOwners('/proc');
    return { list: () => listListeners('/proc', owners), isComplete: true };
  }
  if (platform === 'darwin') return { list: () => listWithLsof(), isComplete: false };
  if (platform === 'win32') return { list: () => listWithNetstat(), isComplete: true };
  return undefined;
}

/* Guesses which development server it is from how it was started. A wrong guess costs nothing: it is only shown. */

/** The first match wins, so a framework comes before what it is built on. */
const COMMANDS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bnext(?:-server|-router-worker)?\b|next dev/, 'Next.js'],
  [/\bnuxi?t?\b/, 'Nuxt'],
  [/\bastro\b/, 'Astro'],
  [/\bremix\b/, 'Remix'],
  [/\bstorybook\b/, 'Storybook'],
  [/\bgatsby\b/, 'Gatsby'],
  [/\bng serve\b|@angular\/cli/, 'Angular'],
  [/react-scripts/, 'Create React App'],
  [/\bvite\b/, 'Vite'],
  [/\bwebpack\b/, 'webpack'],
  [/\bparcel\b/, 'Parcel'],
  [/\bnest(?:js)?\b/, 'NestJS'],
  [/manage\.py\b.{0,200}\brunserver\b/, 'Django'],
  [/\bflask\b/, 'Flask'],
  [/\buvicorn\b|\bfastapi\b/, 'FastAPI'],
  [/\bgunicorn\b/, 'Gunicorn'],
  [/\bhttp\.server\b/, 'Python'],
  [/\bpuma\b|\brails\b/, 'Rails'],
  [/\bjekyll\b/, 'Jekyll'],
  [/\bhugo\b/, 'Hugo'],
  [/\bartisan\b/, 'Laravel'],
  [/\bphp\b.{0,200}\s-S\b/, 'PHP'],
  [/spring-?boot/, 'Spring Boot'],
  [/\bdocker-proxy\b|com\.docker/, 'Docker'],
  [/\bcaddy\b/, 'Caddy'],
  [/\bnginx\b/, 'nginx'],
];

/** No libraries such as Express or Koa: a package that has one also starts servers without it. */
const DEPENDENCIES: readonly (readonly [name: string, framework: string])[] = [
  ['next', 'Next.js'],
  ['nuxt', 'Nuxt'],
  ['astro', 'Astro'],
  ['@remix-run/dev', 'Remix'],
  ['@sveltejs/kit', 'SvelteKit'],
  ['@angular/core', 'Angular'],
  ['react-scripts', 'Create React App'],
  ['vite', 'Vite'],
  ['@nestjs/core', 'NestJS'],
];

const JAVASCRIPT = new Set(['node', 'bun', 'deno', 'MainThread']);
const RUNTIMES: Readonly<Record<string, string>> = { node: 'Node', bun: 'Bun', deno: 'Deno' };

export function guessFramework({ command, process, manifest }: Listener): string | undefined {
  const byCommand = COMMANDS.find(([pattern]) => pattern.test(command))?.[1];
  if (byCommand !== undefined || process === undefined || !JAVASCRIPT.has(process)) return byCommand;
  return byManifest(manifest) ?? RUNTIMES[process];
}

function byManifest(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { dependencies, devDependencies } = JSON.parse(text) as Record<string, object | undefined>;
    const all = { ...dependencies, ...devDependencies };
    return DEPENDENCIES.find(([name]) => Object.hasOwn(all, name))?.[1];
  } catch {
    return undefined;
  }
}
