/** What generators and linters make of the OpenAPI document of a running relay. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const run = promisify(execFile);

/** A program with the client that openapi-typescript generates, as its documentation shows it. */
const PROGRAM = `
import createClient from 'openapi-fetch';
import type { components, paths } from './relay.d.ts';

const { RELAY, KEY } = process.env as Record<string, string>;
const relay = createClient<paths>({ baseUrl: RELAY!, headers: { Authorization: 'Bearer ' + KEY } });

// No option but the port is required.
const made = await relay.POST('/v1/tunnels', { body: { local_port: 3000 } });
const tunnel: components['schemas']['Tunnel'] = made.data!;
const access: components['schemas']['Access'] = { tokens: [{ name: 'ci' }] };
const path = { id: tunnel.id };
const set = await relay.PUT('/v1/tunnels/{id}/access', { params: { path }, body: access });
const token: components['schemas']['TunnelToken'] = set.data!.access.tokens![0]!;
const list = await relay.GET('/v1/tunnels');
const ids: string[] = list.data!.tunnels.map(({ id }) => id);
const plan: 'free' | 'dev' | 'team' = (await relay.GET('/v1/account')).data!.plan;
const closed = await relay.DELETE('/v1/tunnels/{id}', { params: { path } });
const status: 'closed' = closed.data!.status;
const gone = await relay.GET('/v1/tunnels/{id}', { params: { path } });
// @ts-expect-error a port is a number
const wrong = await relay.POST('/v1/tunnels', { body: { local_port: '3000' } });
console.log(
  JSON.stringify({ found: ids.includes(tunnel.id), token: token.name, plan, status, gone: gone.error, wrong: wrong.error }),
);
`;

describe('a client generated from the OpenAPI document (docs/reference/rest.md)', () => {
  const scope = suiteScope();
  let project: string;
  let relay: Relay;
  let env: Record<string, string>;

  function start(script: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
    return run(process.execPath, [join(project, script), ...args], { cwd: project, env }).catch(
      ({ stdout, stderr }: { stdout: string; stderr: string }) => assert.fail(`${stdout}\n${stderr}`),
    );
  }

  before(async function () {
    this.timeout(240_000);
    project = join(temporaryDirectory(scope), 'project');
    mkdirSync(project);
    const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
    writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
    // The generator needs the compiler's API, which TypeScript 7 does not have.
    const wanted = [
      'openapi-typescript@7',
      'openapi-fetch@0.17',
      'typescript@5',
      '@types/node@24',
      '@redocly/cli@2',
    ];
    const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...wanted];
    await run('npm', install, { cwd: project, env: { ...process.env, PATH: path } });
    relay = await Relay.start(scope);
    env = {
      PATH: path,
      HOME: project,
      RELAY: relay.url,
      KEY: relay.bootstrapKey,
      REDOCLY_TELEMETRY: 'off',
      REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
    };
    const document = await fetch(`${relay.url}/v1/openapi.json`);
    writeFileSync(join(project, 'relay.json'), await document.text());
  });

  it('has the right types, and works', async function () {
    this.timeout(120_000);
    await start('node_modules/openapi-typescript/bin/cli.js', ['relay.json', '-o', 'relay.d.ts']);
    writeFileSync(join(project, 'program.ts'), PROGRAM);
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    await start('node_modules/typescript/bin/tsc', [
      ...options,
      '--allowImportingTsExtensions',
      '--skipLibCheck',
      'program.ts',
    ]);
    const { stdout } = await start('program.ts', []);
    assert.deepEqual(JSON.parse(stdout), {
      found: true,
      token: 'ci',
      plan: 'dev',
      status: 'closed',
      gone: { error: 'tunnel not found', code: 'tunnel-not-found' },
      wrong: { error: 'local_port must be 1-65535', code: 'invalid-port' },
    });
  });

  it("passes redocly's recommended rules without a warning", async function () {
    this.timeout(120_000);
    // The relay of this test is on localhost, which the rule is against.
    const args = ['lint', 'relay.json', '--extends', 'recommended', '--skip-rule', 'no-server-example.com'];
    const { stderr, stdout } = await start('node_modules/@redocly/cli/bin/cli.js', args);
    assert.match(stdout + stderr, /Your API description is valid/);
    assert.doesNotMatch(stdout + stderr, /warning/i);
  });
});
