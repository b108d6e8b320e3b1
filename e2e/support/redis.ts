/** A Redis server for tests, on a free port. Nothing outlives it. */
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { once } from 'node:events';
import { Child } from './child.ts';
import { eventually } from './deadline.ts';
import { temporaryDirectory } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

/** Debian's package `redis-server`; `e2e/support/setup.sh` installs it. */
const REDIS = '/usr/bin/redis-server';

export class RedisServer {
  readonly port: number;
  readonly #directory: string;
  #child: Child | undefined;
  /** the cost of {@link command} itself */
  #asked = { bytesIn: 0, bytesOut: 0 };

  private constructor(port: number, directory: string) {
    this.port = port;
    this.#directory = directory;
  }

  static async start(scope: Scope): Promise<RedisServer> {
    const server = new RedisServer(await closedPort(), temporaryDirectory(scope));
    scope.defer(() => server.stop());
    await server.resume();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    if (this.#child === undefined) throw new Error('the server does not run');
    return this.#child.pid;
  }

  /** Starts it again. */
  async resume(): Promise<void> {
    const flags = `--port ${this.port} --bind 127.0.0.1 --dir ${this.#directory} --save`;
    this.#child = new Child(REDIS, [...flags.split(' '), '']);
    this.#asked = { bytesIn: 0, bytesOut: 0 };
    await eventually(20_000, () => this.command('PING'));
  }

  /** Stops it cleanly, so that it has all its data after {@link resume}. */
  async shutDown(): Promise<void> {
    // It may exit before the connection is closed.
    await this.command('SHUTDOWN SAVE').catch(() => undefined);
    await this.#child?.exited;
    this.#child = undefined;
  }

  /** Kills it, so that it has lost all its data after {@link resume}. */
  async stop(): Promise<void> {
    await this.#child?.stop('SIGKILL');
    this.#child = undefined;
    rmSync(join(this.#directory, 'dump.rdb'), { force: true });
  }

  /** How often relays have run scripts since the server started. */
  async messages(): Promise<number> {
    return (await this.counters()).scripts;
  }

  /** What the server has done since it started, without the cost of reading the counters. */
  async counters() {
    const before = this.#asked.bytesOut;
    const text = await this.command('INFO everything');
    const calls = (command: string): number =>
      Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const value = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(text)?.[1]);
    return {
      /** scripts that relays have run */
      scripts: calls('eval') + calls('evalsha'),
      /** messages, by scripts or without */
      published: calls('publish'),
      bytesIn: value('total_net_input_bytes') - this.#asked.bytesIn,
      bytesOut: value('total_net_output_bytes') - before,
      /** bytes that the server uses now */
      memory: value('used_memory'),
    };
  }

  /** Runs one command and returns its raw reply. */
  async command(command: string): Promise<string> {
    const socket = connect(this.port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      const request = `${command}\r\nQUIT\r\n`;
      socket.end(request);
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      this.#asked.bytesIn += request.length;
      this.#asked.bytesOut += Buffer.byteLength(text);
      return text;
    } finally {
      socket.destroy();
    }
  }
}
