import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { HASHES_AT_ONCE, HASHES_WAITING_MAX, HASHES_WAITING_OF_ONE_MAX } from '../limits.ts';
import { BusyError, PasswordHashes } from './password-hashes.ts';

describe('PasswordHashes', () => {
  let running: number;
  let most: number;
  /** what the next ones take */
  let work: Promise<void>;
  let hashes: PasswordHashes;

  beforeEach(() => {
    running = 0;
    most = 0;
    work = Promise.resolve();
    hashes = new PasswordHashes(async (password, salt) => {
      running += 1;
      most = Math.max(most, running);
      await work;
      running -= 1;
      return createHash('sha256').update(salt).update(password).digest();
    });
  });

  async function check(group: string): Promise<boolean> {
    return await hashes.matches('x', undefined, group);
  }

  it('say whether a password is the one that was hashed, each time with another salt', async () => {
    const [one, two] = await Promise.all([
      hashes.hash('mild oak fern', 'one'),
      hashes.hash('mild oak fern', 'one'),
    ]);
    assert.notEqual(one, two);
    assert.equal(await hashes.matches('mild oak fern', one, 'one'), true);
    assert.equal(await hashes.matches('mild oak ferm', one, 'one'), false);
    assert.equal(await hashes.matches('', one, 'one'), false);
  });

  it('are made with scrypt', async () => {
    const real = new PasswordHashes();
    const hash = await real.hash('mild oak fern', 'one');
    assert.match(hash, /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    assert.equal(await real.matches('mild oak fern', hash, 'one'), true);
    assert.equal(await real.matches('mild oak ferm', hash, 'one'), false);
  });

  it('take a letter with its accent for the same, composed or not', async () => {
    assert.equal(await hashes.matches('cafe\u0301', await hashes.hash('caf\u00e9', 'one'), 'one'), true);
  });

  it('say no where there is no hash, or one that is none', async () => {
    for (const hash of [undefined, '', 'plain', 'scrypt$1$8$1$AAAA$AAAA'])
      assert.equal(await hashes.matches('anything', hash, 'one'), false);
  });

  it('are made two at a time, and no more than 32 of one group wait, nor 1024 of all', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    work = promise;
    const under = Array.from({ length: HASHES_AT_ONCE + HASHES_WAITING_OF_ONE_MAX }, () => check('one'));
    await assert.rejects(check('one'), BusyError);
    for (let left = HASHES_WAITING_MAX - HASHES_WAITING_OF_ONE_MAX; left > 0; left -= 1)
      under.push(check(`other ${left}`));
    await assert.rejects(check('last'), BusyError);
    resolve();
    assert.deepEqual(new Set(await Promise.all(under)), new Set([false]));
    assert.equal(await check('one'), false);
    assert.equal(most, HASHES_AT_ONCE);
  });

  it('of groups take turns', async () => {
    const order: string[] = [];
    const inLine = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'];
    await Promise.all(inLine.map(async (group) => (await check(group)) || order.push(group)));
    assert.deepEqual(order, ['a', 'a', 'a', 'b', 'c', 'a', 'b', 'a']);
  });
});
