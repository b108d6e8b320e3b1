import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { type OptionProblem, optionProblem } from './command-options.ts';

const OPTIONS = { port: { type: 'string' }, json: { type: 'boolean', short: 'j' } } as const;

function problemOf(args: string[]): OptionProblem | undefined {
  const line = { args, options: OPTIONS, allowPositionals: true };
  return optionProblem(parseArgs({ ...line, strict: false, tokens: true }).tokens, OPTIONS);
}

describe('the options of a command line', () => {
  const cases: readonly (readonly [line: string, text: string | undefined])[] = [
    ['--port 1 x --json -j -- --prot', undefined],
    ['--port=-1 --port= --port -', undefined],
    ['--port', '--port needs a value'],
    ['--port -1', '--port needs a value'],
    ['--port --json', '--port needs a value'],
    ['--json=1', '--json takes no value'],
    ['--json --prot 1', 'Unknown option --prot'],
    ['-jx', 'Unknown option -x'],
    ['--constructor', 'Unknown option --constructor'],
  ];
  for (const [line, text] of cases)
    it(`are ${text ?? 'right'} in "${line}", as for Node's parser`, () => {
      const args = line.split(' ');
      const parse = (): unknown => parseArgs({ args, options: OPTIONS, allowPositionals: true });
      assert.equal(problemOf(args)?.text, text);
      if (text === undefined) parse();
      else assert.throws(parse);
    });

  it('are compared with those that exist', () => {
    assert.equal(problemOf(['--prot'])?.hint, 'Did you mean --port?');
    assert.equal(problemOf(['--colour'])?.hint, undefined);
  });
});
