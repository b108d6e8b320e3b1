/**
 * Runs the protocol suites on three relays behind nginx: `node e2e/cluster/protocol.ts stream|http [SUITE...]`, where a
 * suite is a file of e2e/protocol without `.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EXCEPTIONS, HTTP_SUITES } from './not-through-balancer.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENDING = '.test.ts';

const [kind, ...wanted] = process.argv.slice(2);
if (kind !== 'stream' && kind !== 'http') {
  console.error('usage: node e2e/cluster/protocol.ts stream|http [SUITE...]');
  process.exit(2);
}

const there = readdirSync(`${ROOT}e2e/protocol`)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length));
const left = new Set(EXCEPTIONS[kind].filter(({ titles }) => titles === undefined).map(({ suite }) => suite));
const suites =
  wanted.length > 0 ? wanted : (kind === 'http' ? HTTP_SUITES : there).filter((s) => !left.has(s));

console.log(`${suites.length} protocol suites through nginx (${kind}); left out:`);
for (const { suite, titles = ['everything'], reason } of EXCEPTIONS[kind])
  console.log(`  ${suite}: ${titles.join('; ')}: ${reason}`);

// Three, because many tests wait more than they work. Each file has its own process, so that suites do not affect each
// other.
const flags = ['--parallel', '--jobs', '3'];
const requires = ['on-postgres', `behind-${kind}`].flatMap((file) => [
  '--require',
  `./e2e/cluster/${file}.ts`,
]);
const files = suites.map((suite) => `e2e/protocol/${suite}${ENDING}`);
const mocha = ['node_modules/mocha/bin/mocha.js', ...flags, ...requires, ...files];
const { status } = spawnSync(process.execPath, mocha, { cwd: ROOT, stdio: 'inherit' });
process.exit(status ?? 1);
