/** What an agent reads first: every command in it is run, in the order of the text. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../release/repository.ts';
import { describeOnPosix } from '../../shared/testing/posix.ts';
import { createAccount } from '../support/accounts.ts';
import { Child } from '../support/child.ts';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';

const FOLDER = join(ROOT, 'desktop/agents');

const commandsOf = (file: string): string[] =>
  [...readFileSync(join(FOLDER, file), 'utf8').matchAll(/```sh\n(.*?)```/gs)].map(([, text = '']) => text);

describeOnPosix('instructions for agents', () => {
  const scope = suiteScope();

  /** Runs commands of a page, with a service whose port replaces 3000, and a home of their own. */
  async function run(key: string | undefined, commands: readonly string[]): Promise<void> {
    const relay = await sharedRelay();
    const { port } = await startHttpService(scope, (_request, response) => response.end('hello'));
    const home = temporaryDirectory(scope);
    writeFileSync(join(home, 'culvert'), `#!/bin/sh\nexec '${process.execPath}' '${CULVERT_SCRIPT}' "$@"\n`);
    chmodSync(join(home, 'culvert'), 0o755);
    const script = commands.join('').replaceAll(/\b3000\b(?!-)/g, String(port));
    const child = new Child('sh', ['-euxc', `${script}wait\n`], {
      folder: home,
      environment: {
        PATH: `${home}:${process.env['PATH'] ?? ''}`,
        HOME: home,
        XDG_CONFIG_HOME: home,
        XDG_RUNTIME_DIR: home,
        TMPDIR: home,
        CULVERT_RELAY: relay.url,
        CULVERT_API_KEY: key ?? (await createAccount(relay)).key,
      },
    });
    scope.defer(() => child.stop('SIGKILL'));
    const { code } = await child.exit(120_000);
    assert.equal(code, 0, child.output);
  }

  for (const file of ['SKILL.md', 'llms.txt'])
    it(`in ${file} have commands that work as typed`, async () => {
      const commands = commandsOf(file);
      assert.ok(commands.length > 0);
      await run(undefined, commands);
    });

  it('do not wait for a tunnel that cannot be opened', async () => {
    const opening = commandsOf('SKILL.md').filter((text) => text.includes('until '));
    assert.equal(opening.length, 1);
    await run(`cvt_${'x'.repeat(32)}`, opening);
  });
});
