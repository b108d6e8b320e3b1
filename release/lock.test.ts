import assert from 'node:assert/strict';
import { missingFromLock } from './lock.ts';

describe('missingFromLock', () => {
  it('names the packages of other systems that a lock file lacks', () => {
    const optionalDependencies = { '@x/linux': '1', '@x/darwin': '1', '@x/win32': '1' };
    const packages = { '': {}, 'node_modules/x': { optionalDependencies }, 'node_modules/@x/linux': {} };
    assert.deepEqual(missingFromLock({ packages }), ['@x/darwin', '@x/win32']);
    const whole = { ...packages, 'node_modules/@x/darwin': {}, 'node_modules/x/node_modules/@x/win32': {} };
    assert.deepEqual(missingFromLock({ packages: whole }), []);
  });
});
