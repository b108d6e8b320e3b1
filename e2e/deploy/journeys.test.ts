/**
 * What people want to do with Culvert, from the first command to the result, with the number of commands that it takes.
 * No time is asserted.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Api } from '../support/api.ts';
import type { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { PostgresServer } from '../support/postgres.ts';
import { type Environment, spawnCulvert, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { type Field, visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { closedPort, type HttpService, startHttpService } from '../support/services/listen.ts';

const KEY = /cvt_\w{32}/;
const LISTENING = /^listening on /;

/** A user journey to a working result: the commands that are typed, and how long it takes. */
interface Journey {
  readonly name: string;
  /** the commands that were typed, in order */
  readonly typed: readonly string[];
  readonly ms: number;
}

/** A person at a terminal, with their own home directory. */
class Traveller {
  readonly #scope: Scope;
  readonly #environment: Environment;
  readonly #begun = performance.now();
  readonly #typed: string[] = [];

  constructor(scope: Scope, environment: Environment) {
    this.#scope = scope;
    this.#environment = environment;
  }

  /** Runs a command of the relay, which keeps running or exits by itself. */
  relay(...args: readonly string[]): Child {
    this.#typed.push(['culvert-relay', ...args].join(' '));
    return spawnRelay(this.#scope, args, this.#environment);
  }

  /** Runs a command of the client. @param input its standard input */
  culvert(args: readonly string[], input?: string): Child {
    this.#typed.push(['culvert', ...args].join(' '));
    return spawnCulvert(this.#scope, args, this.#environment, input);
  }

  /** The commands typed so far, and how long they have taken. */
  arrived(name: string): Journey {
    return { name, typed: [...this.#typed], ms: Math.round(performance.now() - this.#begun) };
  }
}

/** @returns what a command has printed when it exits @throws Error with all of it if it failed */
async function printed(child: Child): Promise<string> {
  const { code } = await child.exit();
  if (code !== 0) throw new Error(`ended with ${code}: ${child.output}`);
  return child.lines.join('\n');
}

/** Reports a finished journey, which must take exactly that many commands. */
function arrive(journey: Journey, commands: number): void {
  console.log(`      ${journey.name}: ${journey.typed.length} commands, ${journey.ms} ms`);
  assert.equal(journey.typed.length, commands, journey.typed.join('\n'));
}

async function serves(relay: Child): Promise<void> {
  await relay.line((line) => LISTENING.exec(line) ?? undefined, 120_000);
}

async function onlineTunnel(child: Child): Promise<Tunnel> {
  return await child.line((line) => {
    const { event, tunnel } = JSON.parse(line) as { event: string; tunnel?: Tunnel };
    return event === 'online' ? tunnel : undefined;
  });
}

async function see(address: string, headers: Field[] = []) {
  const { port, host, pathname } = new URL(address);
  return await visit(Number(port), { host, target: pathname, headers });
}

async function works(address: string): Promise<void> {
  assert.match((await see(address)).text, /My work/);
}

describe('journeys', () => {
  const scope = suiteScope();
  let service: HttpService;
  let hooks: string[];

  before(async () => {
    hooks = [];
    service = await startHttpService(scope, (request, response) => {
      if (request.method === 'POST') hooks.push(request.url ?? '');
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>My work</title>');
    });
  });

  /** Creates the operator's machine, with a port for the relay. */
  async function newServer(): Promise<Environment> {
    return { CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: String(await closedPort()) };
  }

  /** Creates a user's own machine. */
  function newHome(): Environment {
    const folder = temporaryDirectory(scope);
    return { XDG_CONFIG_HOME: folder, XDG_RUNTIME_DIR: folder, TMPDIR: folder };
  }

  /** A running relay, and its first key. */
  async function running(): Promise<{ server: Environment; relay: Child; url: string; key: string }> {
    const server = await newServer();
    const relay = new Traveller(scope, server).relay();
    await serves(relay);
    const key =
      KEY.exec(readFileSync(join(server['CULVERT_DATA_DIR'] ?? '', 'first-key'), 'utf8'))?.[0] ?? '';
    return { server, relay, url: `http://localhost:${server['CULVERT_PORT']}`, key };
  }

  it('a first address', async () => {
    const server = await newServer();
    const person = new Traveller(scope, { ...server, ...newHome() });
    await serves(person.relay());
    const key = readFileSync(join(server['CULVERT_DATA_DIR'] ?? '', 'first-key'), 'utf8');
    await printed(person.culvert(['login', '--relay', `http://localhost:${server['CULVERT_PORT']}`], key));
    const { public_url } = await onlineTunnel(person.culvert(['http', String(service.port), '--json']));
    await works(public_url);
    arrive(person.arrived('A first address'), 3);
  });

  it("a second person's key", async () => {
    const { server } = await running();
    const both = new Traveller(scope, { ...server, ...newHome() });
    const address = await printed(both.relay('invite', 'create', '--account', 'ann'));
    await printed(both.culvert(['login', address]));
    const { public_url } = await onlineTunnel(both.culvert(['http', String(service.port), '--json']));
    await works(public_url);
    arrive(both.arrived("A second person's tunnel"), 3);
  });

  /** A user who has signed in. */
  async function signedIn(): Promise<{ home: Environment; url: string; key: string }> {
    const { url, key } = await running();
    const home = newHome();
    await printed(new Traveller(scope, home).culvert(['login', '--relay', url], `${key}\n`));
    return { home, url, key };
  }

  it('a webhook that is seen and sent again', async () => {
    const { home } = await signedIn();
    const person = new Traveller(scope, home);
    const { public_url } = await onlineTunnel(person.culvert(['http', String(service.port), '--json']));
    const { port, host } = new URL(public_url);
    await visit(Number(port), { method: 'POST', host, target: '/hook', body: '{"paid":true}' });
    assert.match(await printed(person.culvert(['inspect'])), /POST.*\/hook/);
    await printed(person.culvert(['inspect', 'replay', '1']));
    assert.deepEqual(hooks, ['/hook', '/hook']);
    arrive(person.arrived('A webhook seen and sent again'), 3);
  });

  it('a password on a tunnel', async () => {
    const { home } = await signedIn();
    const person = new Traveller(scope, home);
    const child = person.culvert(['http', String(service.port), '--password', 'open-sesame', '--json']);
    const { public_url } = await onlineTunnel(child);
    assert.equal((await see(public_url, [['Accept', 'text/html']])).status, 401);
    arrive(person.arrived('A password on a tunnel'), 1);
  });

  it('a team of fifty', async () => {
    const { server, url } = await running();
    const operator = new Traveller(scope, server);
    const team = ['--name', 'team', '--count', '50', '--plan', 'dev', '--with-key'];
    const lines = (await printed(operator.relay('account', 'create', ...team))).split('\n');
    assert.equal(lines.length, 50);
    const last = KEY.exec(lines.at(-1) ?? '')?.[0];
    assert.equal((await new Api({ port: Number(new URL(url).port) }, last).account()).name, 'team-50');
    arrive(operator.arrived('A team of fifty'), 1);
  });

  it('a move to PostgreSQL, on which a revoked key stays revoked', async () => {
    const { server, relay, key } = await running();
    const port = Number(server['CULVERT_PORT']);
    const keyId = async (environment: Environment): Promise<string> => {
      const list = await printed(new Traveller(scope, environment).relay('key', 'list', '--json'));
      return (JSON.parse(list) as { keys: { id: string }[] }).keys[0]?.id ?? '';
    };
    const revoked = await printed(
      new Traveller(scope, server).relay('key', 'create', '--account', 'default', '--json'),
    );
    const { id, key: gone } = JSON.parse(revoked) as { id: string; key: string };
    await printed(new Traveller(scope, server).relay('key', 'revoke', id));
    await relay.stop('SIGTERM');
    const postgres = await PostgresServer.start();
    scope.defer(() => postgres.remove());
    const operator = new Traveller(scope, server);
    const from = `sqlite:${join(server['CULVERT_DATA_DIR'] ?? '', 'culvert.db')}`;
    await printed(operator.relay('migrate', '--from', from, '--to', postgres.url));
    await serves(operator.relay('serve', '--database-url', postgres.url));
    arrive(operator.arrived('A move to PostgreSQL'), 2);
    const status = async (used: string) => (await new Api({ port }, used).send('GET', '/v1/account')).status;
    assert.deepEqual([await status(key), await status(gone)], [200, 401]);
    // The old file names the new location, and revokes nothing.
    const stale = new Traveller(scope, server).relay(
      'key',
      'revoke',
      await keyId({ ...server, CULVERT_DATABASE_URL: postgres.url }),
    );
    assert.equal((await stale.exit()).code, 1);
    assert.match(stale.stderr, /was moved to postgres:/);
    assert.equal(await status(key), 200);
  });

  it('a crash, and the way back to the same address', async () => {
    const { home } = await signedIn();
    const person = new Traveller(scope, home);
    const open = ['http', String(service.port), '--name', 'shop', '--json'];
    const first = new Traveller(scope, home).culvert(open);
    const { public_url } = await onlineTunnel(first);
    await first.stop('SIGKILL');
    const again = await onlineTunnel(person.culvert(open));
    assert.equal(again.public_url, public_url);
    await eventually(20_000, () => works(public_url));
    arrive(person.arrived('Back after a crash'), 1);
  });
});
