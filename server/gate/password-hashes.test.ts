import assert from 'node:assert/strict';
import { HASHES_AT_ONCE, HASHES_WAITING_MAX } from '../limits.ts';
import { BusyError, PasswordHashes } from './password-hashes.ts';

describe('PasswordHashes', () => {
  let hashes: PasswordHashes;

  beforeEach(() => {
    hashes = new PasswordHashes();
  });

  it('say whether a password is the one that was hashed, each time with another salt', async () => {
    const [one, two] = await Promise.all([hashes.hash('mild oak fern'), hashes.hash('mild oak fern')]);
    assert.notEqual(one, two);
    assert.equal(await hashes.matches('mild oak fern', one), true);
    assert.equal(await hashes.matches('mild oak ferm', one), false);
    assert.equal(await hashes.matches('', one), false);
  });

  it('take a letter with its accent for the same, composed or not', async () => {
    assert.equal(await hashes.matches('cafe\u0301', await hashes.hash('caf\u00e9')), true);
  });

  it('say no where there is no hash, or one that is none', async () => {
    for (const hash of [undefined, '', 'plain', 'scrypt$1$8$1$AAAA$AAAA'])
      assert.equal(await hashes.matches('anything', hash), false);
  });

  it('are made two at a time, and no more than some wait', async () => {
    const under = Array.from({ length: HASHES_AT_ONCE + HASHES_WAITING_MAX }, () =>
      hashes.matches('x', undefined),
    );
    await assert.rejects(hashes.matches('x', undefined), BusyError);
    assert.deepEqual(new Set(await Promise.all(under)), new Set([false]));
    assert.equal(await hashes.matches('x', undefined), false);
  });
});
