/** What other tools run, with a real relay, as those tools run it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { createAccount } from '../support/accounts.ts';
import { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { commandsOf } from '../support/page-commands.ts';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

const INTEGRATIONS = fileURLToPath(new URL('../../desktop/integrations/', import.meta.url));

describe('integrations', () => {
  const { scope, relay } = sharedRelaySuite();
  let folder: string;
  let settings: Readonly<Record<string, string>>;
  let port: number;

  beforeEach(async () => {
    folder = temporaryDirectory(scope);
    // As if it were installed.
    program('culvert', `exec ${process.execPath} ${CULVERT_SCRIPT} "$@"`);
    const { key } = await createAccount(relay);
    settings = {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
      PATH: `${folder}:${process.env['PATH']}`,
      HOME: folder,
    };
    port = (await startHttpService(scope, (_, response) => response.end('the service'))).port;
  });

  function program(name: string, script: string): void {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }

  function run(script: string, environment: Readonly<Record<string, string>>): Child {
    const child = new Child('/bin/bash', [join(INTEGRATIONS, script)], {
      environment: { ...settings, ...environment },
      isApart: true,
    });
    // Also what the script leaves to its job.
    scope.defer(() => spawnSync('kill', ['-KILL', '--', `-${child.pid}`]));
    return child;
  }

  async function page(url: string): Promise<string> {
    return (await visit(relay.port, { host: new URL(url).host })).text;
  }

  it('give a workflow that runs on this machine a public address, and pass its exit code on', async () => {
    const local = await closedPort();
    // Like act, it passes on no variable but those that it is told.
    program(
      'act',
      `[ "$1 $2" = "pull_request --env" ] && exec env -i PATH="$PATH" "$3" node ${folder}/job.mjs`,
    );
    writeFileSync(
      join(folder, 'job.mjs'),
      `import { createServer, get } from 'node:http';
      createServer((_, response) => response.end('from the job')).listen(${local}, '127.0.0.1');
      const { host } = new URL(process.env.BASE_URL);
      get({ port: ${relay.port}, headers: { host } }, (response) => {
        response.setEncoding('utf8').on('data', (body) => process.exit(body === 'from the job' ? 7 : 1));
      });`,
    );
    const [line = ''] = commandsOf('guides/ci.md', 'Run a workflow on your machine');
    const child = new Child('/bin/sh', ['-c', line.replace('3000', String(local))], {
      environment: settings,
    });
    scope.defer(() => child.end());
    assert.deepEqual(await child.exit(), { code: 7, signal: null }, child.output);
  });

  describe('the share provider of ddev', () => {
    it('prints the address as its first line, and nothing more, until ddev ends it', async () => {
      const local = `http://127.0.0.1:${port}`;
      const child = run('ddev-share-provider.sh', { DDEV_LOCAL_URL: local, DDEV_SHARE_ARGS: '--name shop' });
      const url = await child.line((line) => line);
      assert.match(url, /^http:\/\/shop\.localhost:\d+$/);
      assert.equal(await page(url), 'the service');
      assert.equal((await child.stop('SIGTERM')).code, 0);
      assert.deepEqual(child.lines, [url]);
      await eventually(20_000, async () => assert.match(await page(url), /tunnel-offline/));
    });

    it('fails if there can be no tunnel, and says why', async () => {
      const child = run('ddev-share-provider.sh', {
        DDEV_LOCAL_URL: `http://127.0.0.1:${port}`,
        CULVERT_API_KEY: `cvt_${'x'.repeat(32)}`,
      });
      assert.notEqual((await child.exit()).code, 0);
      assert.deepEqual(child.lines, []);
      assert.match(child.stderr, /rejected the API key/);
    });
  });

  describe('the action of GitHub', () => {
    interface Action {
      readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
      readonly runs: { readonly steps: readonly { readonly env: Readonly<Record<string, string>> }[] };
    }

    /** The variables of its step: inputs, and what GitHub adds. */
    function variables(given: Readonly<Record<string, string>>): Record<string, string> {
      const action = parse(readFileSync(join(INTEGRATIONS, 'github-action/action.yml'), 'utf8')) as Action;
      const [step] = action.runs.steps;
      const own: Readonly<Record<string, string>> = {
        'github.event.pull_request.number': '12',
        'github.token': 'token',
        'github.repository': 'owner/site',
        'inputs.relay': relay.url,
        'inputs.key': settings['CULVERT_API_KEY'] ?? '',
      };
      const values = Object.entries(step?.env ?? {}).map(([name, text]) => {
        const [, path = ''] = /^\$\{\{ (\S+) \}\}$/.exec(text) ?? [];
        const input = path.replace(/^inputs\./, '');
        return [name, own[path] ?? given[input] ?? action.inputs[input]?.default ?? assert.fail(path)];
      });
      mkdirSync(join(folder, 'temporary'));
      const files = { GITHUB_OUTPUT: join(folder, 'output'), GITHUB_PATH: join(folder, 'path') };
      return { ...Object.fromEntries(values), ...files, RUNNER_TEMP: join(folder, 'temporary') };
    }

    it('exposes a port until the job ends, with its address as output and in one comment', async () => {
      program('gh', `echo "$@" >> ${folder}/comments`);
      const child = run(
        'github-action/tunnel.sh',
        variables({ port: String(port), name: 'pr-12', comment: 'true' }),
      );
      const output = await child.finished(60_000);
      const [, url = ''] = /^url=(.*)$/m.exec(readFileSync(join(folder, 'output'), 'utf8')) ?? [];
      assert.match(url, /^http:\/\/pr-12\.localhost:\d+$/);
      assert.equal(output, `Online at ${url}\n`);
      assert.equal(await page(url), 'the service');
      assert.equal(
        readFileSync(join(folder, 'comments'), 'utf8'),
        `pr comment 12 --edit-last --create-if-none --body Preview: ${url}\n`,
      );
    });

    it('shares a folder, and makes no comment that nobody asked for', async () => {
      mkdirSync(join(folder, 'dist'));
      writeFileSync(join(folder, 'dist/index.html'), 'the file');
      program('gh', `touch ${folder}/comments`);
      const child = run(
        'github-action/tunnel.sh',
        variables({ folder: join(folder, 'dist'), options: '--ttl 5m' }),
      );
      const [, url = ''] = await child.printed(/^Online at (.*)$/m);
      assert.equal(await page(url), 'the file');
      await child.finished(60_000);
      assert.ok(!existsSync(join(folder, 'comments')));
    });

    it('fails with the reason if there can be no tunnel', async () => {
      const child = run('github-action/tunnel.sh', variables({ port: String(port), options: '--ttl never' }));
      assert.equal((await child.exit()).code, 1);
      assert.match(child.output, /^::error::culvert: .*--ttl.*%0A/m);
    });

    it('needs either a port or a folder', async () => {
      const child = run('github-action/tunnel.sh', variables({ port: String(port), folder }));
      assert.equal((await child.exit()).code, 1);
      assert.equal(child.output.trim(), '::error::Set either port or folder.');
    });
  });
});
