import assert from 'node:assert/strict';
import { readRepository, updatesAddress } from '../../release/repository.ts';
import { builderArguments, builderEnvironment } from './build.ts';

describe('electron-builder', () => {
  it('gets the update address, publishes nothing, and accepts more arguments', () => {
    const args = builderArguments(['--dir']);
    assert.ok(args.includes(`-c.publish.url=${updatesAddress(readRepository())}`));
    assert.equal(args[args.indexOf('--publish') + 1], 'never');
    assert.equal(args.at(-1), '--dir');
  });

  it('gets no empty secrets', () => {
    assert.deepEqual(builderEnvironment({ CSC_LINK: '', PATH: '/bin' }), { PATH: '/bin' });
  });
});
