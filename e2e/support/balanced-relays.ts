/** Three relays behind nginx that a suite uses like one. */
import type { Child, Exit } from './child.ts';
import { RelayCluster } from './cluster.ts';
import type { NativeServer } from './native-server.ts';
import type { Environment, Relay, RelayProcess, RelayProgram } from './programs.ts';
import type { Scope } from './scope.ts';
import { closedPort } from './services/listen.ts';

const RELAYS = 3;

/**
 * The previous start. Suites that start a dozen relays concurrently would otherwise start three dozen programs at the
 * same time.
 */
let starting: Promise<unknown> = Promise.resolve();

/** Starts a balancer on a port, in front of other ports. */
export type StartBalancer = (
  scope: Scope,
  port: number,
  relayPorts: readonly number[],
) => Promise<NativeServer>;

export class BalancedRelays implements Relay {
  readonly port: number;
  readonly child: RelayProcess;
  readonly #relays: readonly RelayProgram[];

  private constructor(port: number, relays: readonly RelayProgram[]) {
    this.port = port;
    this.#relays = relays;
    this.child = new Together(() => relays.map(({ child }) => child));
  }

  /** @param settings environment of each relay */
  static async start(
    scope: Scope,
    settings: Environment,
    startBalancer: StartBalancer,
  ): Promise<BalancedRelays> {
    const start = (): Promise<BalancedRelays> => BalancedRelays.#startNow(scope, settings, startBalancer);
    const started = starting.then(start, start);
    starting = started;
    return await started;
  }

  static async #startNow(
    scope: Scope,
    settings: Environment,
    startBalancer: StartBalancer,
  ): Promise<BalancedRelays> {
    const port = await closedPort();
    const scheme = settings['CULVERT_TLS_CERT'] === undefined ? 'http' : 'https';
    const cluster = await RelayCluster.start(scope, RELAYS, {
      CULVERT_PUBLIC_URL: `${scheme}://localhost:${port}`,
      ...settings,
    });
    const ports = cluster.relays.map((relay) => relay.port);
    await startBalancer(scope, port, ports);
    return new BalancedRelays(port, cluster.relays);
  }

  get url(): string {
    return `${new URL(this.#first.url).protocol}//localhost:${this.port}`;
  }

  get bootstrapKey(): string {
    return this.#first.bootstrapKey;
  }

  get dataDirectory(): string {
    return this.#first.dataDirectory;
  }

  get databaseSettings(): Environment {
    return this.#first.databaseSettings;
  }

  /** Stops all of them. The balancer keeps running. */
  async stop(signal?: NodeJS.Signals, ms?: number): Promise<Exit> {
    return worst(await Promise.all(this.#relays.map((relay) => relay.stop(signal, ms))));
  }

  async restart(): Promise<void> {
    await Promise.all(this.#relays.map((relay) => relay.restart()));
  }

  async administer(...args: string[]): Promise<Record<string, unknown>> {
    return await this.#first.administer(...args);
  }

  get #first(): RelayProgram {
    const [first] = this.#relays;
    if (first === undefined) throw new RangeError('there is no relay');
    return first;
  }
}

/** Several programs as one: their output is joined, and every action applies to all of them. */
class Together implements RelayProcess {
  readonly #all: () => readonly Child[];

  constructor(all: () => readonly Child[]) {
    this.#all = all;
  }

  get lines(): string[] {
    return this.#all().flatMap(({ lines }) => lines);
  }

  get stderr(): string {
    return this.#all()
      .map(({ stderr }) => stderr)
      .join('');
  }

  get hasExited(): boolean {
    return this.#all().every(({ hasExited }) => hasExited);
  }

  /** The pid of the first program. */
  get pid(): number {
    const [first] = this.#all();
    if (first === undefined) throw new RangeError('there is no relay');
    return first.pid;
  }

  kill(signal: NodeJS.Signals): void {
    for (const child of this.#all()) child.kill(signal);
  }

  async exit(ms?: number): Promise<Exit> {
    return worst(await Promise.all(this.#all().map((child) => child.exit(ms))));
  }
}

/** The first exit that is not a success, or success. */
function worst(exits: readonly Exit[]): Exit {
  return exits.find(({ code }) => code !== 0) ?? { code: 0, signal: null };
}
