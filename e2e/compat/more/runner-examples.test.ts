/** The examples of docs/guides/tests-and-vite.md for vitest and Playwright Test, with these runners (setup.sh). */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runScript } from '../../support/child.ts';
import { assertWithin, within } from '../../support/deadline.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope } from '../../support/scope.ts';
import { CHROMIUM } from '../../support/browser.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Where setup.sh installs the runners. */
const RUNNERS = fileURLToPath(new URL('./', import.meta.url));
const GUIDE = readFileSync(join(ROOT, 'docs/guides/tests-and-vite.md'), 'utf8');
/** Debian's browser, and as root. */
const CONFIG = `export default {
  workers: 1,
  reporter: 'line',
  use: { launchOptions: { executablePath: '${CHROMIUM}', args: ['--no-sandbox'] } },
};
`;

const failing = (runner: string): string => `
import { expose } from '@culvert/culvert';
import { test } from '${runner}';

test('fails', async () => {
  await using tunnel = await expose((request, response) => response.end('ok'));
  await tunnel.fetch('/');
  console.log('fails now');
  throw new Error('as it should');
});
`;

const COMMANDS = {
  vitest: ['vitest/vitest.mjs', 'run', '--testTimeout=60000'],
  '@playwright/test': ['@playwright/test/cli.js', 'test', '--timeout=60000'],
} as const;

describe('the examples for vitest and Playwright Test (docs/guides/tests-and-vite.md)', () => {
  const scope = suiteScope();
  let environment: Record<string, string>;

  before(async () => {
    const relay = await Relay.start(scope);
    environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: relay.bootstrapKey, CI: '1' };
    const link = join(RUNNERS, 'node_modules/@culvert/culvert');
    rmSync(link, { force: true });
    mkdirSync(join(link, '..'), { recursive: true });
    symlinkSync(ROOT, link);
    scope.defer(() => rmSync(link, { force: true }));
  });

  function start(runner: keyof typeof COMMANDS, name: string, text: string) {
    const folder = mkdtempSync(join(RUNNERS, 'run-'));
    scope.defer(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, 'playwright.config.js'), CONFIG);
    const [script, ...args] = COMMANDS[runner];
    const child = runScript(join(RUNNERS, 'node_modules', script), args, environment, undefined, folder);
    scope.defer(() => child.stop('SIGKILL'));
    return child;
  }

  for (const [runner, name] of [
    ['vitest', 'hello.test.js'],
    ['@playwright/test', 'shop.spec.js'],
  ] as const) {
    it(`passes and ends with ${runner}`, async () => {
      const example = new RegExp(`\`\`\`js\n// ${name}.*\n([^]*?)\`\`\``).exec(GUIDE)?.[1];
      assert.ok(example !== undefined);
      const child = start(runner, name, example);
      const { code } = await within(90_000, 'end of the test', child.exited);
      assert.equal(code, 0, child.output);
      assert.match(child.output, /1 passed/);
    });

    it(`ends within 2 s of a failed test with ${runner}`, async () => {
      const child = start(runner, name, failing(runner));
      await child.printed(/fails now/, 60_000);
      const failedAt = performance.now();
      const { code } = await within(60_000, 'end of the test', child.exited);
      assert.equal(code, 1, child.output);
      assert.match(child.output, /as it should/);
      assertWithin(performance.now() - failedAt, 2000);
    });
  }
});
