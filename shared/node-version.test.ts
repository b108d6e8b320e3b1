import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { nodeProblem } from './node-version.ts';

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  engines: { node: string };
};
const oldest = engines.node.replace(/^>=/, '');

describe('nodeProblem', () => {
  it('describes an old Node in one line, and where to get a newer one', () => {
    for (const version of ['0.10.48', '12.22.12', '16.20.2', '18.19.0', '20.20.2', '21.7.3', '22.12.0']) {
      const problem = nodeProblem('culvert', version) ?? assert.fail(version);
      assert.ok(
        problem.startsWith(`culvert: needs Node ${oldest} or newer, and this is ${version};`),
        problem,
      );
      assert.ok(!problem.includes('\n') && problem.includes('https://nodejs.org/'), problem);
    }
  });

  it('accepts versions that package.json allows', () => {
    for (const version of [`${oldest}.0`, '22.20.0', '23.0.0', '24.21.0', '100.0.0'])
      assert.equal(nodeProblem('culvert', version), undefined, version);
  });
});
