import assert from 'node:assert/strict';
import { readHome, updatesAddress } from '../../release/home.ts';
import { builderArguments, builderEnvironment } from './builder.ts';

describe('electron-builder', () => {
  it('is told where updates are, publishes nothing, and takes more arguments', () => {
    const args = builderArguments(['--dir']);
    assert.ok(args.includes(`-c.publish.url=${updatesAddress(readHome())}`));
    assert.equal(args[args.indexOf('--publish') + 1], 'never');
    assert.equal(args.at(-1), '--dir');
  });

  it('gets no secrets that are empty', () => {
    assert.deepEqual(builderEnvironment({ CSC_LINK: '', PATH: '/bin' }), { PATH: '/bin' });
  });
});
