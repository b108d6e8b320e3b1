/** A PostgreSQL server for tests, on a free port with all its files in a temporary directory. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { Child } from './child.ts';
import { eventually } from './deadline.ts';
import { reapDirectory } from './reaper.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** Debian's package `postgresql`, in any version; `e2e/support/setup.sh` installs it. */
const VERSIONS = '/usr/lib/postgresql';
const USER = 'culvert';
/** Inserting many rows takes a second, and on a busy machine a minute. */
const QUERY_TIMEOUT_MS = 120_000;

export class PostgresServer {
  readonly port: number;
  readonly #directory: string;
  readonly #password: string;
  readonly #bin: string;
  readonly #owner: { readonly uid?: number; readonly gid?: number };
  #child: Child | undefined;

  private constructor(port: number) {
    this.port = port;
    this.#bin = newestBin();
    this.#owner = ownerOfServer();
    this.#password = randomBytes(8).toString('hex');
    this.#directory = mkdtempSync(join(tmpdir(), 'culvert-postgres-'));
    reapDirectory(this.#directory);
  }

  /** Creates a server with a password, and starts it. */
  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer(await closedPort());
    server.#initialize();
    await server.resume();
    return server;
  }

  get pid(): number {
    if (this.#child === undefined) throw new Error('the server does not run');
    return this.#child.pid;
  }

  /** Starts it again after {@link stop}, with its data. */
  async resume(): Promise<void> {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'max_connections=300',
      // Needed only if a machine loses power, not if the server is killed.
      'fsync=off',
      // Nothing lives long enough to need it.
      'autovacuum=off',
    ].flatMap((setting) => ['-c', setting]);
    const owner = this.#owner;
    const child = new Child(join(this.#bin, 'postgres'), ['-D', this.#data, ...settings], { owner });
    this.#child = child;
    await eventually(20_000, async () => {
      try {
        await query(this.url, 'select 1');
      } catch (error) {
        throw new Error(`PostgreSQL does not answer: ${child.output}`, { cause: error });
      }
    });
  }

  /** Stops it. SIGINT cuts connections and stores everything, SIGQUIT is a crash. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.kill(signal);
    await child?.exited;
  }

  /** Suspends all of its processes, which looks like a network that swallows everything. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  #signal(signal: NodeJS.Signals): void {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(this.pid)], { encoding: 'utf8' });
    for (const pid of [String(this.pid), ...children.trim().split(/\s+/)]) process.kill(Number(pid), signal);
  }

  /** Stops it and removes its data. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** The address of a database that exists on every server. */
  get url(): string {
    return `postgres://${USER}:${this.#password}@127.0.0.1:${this.port}/postgres`;
  }

  get #data(): string {
    return join(this.#directory, 'data');
  }

  #initialize(): void {
    const { uid, gid } = this.#owner;
    const passwordFile = join(this.#directory, 'password');
    mkdirSync(this.#data, { mode: 0o700 });
    writeFileSync(passwordFile, this.#password);
    for (const path of [this.#directory, this.#data, passwordFile]) {
      if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
    }
    const flags = `--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync --username=${USER}`;
    const places = [`--pwfile=${passwordFile}`, `--pgdata=${this.#data}`];
    execFileSync(join(this.#bin, 'initdb'), [...flags.split(' '), ...places], {
      ...this.#owner,
      cwd: this.#directory,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  }
}

/**
 * Creates a database, which is dropped with the scope.
 *
 * @param url of any database of the server
 * @param template address of a database to copy; nobody may be connected to it. Without one, the database is empty
 * @returns its address
 */
export async function newDatabase(scope: Scope, url: string, template?: string): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const like = template === undefined ? '' : ` template ${new URL(template).pathname.slice(1)}`;
  await query(url, `create database ${name}${like}`);
  scope.defer(() => drop(url, name));
  const made = new URL(url);
  made.pathname = name;
  return made.href;
}

/** Disconnects anyone who is still connected. If the server is gone, its databases are gone with it. */
async function drop(url: string, name: string): Promise<void> {
  try {
    await query(url, `drop database if exists ${name} with (force)`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')) throw error;
  }
}

/** Runs one statement on a separate connection. */
export async function query(
  url: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 5000,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(sql, [...parameters]);
    return rows;
  } finally {
    await client.end();
  }
}

function newestBin(): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).map(Number) : [];
  const found = versions
    .sort((a, b) => b - a)
    .map((version) => join(VERSIONS, String(version), 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')));
  if (found === undefined) throw new Error('PostgreSQL is missing; run e2e/support/setup.sh');
  return found;
}

/** PostgreSQL refuses to run as root: in a container it runs as a user that owns nothing. */
function ownerOfServer(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'nobody'])));
  return uid === undefined || gid === undefined ? {} : { uid, gid };
}
