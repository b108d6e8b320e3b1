import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { limitYoungGeneration } from './young-generation.ts';

const MODULE = fileURLToPath(new URL('young-generation.ts', import.meta.url));
/** Makes young objects, some of which live on, and prints what V8 holds for them. */
const PROGRAM = `
  import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
  import { limitYoungGeneration } from ${JSON.stringify(MODULE)};
  if (process.argv[1] === 'limited') limitYoungGeneration(process, setFlagsFromString);
  const recent = [];
  for (let index = 0; index < 1_000_000; index += 1) recent[index % 20_000] = { index, more: [index] };
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  console.log(young.space_size / 1024 ** 2, recent.length);
`;

/** MiB that the program above holds for young objects. */
async function held(which: 'limited' | 'alone'): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    PROGRAM,
    which,
  ]);
  return Number.parseFloat(stdout);
}

describe('limitYoungGeneration', () => {
  it('keeps the memory for young objects about as it begins; V8 accepts that while it runs', async () => {
    const [limited, alone] = [await held('limited'), await held('alone')];
    // A start may have let it grow once or twice.
    assert.ok(limited <= 8 && limited < alone / 2, `${limited} MiB, and ${alone} without the limit`);
  });

  it('leaves the setting of the operator alone', () => {
    const flags: string[] = [];
    const setFlag = (flag: string): void => void flags.push(flag);
    limitYoungGeneration({ execArgv: ['--max-semi-space-size=16'], env: {} }, setFlag);
    limitYoungGeneration({ execArgv: [], env: { NODE_OPTIONS: '--max-semi-space-size=16' } }, setFlag);
    assert.deepEqual(flags, []);
    limitYoungGeneration({ execArgv: ['--no-warnings'], env: {} }, setFlag);
    assert.deepEqual(flags, ['--semi-space-growth-factor=1']);
  });
});
