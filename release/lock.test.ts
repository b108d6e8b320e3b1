import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, missingFromLock } from './lock.ts';
import { ROOT } from './repository.ts';

const WHOLE = { resolved: 'https://registry.example/x.tgz', integrity: 'sha512-x' };

describe('missingFromLock', () => {
  it('returns packages of other systems that a lock file lacks', () => {
    const optionalDependencies = { '@x/linux': '1', '@x/darwin': '1', '@x/win32': '1' };
    const packages = { '': {}, 'node_modules/x': { optionalDependencies }, 'node_modules/@x/linux': WHOLE };
    assert.deepEqual(missingFromLock({ packages }), ['@x/darwin', '@x/win32']);
    const rest = { 'node_modules/@x/darwin': WHOLE, 'node_modules/x/node_modules/@x/win32': WHOLE };
    assert.deepEqual(missingFromLock({ packages: { ...packages, ...rest } }), []);
  });

  it('returns packages without an address or a digest', () => {
    const { resolved, integrity } = WHOLE;
    const packages = {
      'node_modules/x': { optionalDependencies: { a: '1', b: '1' } },
      'node_modules/a': { resolved },
      'node_modules/b': { integrity },
    };
    assert.deepEqual(missingFromLock({ packages }), ['a', 'b']);
  });

  it('returns nothing for the lock file of this project', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    assert.deepEqual(missingFromLock(lock), []);
    const described = Object.values(lock.packages).flatMap(({ optionalDependencies = {} }) =>
      Object.keys(optionalDependencies),
    );
    assert.ok(described.length > 50, 'the file names packages for other systems');
  });
});
