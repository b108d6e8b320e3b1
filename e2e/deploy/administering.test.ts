import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { newApiKey, Relay, RELAY_SCRIPT, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const PAGE = readFileSync(new URL('../../docs/operating/systemd.md', import.meta.url), 'utf8');

describe('the function for commands in docs/operating/systemd.md', () => {
  const scope = suiteScope();

  it('works on the database of relay.env, in any working directory', async () => {
    const [line = ''] = PAGE.match(/^relay\(\) \{.*\}$/m) ?? [];
    const folder = temporaryDirectory(scope);
    const file = join(temporaryDirectory(scope), 'elsewhere.db');
    await Relay.start(scope, { CULVERT_DATABASE_URL: `sqlite:${file}`, CULVERT_BOOTSTRAP_KEY: newApiKey() });
    const settings = join(folder, 'relay.env');
    writeFileSync(settings, `CULVERT_DATABASE_URL="sqlite:${file}"\nCULVERT_RESERVED_NAMES="www,api"\n`);
    program(join(folder, 'sudo'), 'exec "$@"');
    program(join(folder, 'runuser'), '[ "$1 $2 $3" = "-u culvert --" ] && shift 3 && exec "$@"');
    program(join(folder, 'culvert-relay'), `exec '${process.execPath}' '${RELAY_SCRIPT}' "$@"`);
    const script = `${line.replace('/etc/culvert/relay.env', settings)}\nrelay account list --json`;
    const path = [folder, process.env['PATH']].join(delimiter);
    const said = execFileSync('sh', ['-c', script], { cwd: folder, env: { PATH: path }, encoding: 'utf8' });
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
    assert.match(child.stderr, /there is no database of a relay/);
  });
});

function program(path: string, line: string): void {
  writeFileSync(path, `#!/bin/sh\n${line}\n`);
  chmodSync(path, 0o755);
}
