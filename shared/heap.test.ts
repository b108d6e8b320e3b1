import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { limitOldGeneration, limitYoungGeneration } from './heap.ts';

const MODULE = fileURLToPath(new URL('./heap.ts', import.meta.url));
/** Creates garbage that outlives the young generation beside permanent data, and prints its later peak memory. */
const PROGRAM = `
  import v8 from 'node:v8';
  import { limitOldGeneration } from ${JSON.stringify(MODULE)};
  const things = (count) => Array.from({ length: count }, (_, index) => ({ index, more: [index] }));
  const kept = things(400_000);
  if (process.argv[1] === 'limited') limitOldGeneration(process.execArgv, v8);
  const recent = [];
  let most = 0;
  for (let round = 0; round < 3000; round += 1) {
    recent.push(things(1000));
    if (recent.length > 50) recent.shift();
    if (round > 2000) most = Math.max(most, process.memoryUsage().heapUsed);
  }
  console.log(most / 1024 ** 2, kept.length);
`;

/** What a program prints first, in MiB, with the limit and without it. */
async function printed(program: string, ...flags: string[]): Promise<[limited: number, alone: number]> {
  const run = async (which: string): Promise<number> => {
    const options = [...flags, '--input-type=module', '--eval', program, which];
    return Number.parseFloat((await promisify(execFile)(process.execPath, options)).stdout);
  };
  return [await run('limited'), await run('alone')];
}

/** The flags that are set for a heap. */
function flagsFor(megabytes: number, ...execArgv: string[]): string[] {
  const flags: string[] = [];
  limitOldGeneration(execArgv, {
    setFlagsFromString: (flag) => void flags.push(flag),
    getHeapStatistics: () => ({ used_heap_size: megabytes * 1024 ** 2 }),
  });
  return flags;
}

describe('limitOldGeneration', () => {
  it('limits the growth of the heap while V8 is running', async () => {
    const [limited, alone] = await printed(PROGRAM, '--max-semi-space-size=4');
    assert.ok(limited < 0.8 * alone, `${limited} MiB, and ${alone} without the limit`);
  });

  for (const [megabytes, percent] of [
    [4, 600],
    [16, 300],
    [48, 100],
    [500, 100],
  ] as const) {
    it(`lets a heap of ${megabytes} MB grow by ${percent} %`, () => {
      assert.deepEqual(flagsFor(megabytes), [`--heap-growing-percent=${percent}`]);
    });
  }

  it('respects the setting of the operator', () => {
    assert.deepEqual(flagsFor(16, '--heap-growing-percent=400'), []);
    assert.deepEqual(flagsFor(16, '--max-semi-space-size=4'), ['--heap-growing-percent=300']);
  });
});

/** Creates young objects, some of which survive, and prints the size of V8's young generation. */
const YOUNG_GENERATION_PROGRAM = `
  import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
  import { limitYoungGeneration } from ${JSON.stringify(MODULE)};
  if (process.argv[1] === 'limited') limitYoungGeneration(process, setFlagsFromString);
  const recent = [];
  for (let index = 0; index < 1_000_000; index += 1) recent[index % 20_000] = { index, more: [index] };
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  console.log(young.space_size / 1024 ** 2, recent.length);
`;

describe('limitYoungGeneration', () => {
  it('keeps the young generation near its initial size while V8 is running', async () => {
    const [limited, alone] = await printed(YOUNG_GENERATION_PROGRAM);
    assert.ok(limited < alone / 2, `${limited} MiB, and ${alone} without the limit`);
  });

  it('respects the setting of the operator', () => {
    const flags: string[] = [];
    const setFlag = (flag: string): void => void flags.push(flag);
    limitYoungGeneration({ execArgv: ['--max-semi-space-size=16'], env: {} }, setFlag);
    limitYoungGeneration({ execArgv: [], env: { NODE_OPTIONS: '--max-semi-space-size=16' } }, setFlag);
    assert.deepEqual(flags, []);
    limitYoungGeneration({ execArgv: ['--no-warnings'], env: {} }, setFlag);
    assert.deepEqual(flags, ['--semi-space-growth-factor=1']);
  });
});
