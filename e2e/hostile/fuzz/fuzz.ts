/** `npx node e2e/hostile/fuzz/fuzz.ts [--count N] [--seed N] [--from N] [--http2 | --hpack]`: the fuzzer by hand, for as long as you like. */
import { parseArgs } from 'node:util';
import { Scope } from '../../support/scope.ts';
import { Fuzzer } from './fuzzer.ts';
import { compareHpack } from './hpack.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    from: { type: 'string', default: '0' },
    http2: { type: 'boolean', default: false },
    hpack: { type: 'boolean', default: false },
  },
});
const [count, seed, from] = [values.count, values.seed, values.from].map(Number);
if (![count, seed, from].every(isWhole)) {
  console.error('--count, --seed and --from take whole numbers');
  process.exit(2);
}

if (values.hpack) {
  const refused = compareHpack({ count: count ?? 0, seed: seed ?? 0, from: from ?? 0 });
  console.log(`${count} cases, seed ${seed}: no difference, ${refused} refused`);
  process.exit();
}

const scope = new Scope();
try {
  const fuzzer = await Fuzzer.start(scope, values.http2 ? '2' : '1.1');
  console.log(`${count} mutations, seed ${seed}, from ${from}`);
  const started = performance.now();
  const counts = await fuzzer.run({ count: count ?? 0, seed: seed ?? 0, from: from ?? 0 }, (next) => {
    const done = next - (from ?? 0);
    if (done % 10_000 === 0)
      console.log(`${done} done, ${Math.round((performance.now() - started) / 1000)} s`);
  });
  console.table(counts);
  console.log('0 requests seen that were not counted');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await scope.end();
}

function isWhole(value: number | undefined): boolean {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0;
}
