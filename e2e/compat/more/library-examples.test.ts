/** The examples of docs/guides/tests-and-vite.md with the runners that they are for, and how a process with a tunnel ends. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, runScript } from '../../support/child.ts';
import { assertWithin, within } from '../../support/deadline.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope } from '../../support/scope.ts';
import { CHROMIUM } from '../../support/browser.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const MOCHA = join(ROOT, 'node_modules/mocha/bin/mocha.js');
const GUIDE = readFileSync(join(ROOT, 'docs/guides/tests-and-vite.md'), 'utf8');

const failing = (open: string): string => `
import { expose } from '@culvert/culvert';

it('fails', async () => {
  ${open}
  await tunnel.fetch('/');
  console.log('fails now');
  throw new Error('as it should');
});
`;
const APP = "expose((request, response) => response.end('ok'))";

describe('the examples for test runners (docs/guides/tests-and-vite.md)', () => {
  const scope = suiteScope();
  let folder: string;
  let environment: Record<string, string>;

  before(async () => {
    // Below the package, whose own name then resolves to its build.
    folder = mkdtempSync(join(ROOT, 'dist/examples-'));
    scope.defer(() => rmSync(folder, { recursive: true, force: true }));
    const relay = await Relay.start(scope);
    environment = {
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: relay.bootstrapKey,
      CHROMIUM,
    };
  });

  function start(name: string, text: string, isMocha: boolean): Child {
    const file = join(folder, name);
    writeFileSync(file, text);
    const child = isMocha
      ? runScript(MOCHA, ['--timeout', '60000', file], environment)
      : runScript(file, [], environment);
    scope.defer(() => child.stop('SIGKILL'));
    return child;
  }

  for (const name of ['webhook.test.js', 'webhook.spec.js', 'page.spec.js'])
    it(`passes and ends: ${name}`, async () => {
      const example = new RegExp(`\`\`\`js\n// ${name}.*\n([^]*?)\`\`\``).exec(GUIDE)?.[1];
      assert.ok(example !== undefined);
      const child = start(name, example, name.endsWith('.spec.js'));
      const { code } = await within(90_000, 'end of the test', child.exited);
      assert.equal(code, 0, child.output);
    });

  for (const [how, open] of [
    ['closes its tunnel with await using', `await using tunnel = await ${APP};`],
    ['does not close a tunnel after unref', `const tunnel = (await ${APP}).unref();`],
  ] as const)
    it(`ends within 2 s of a failed test that ${how}`, async () => {
      const child = start('failing.spec.js', failing(open), true);
      await child.line((line) => (line === 'fails now' ? true : undefined), 60_000);
      const failedAt = performance.now();
      const { code } = await within(60_000, 'end of the test', child.exited);
      assert.equal(code, 1, child.output);
      assertWithin(performance.now() - failedAt, 2000);
      assert.match(child.output, /as it should/);
    });

  it('ends a program that has nothing else to do after unref, without an error', async () => {
    const text = `import { expose } from '@culvert/culvert';\nconst tunnel = (await ${APP}).unref();\nawait tunnel.fetch('/');\n`;
    const child = start('program.js', text, false);
    assert.deepEqual(await within(60_000, 'end', child.exited), { code: 0, signal: null }, child.output);
  });

  it('closes the tunnel before the process ends, even after unref', async () => {
    const text = `import { expose } from '@culvert/culvert';\nconst tunnel = (await ${APP}).unref();\nawait tunnel.close();\nconsole.log('closed');\n`;
    const child = start('closing.js', text, false);
    assert.equal((await within(60_000, 'end', child.exited)).code, 0, child.output);
    assert.deepEqual(child.lines, ['closed']);
  });
});
