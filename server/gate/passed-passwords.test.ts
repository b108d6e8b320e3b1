import assert from 'node:assert/strict';
import { PASSED_PASSWORDS_MAX } from '../limits.ts';
import { PassedPasswords } from './passed-passwords.ts';

describe('PassedPasswords', () => {
  const ann = { user: 'ann', password: 'fern' };

  it('knows those that were right for one access, and nothing that only looks alike', () => {
    const passed = new PassedPasswords();
    assert.equal(passed.has('v1', ann), false);
    passed.add('acme', 'v1', ann);
    assert.equal(passed.has('v1', ann), true);
    for (const [version, credentials] of [
      ['v2', ann],
      ['v1', { user: 'ann', password: 'ferns' }],
      ['v1', { user: 'an', password: 'nfern' }],
      ['v1', { user: '', password: 'fern' }],
    ] as const)
      assert.equal(passed.has(version, credentials), false, JSON.stringify([version, credentials]));
  });

  it('forgets the oldest beyond 10,000', () => {
    const passed = new PassedPasswords();
    passed.add('acme', 'v1', ann);
    for (let index = 0; index < PASSED_PASSWORDS_MAX; index += 1)
      passed.add('acme', 'v1', { user: 'ann', password: String(index) });
    assert.equal(passed.has('v1', ann), false);
    assert.equal(passed.has('v1', { user: 'ann', password: '0' }), true);
  });

  it('keeps those of an account when another one fills it with its own', () => {
    const passed = new PassedPasswords();
    passed.add('other', 'v1', ann);
    for (let index = 0; index <= PASSED_PASSWORDS_MAX; index += 1)
      passed.add('acme', 'v2', { user: 'ann', password: String(index) });
    assert.equal(passed.has('v1', ann), true);
  });
});
