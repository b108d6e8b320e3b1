import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { gapsOf } from '../../server/cli/serve.ts';
import { loadConfig } from '../../server/config.ts';
import { newApiKey, Relay, RELAY_SCRIPT, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const TUTORIAL = readFileSync(new URL('../../docs/start/your-own-relay.md', import.meta.url), 'utf8');
const SCRIPT = new URL('../../server/deploy/relay', import.meta.url);

/** booted.test.ts runs it as it is installed. */
describe('the script for commands, server/deploy/relay', () => {
  const scope = suiteScope();

  it('works on the database of relay.env, in any working directory', async () => {
    const folder = temporaryDirectory(scope);
    const file = join(temporaryDirectory(scope), 'elsewhere.db');
    await Relay.start(scope, { CULVERT_DATABASE_URL: `sqlite:${file}`, CULVERT_BOOTSTRAP_KEY: newApiKey() });
    const settings = join(folder, 'relay.env');
    writeFileSync(settings, `CULVERT_DATABASE_URL="sqlite:${file}"\nCULVERT_RESERVED_NAMES="www,api"\n`);
    program(join(folder, 'id'), 'echo 0');
    program(join(folder, 'runuser'), '[ "$1 $2 $3" = "-u culvert --" ] && shift 3 && exec "$@"');
    program(join(folder, 'culvert-relay'), `exec '${process.execPath}' '${RELAY_SCRIPT}' "$@"`);
    const script = readFileSync(SCRIPT, 'utf8').replace('/etc/culvert/relay.env', settings);
    const env = { PATH: [folder, process.env['PATH']].join(delimiter) };
    const args = ['-c', script, 'relay', 'account', 'list', '--json'];
    const said = execFileSync('sh', args, { cwd: folder, env, encoding: 'utf8' });
    const { accounts } = JSON.parse(said) as { accounts: { name: string }[] };
    assert.deepEqual(
      accounts.map(({ name }) => name),
      ['default'],
    );
  });

  it('is needed: without the settings, a command fails and creates nothing', async () => {
    const child = spawnRelay(scope, ['account', 'list'], {
      CULVERT_DATA_DIR: join(temporaryDirectory(scope), 'none'),
    });
    assert.equal((await child.exit()).code, 1);
    assert.match(child.stderr, /there is no relay database/);
  });
});

function program(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}

describe('relay.env in the tutorial', () => {
  it('makes a relay with its own certificates that others reach', () => {
    const [, lines = ''] = /relay\.env <<'END'\n([^]*?)\nEND\n/.exec(TUTORIAL) ?? [];
    const loaded = loadConfig(Object.fromEntries(lines.split('\n').map((line) => line.split('='))), []);
    assert.ok('config' in loaded, JSON.stringify(loaded));
    const { host, port, acme } = loaded.config;
    assert.deepEqual([host, port, acme?.host], ['::', 443, 'relay.example.com']);
    assert.deepEqual(gapsOf(loaded.config), []);
  });
});
