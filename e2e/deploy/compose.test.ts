import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readArguments } from '../../desktop/cli/commands/commands.ts';
import { NO_FILES } from '../../desktop/testing/command-context.ts';
import { type Config, loadConfig } from '../../server/config.ts';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly network_mode?: string;
  readonly healthcheck?: { readonly test?: readonly string[] };
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: {
    readonly default?: { readonly ipv4_address?: string; readonly aliases?: readonly string[] };
  };
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
}

const FOLDER = new URL('../../server/deploy/', import.meta.url);
/** What the image sets itself. */
const IMAGE = { CULVERT_HOST: '0.0.0.0', CULVERT_PORT: '8080', CULVERT_DATA_DIR: '/data' };

/** The contents of `.env` beside the file, as Compose substitutes them. */
const SECRETS: Readonly<Record<string, string>> = {
  CLUSTER_SECRET: 'c'.repeat(64),
  POSTGRES_PASSWORD: 'p'.repeat(64),
  REDIS_PASSWORD: 'r'.repeat(64),
  CULVERT_RELAY: 'https://relay.example.com',
  CULVERT_API_KEY: `cvt_${'k'.repeat(32)}`,
};

function composeOf(name: string): Compose {
  const text = readFileSync(new URL(name, FOLDER), 'utf8').replaceAll(
    /\$\{(\w+):\?[^}]*\}/g,
    (_, secret: string) => SECRETS[secret] ?? '',
  );
  return parse(text, { merge: true }) as Compose;
}

/** Asserts that everything that is mounted exists. */
function assertVolumes({ services, volumes }: Compose): void {
  for (const volume of Object.values(services).flatMap((service) => service.volumes ?? [])) {
    const [source = ''] = volume.split(':');
    assert.ok(source.startsWith('.') ? existsSync(new URL(source, FOLDER)) : source in volumes, volume);
  }
}

/** Asserts that a service builds the shipped image. @returns its settings, as a relay reads them */
function configOf(service: Service | undefined): Config {
  const context = new URL(`${service?.build?.context}/`, FOLDER);
  assert.ok(existsSync(new URL(service?.build?.dockerfile ?? '', context)));
  const loaded = loadConfig({ ...IMAGE, ...service?.environment }, []);
  assert.ok('config' in loaded, JSON.stringify(loaded));
  return loaded.config;
}

/** Without Docker: checks that the relay accepts the settings in the files, and that they name existing things. */
describe('compose files', () => {
  for (const name of ['compose.yml', 'compose-caddy.yml']) {
    it(`${name} builds the shipped image, with settings that a relay accepts`, () => {
      const compose = composeOf(name);
      const { relay } = compose.services;
      configOf(relay);
      assert.deepEqual(relay?.ports, ['443:443', '80:80']);
      assertVolumes(compose);
    });
  }

  it('compose-app.yml has a client beside a service, with a command line that it accepts', () => {
    const { tunnel, app } = composeOf('compose-app.yml').services;
    assert.ok(app);
    assert.equal(tunnel?.network_mode, 'service:app');
    assert.ok(
      existsSync(new URL(tunnel.build?.dockerfile ?? '', new URL(`${tunnel.build?.context}/`, FOLDER))),
    );
    const [program, ...args] = tunnel.command ?? [];
    assert.equal(program, 'culvert');
    assert.equal(readArguments(args, tunnel.environment ?? {}, NO_FILES).name, 'http');
  });

  it('compose-cluster.yml has three relays that form one cluster, and start when their dependencies are ready', () => {
    const compose = composeOf('compose-cluster.yml');
    const { caddy, redis, postgres } = compose.services;
    const names = ['relay-1', 'relay-2', 'relay-3'];
    for (const name of names) {
      const service = compose.services[name];
      const { cluster, database, trustedProxies } = configOf(service);
      assert.deepEqual(
        [cluster?.host, cluster?.port, cluster?.secret],
        [name, 7070, SECRETS['CLUSTER_SECRET']],
      );
      assert.equal(cluster?.redisUrl, `redis://:${SECRETS['REDIS_PASSWORD']}@redis:6379`);
      assert.ok(JSON.stringify(database).includes(`culvert:${SECRETS['POSTGRES_PASSWORD']}@postgres:5432`));
      assert.ok(trustedProxies.check(caddy?.networks?.default?.ipv4_address ?? ''));
      const first = name === 'relay-1' ? [] : ['relay-1'];
      assert.deepEqual(
        service?.depends_on,
        Object.fromEntries(
          ['postgres', 'redis', ...first].map((needed) => [needed, { condition: 'service_healthy' }]),
        ),
      );
      assert.equal(service?.ports, undefined);
      assert.deepEqual(service?.networks?.default?.aliases, ['relay']);
    }
    // The relay's health check is in its image.
    for (const store of [redis, postgres]) assert.ok(store?.healthcheck?.test);
    assert.equal(caddy?.environment?.['RELAYS'], names.map((name) => `${name}:8080`).join(' '));
    assert.equal(caddy.environment['RELAY'], 'relay:8080');
    assert.deepEqual(caddy.ports, ['443:443', '80:80']);
    assertVolumes(compose);
  });
});
