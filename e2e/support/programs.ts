import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { openPostgres } from '../../server/store/postgres/open-postgres.ts';
import { openSqlite } from '../../server/store/sqlite/open-sqlite.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { type Child, type Exit, runScript } from './child.ts';
import { closedPort } from './services/listen.ts';
import { newDatabase } from './postgres.ts';
import { reapDirectory } from './reaper.ts';
import { runScope, Scope } from './scope.ts';

/** The programs as `npm run build` leaves them. */
export const RELAY_SCRIPT = fileURLToPath(new URL('../../dist/server/cli.js', import.meta.url));
export const CULVERT_SCRIPT = fileURLToPath(new URL('../../dist/desktop/cli.js', import.meta.url));

export type Environment = Readonly<Record<string, string>>;

/** A key in the specified form: `cvt_` and 32 base62 characters. */
export function newApiKey(): string {
  return `cvt_${randomBytes(16).toString('hex')}`;
}

/** An empty directory that is removed with the scope. */
export function temporaryDirectory(scope: Scope): string {
  const directory = mkdtempSync(join(tmpdir(), 'culvert-e2e-'));
  reapDirectory(directory);
  scope.defer(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Defaults for the relays of all suites in this run (docs/contributing/testing.md). */
const SETTINGS_OF_THIS_RUN: Environment = Object.fromEntries(
  ['CULVERT_TRUNKS', 'CULVERT_HTTP2', 'CULVERT_WORKERS'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

/** The same as lines of `relay.env`. */
export const LINES_OF_THIS_RUN = Object.entries(SETTINGS_OF_THIS_RUN)
  .map(([name, value]) => `${name}=${value}\n`)
  .join('');

/** Runs `culvert-relay` with arguments; killed with the scope. */
export function spawnRelay(scope: Scope, args: readonly string[], environment: Environment): Child {
  const child = runScript(RELAY_SCRIPT, args, { ...SETTINGS_OF_THIS_RUN, ...environment });
  scope.defer(() => child.stop('SIGKILL'));
  return child;
}

/** Runs `culvert` with arguments and without a sign-in; killed with the scope. */
export function spawnCulvert(
  scope: Scope,
  args: readonly string[],
  environment: Environment,
  input?: string,
  folder?: string,
): Child {
  const nobody = { XDG_CONFIG_HOME: '/nonexistent' };
  const child = runScript(CULVERT_SCRIPT, args, { ...nobody, ...environment }, input, folder);
  scope.defer(() => child.stop('SIGKILL'));
  return child;
}

/** ms that a relay may take to start: some suites start a dozen in parallel, on machines that are busy. */
const START_MS = 120_000;

/** The server on which each relay gets its own database, if this run uses PostgreSQL (e2e/cluster/on-postgres.ts). */
export const POSTGRES_URL = process.env['TEST_POSTGRES_URL'];

/** @returns settings of a relay with its own data directory and database */
async function placeOfData(scope: Scope): Promise<Environment> {
  const dataDirectory = temporaryDirectory(scope);
  const place = { CULVERT_DATA_DIR: dataDirectory };
  if (POSTGRES_URL !== undefined)
    return { ...place, CULVERT_DATABASE_URL: await newPreparedDatabase(scope, POSTGRES_URL) };
  await addDatabase(dataDirectory);
  return place;
}

/** The program behind a {@link Relay}, or several that act as one. */
export type RelayProcess = Pick<Child, 'lines' | 'stderr' | 'hasExited' | 'pid' | 'kill' | 'exit'>;

/** The relay of a suite: one program, or several that act as one. */
export interface Relay {
  /** where visitors, clients and users of the API connect */
  readonly port: number;
  /** The relay's address with default settings. */
  readonly url: string;
  readonly bootstrapKey: string;
  readonly dataDirectory: string;
  /** Settings with which a program finds this relay's database. */
  readonly databaseSettings: Environment;
  readonly child: RelayProcess;
  /** Stops the program. SIGKILL leaves it no time to do anything. */
  stop(signal?: NodeJS.Signals, ms?: number): Promise<Exit>;
  /** Starts the program again on the same port and data directory. */
  restart(): Promise<void>;
  /**
   * Runs an admin subcommand with `--json` against the relay's data directory.
   *
   * @returns the object it printed
   */
  administer(...args: string[]): Promise<Record<string, unknown>>;
}

/**
 * A relay that is like another one, except in the properties of `own`.
 *
 * @param relay called at each use, because it may start later
 */
export function standIn(relay: () => Relay, own: Partial<Relay> = {}): Relay {
  return new Proxy(own as Relay, {
    get(_own, name) {
      const owner = name in own ? own : relay();
      const value: unknown = Reflect.get(owner, name, owner);
      return typeof value === 'function' ? (value.bind(owner) as unknown) : value;
    },
  });
}

/** Starts a relay and waits until it accepts requests. */
type StartRelay = (scope: Scope, settings?: Environment) => Promise<Relay>;

let startRelay: StartRelay = async (scope, settings) => await RelayProgram.start(scope, settings);

export const Relay = {
  /** Starts the relay of a suite: one program, unless {@link replaceRelay} was called. */
  start: (scope: Scope, settings: Environment = {}): Promise<Relay> => startRelay(scope, settings),
};

/** Makes all suites of this run test another implementation of the relay (e2e/cluster/protocol.ts). */
export function replaceRelay(start: StartRelay): void {
  startRelay = start;
}

/** The relay program, serving on a free port with its own data directory. */
export class RelayProgram implements Relay {
  readonly #scope: Scope;
  readonly #environment: Environment;
  #child: Child;
  #port: number;

  private constructor(scope: Scope, environment: Environment) {
    this.#scope = scope;
    this.#environment = environment;
    this.#port = Number(environment['CULVERT_PORT'] ?? 0);
    this.#child = this.#spawn();
  }

  /**
   * @param settings environment in addition to port, data directory, database and bootstrap key
   * @throws Error when no `listening on` line comes within {@link START_MS}
   */
  static async start(scope: Scope, settings: Environment = {}): Promise<RelayProgram> {
    const relay = new RelayProgram(scope, {
      ...(await placeOfData(scope)),
      CULVERT_BOOTSTRAP_KEY: newApiKey(),
      // A port that is still reserved after a restart.
      CULVERT_PORT: String(await closedPort()),
      ...settings,
    });
    await relay.#listening();
    return relay;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    const { CULVERT_TLS_CERT: file, CULVERT_ACME_EMAIL: acme } = this.#environment;
    const scheme = file === undefined && acme === undefined ? 'http' : 'https';
    return `${scheme}://localhost:${this.#port}`;
  }

  get bootstrapKey(): string {
    return this.#environment['CULVERT_BOOTSTRAP_KEY'] ?? '';
  }

  get dataDirectory(): string {
    return this.#environment['CULVERT_DATA_DIR'] ?? '';
  }

  get databaseSettings(): Environment {
    const { CULVERT_DATA_DIR = '', CULVERT_DATABASE_URL } = this.#environment;
    return { CULVERT_DATA_DIR, ...(CULVERT_DATABASE_URL === undefined ? {} : { CULVERT_DATABASE_URL }) };
  }

  get child(): Child {
    return this.#child;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM', ms = 20_000): Promise<Exit> {
    return await this.#child.stop(signal, ms);
  }

  async restart(): Promise<void> {
    this.#child = this.#spawn();
    await this.#listening();
  }

  /**
   * Hands off to another program, with `--replace`.
   *
   * @param settings in which the new relay differs
   * @returns the replaced program, which exits once its connections have ended
   */
  async replace(settings: Environment = {}): Promise<Child> {
    const before = this.#child;
    const next = spawnRelay(this.#scope, ['serve', '--replace'], { ...this.#settings, ...settings });
    await next.line((line) => (line.startsWith('listening on ') ? line : undefined), START_MS);
    this.#child = next;
    return before;
  }

  async administer(...args: string[]): Promise<Record<string, unknown>> {
    const child = spawnRelay(this.#scope, [...args, '--json'], this.#environment);
    const exit = await child.exit();
    if (exit.code !== 0)
      throw new Error(`culvert-relay ${args.join(' ')} ended with ${exit.code}: ${child.stderr}`);
    return JSON.parse(child.lines.join('\n')) as Record<string, unknown>;
  }

  get #settings(): Environment {
    return { ...this.#environment, CULVERT_PORT: String(this.#port) };
  }

  #spawn(): Child {
    return spawnRelay(this.#scope, ['serve'], this.#settings);
  }

  async #listening(): Promise<void> {
    const listening = /^listening on https?:\/\/[^\s/]+:(\d+)$/;
    this.#port = Number(await this.#child.line((line) => listening.exec(line)?.[1], START_MS));
  }
}

/*
 * New databases with tables: creating them takes a tenth of a relay's start, and the suites start hundreds. A first
 * start on nothing at all is what e2e/protocol/relay-program.test.ts tests.
 */

const FILE = 'culvert.db';

let template: Promise<Buffer> | undefined;
/** by the address of a database of the server */
const templates = new Map<string, Promise<string>>();

/** Puts a database without any accounts into the data directory of a relay that has not been started. */
async function addDatabase(dataDirectory: string): Promise<void> {
  template ??= makeTemplate();
  writeFileSync(join(dataDirectory, FILE), await template, { mode: 0o600 });
}

async function makeTemplate(): Promise<Buffer> {
  const scope = new Scope();
  const path = join(temporaryDirectory(scope), FILE);
  await (await openSqlite(path, () => {})).close();
  const bytes = readFileSync(path);
  await scope.end();
  return bytes;
}

/**
 * Creates a database without any accounts, which is dropped with the scope.
 *
 * @param url of any database of the server
 * @returns its address
 */
export async function newPreparedDatabase(scope: Scope, url: string): Promise<string> {
  const made = templates.get(url) ?? makeTemplateAt(url);
  templates.set(url, made);
  return await newDatabase(scope, url, await made);
}

/** @returns its address */
async function makeTemplateAt(server: string): Promise<string> {
  const url = await newDatabase(runScope, server);
  await (await openPostgres({ kind: 'postgres', url }, () => {})).close();
  return url;
}

/** One line that `culvert http --json` prints. */
interface CulvertEvent {
  readonly event: string;
  readonly tunnel?: Tunnel;
  readonly code?: string;
  readonly message?: string;
}

/** The client program, serving a tunnel. */
export class Culvert {
  readonly child: Child;
  readonly tunnel: Tunnel;

  private constructor(child: Child, tunnel: Tunnel) {
    this.child = child;
    this.tunnel = tunnel;
  }

  /**
   * Starts `culvert http PORT --json` and waits for its first event.
   *
   * @param args further arguments, such as `--ttl 1m`
   * @param environment in addition to the relay's address and the key
   * @throws Error when the first line is not the `online` event with a tunnel
   */
  static async start(
    scope: Scope,
    relay: { readonly url: string },
    key: string,
    localPort: number,
    args: readonly string[] = [],
    environment: Environment = {},
  ): Promise<Culvert> {
    return await Culvert.run(scope, relay, key, ['http', String(localPort), ...args], environment);
  }

  /** Starts any command that opens a tunnel, such as `tcp PORT`, as {@link Culvert.start}. */
  static async run(
    scope: Scope,
    relay: { readonly url: string },
    key: string,
    words: readonly string[],
    environment: Environment = {},
  ): Promise<Culvert> {
    const child = spawnCulvert(scope, [...words, '--json'], {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
      ...environment,
    });
    const first = await child.line((line) => readEvent(line));
    if (first.event !== 'online' || first.tunnel === undefined) {
      throw new Error(`the first event is ${JSON.stringify(first)}`);
    }
    return new Culvert(child, first.tunnel);
  }

  /** Waits for an event after the ones printed so far. */
  async nextEvent(name: string, ms = 20_000): Promise<CulvertEvent> {
    const printed = this.child.lines.length;
    let line = 0;
    return await this.child.line((text) => {
      line += 1;
      if (line <= printed) return undefined;
      const event = readEvent(text);
      return event.event === name ? event : undefined;
    }, ms);
  }

  /** Ends the program as Ctrl-C does. */
  async stop(): Promise<Exit> {
    return await this.child.stop('SIGINT');
  }
}

function readEvent(line: string): CulvertEvent {
  const value: unknown = JSON.parse(line);
  if (typeof value !== 'object' || value === null || !('event' in value)) {
    throw new Error(`not an event: ${line}`);
  }
  return value as CulvertEvent;
}
