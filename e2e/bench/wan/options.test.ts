import assert from 'node:assert/strict';
import { PROFILES, readOptions, TESTS } from './options.ts';

describe('readOptions', () => {
  it('chooses three rounds of everything by default', () => {
    const options = { rounds: 3, profiles: Object.keys(PROFILES), tests: Object.keys(TESTS), isWhole: true };
    assert.deepEqual(readOptions([]), options);
    assert.deepEqual(readOptions(['--rounds', '5']), { ...options, rounds: 5 });
  });

  it('accepts several profiles and tests, and keeps them in the order of the results', () => {
    const args = ['--profile', 'mobile', '--profile', 'home', '--only', 'sse', '--only', 'page'];
    const { profiles, tests, isWhole } = readOptions(args);
    assert.deepEqual([profiles, tests, isWhole], [['home', 'mobile'], ['page', 'sse'], false]);
  });

  it('chooses one round of two tests for a short run, unless told otherwise', () => {
    const short = { rounds: 1, profiles: ['home'], tests: ['requests', 'first-byte'], isWhole: false };
    assert.deepEqual(readOptions(['--short']), short);
    assert.deepEqual(readOptions(['--short', '--profile', 'far']), { ...short, profiles: ['far'] });
  });

  for (const [args, error] of [
    [['--rounds', '0'], /--rounds must be a whole number from 1 to 20, not 0\./],
    [['--rounds', 'many'], /not many\./],
    [['--profile', 'moon'], /--profile must be one of home, far, mobile, not moon\./],
    [['--only', 'nothing'], /--only must be one of page, .*, move, not nothing\./],
    [['--fast'], /--fast/],
  ] as const) {
    it(`rejects ${args.join(' ')}`, () => {
      assert.throws(() => readOptions(args), error);
    });
  }
});

describe('PROFILES', () => {
  it('have a delay, a rate and a queue in each direction', () => {
    for (const { visitor, client } of Object.values(PROFILES)) {
      for (const direction of [...visitor, ...client]) {
        assert.match(direction, /^delay=\d+,(jitter=\d+,)?rate=\d+,queue=\d+(,loss=[\d.]+)?$/);
      }
    }
  });
});
