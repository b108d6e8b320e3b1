/**
 * Runs the protocol suites through a proxy: `node e2e/cluster/protocol.ts stream|http|h2 [SUITE...]`, where a suite is a
 * file of e2e/protocol without `.test.ts`. `stream` and `http`: on three relays behind nginx. `h2`: on one relay, whose
 * visitors arrive over HTTP/2.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EXCEPTIONS, HTTP2_SUITES, HTTP_SUITES } from './not-through-balancer.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENDING = '.test.ts';

const [kind, ...wanted] = process.argv.slice(2);
if (kind !== 'stream' && kind !== 'http' && kind !== 'h2') {
  console.error('usage: node e2e/cluster/protocol.ts stream|http|h2 [SUITE...]');
  process.exit(2);
}

const there = readdirSync(`${ROOT}e2e/protocol`)
  .filter((name) => name.endsWith(ENDING))
  .map((name) => name.slice(0, -ENDING.length));
const left = new Set(EXCEPTIONS[kind].filter(({ titles }) => titles === undefined).map(({ suite }) => suite));
const known = { stream: there, http: HTTP_SUITES, h2: HTTP2_SUITES };
const suites = wanted.length > 0 ? wanted : known[kind].filter((s) => !left.has(s));

console.log(`${suites.length} protocol suites through a proxy (${kind}); left out:`);
for (const { suite, titles = ['everything'], reason } of EXCEPTIONS[kind])
  console.log(`  ${suite}: ${titles.join('; ')}: ${reason}`);

// Three, because many tests wait more than they work. Each file has its own process, so that suites do not affect each
// other.
const flags = ['--parallel', '--jobs', '3'];
const hooks = kind === 'h2' ? ['behind-h2'] : ['on-postgres', `behind-${kind}`];
const requires = hooks.flatMap((file) => ['--require', `./e2e/cluster/${file}.ts`]);
const files = suites.map((suite) => `e2e/protocol/${suite}${ENDING}`);
const mocha = ['node_modules/mocha/bin/mocha.js', ...flags, ...requires, ...files];
const { status } = spawnSync(process.execPath, mocha, { cwd: ROOT, stdio: 'inherit' });
process.exit(status ?? 1);
