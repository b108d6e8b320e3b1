import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  HASHES_AT_ONCE,
  HASHES_WAITING_MAX,
  HASHES_WAITING_OF_ONE_MAX,
  PasswordHashes,
} from './password-hashes.ts';
import { BusyError } from '../turnstile.ts';

const OWNER = { account: 'one', tunnel: 'its tunnel' };

describe('PasswordHashes', () => {
  let running: number;
  let most: number;
  /** what the next derivations wait for */
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

  async function check(account: string, tunnel = 'its tunnel'): Promise<boolean> {
    return await hashes.matches('x', undefined, { account, tunnel });
  }

  /** Makes those that begin from now on wait. */
  function holdBack(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    work = promise;
    return resolve;
  }

  it('recognize the hashed password, each time with another salt', async () => {
    const [one, two] = await Promise.all([
      hashes.hash('mild oak fern', OWNER),
      hashes.hash('mild oak fern', OWNER),
    ]);
    assert.notEqual(one, two);
    assert.equal(await hashes.matches('mild oak fern', one, OWNER), true);
    assert.equal(await hashes.matches('mild oak ferm', one, OWNER), false);
    assert.equal(await hashes.matches('', one, OWNER), false);
  });

  it('are created with scrypt', async () => {
    const real = new PasswordHashes();
    const hash = await real.hash('mild oak fern', OWNER);
    assert.match(hash, /^scrypt\$16384\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    assert.equal(await real.matches('mild oak fern', hash, OWNER), true);
    assert.equal(await real.matches('mild oak ferm', hash, OWNER), false);
  });

  it('treat composed and decomposed accents as equal', async () => {
    assert.equal(await hashes.matches('cafe\u0301', await hashes.hash('caf\u00e9', OWNER), OWNER), true);
  });

  it('match nothing if the hash is missing or malformed', async () => {
    for (const hash of [undefined, '', 'plain', 'scrypt$1$8$1$AAAA$AAAA'])
      assert.equal(await hashes.matches('anything', hash, OWNER), false);
  });

  it('are computed two at a time, and 32 of one account may wait', async () => {
    const release = holdBack();
    const under = Array.from({ length: HASHES_AT_ONCE + HASHES_WAITING_OF_ONE_MAX }, () => check('one'));
    await assert.rejects(check('one'), BusyError);
    release();
    assert.deepEqual(new Set(await Promise.all(under)), new Set([false]));
    assert.equal(await check('one'), false);
    assert.equal(most, HASHES_AT_ONCE);
  });

  it('of an account with many give way to another account when 1024 wait, the latest first', async () => {
    const release = holdBack();
    const floods = HASHES_WAITING_MAX / HASHES_WAITING_OF_ONE_MAX;
    const first = [check('flood 0'), check('flood 0')];
    const flooding = Array.from({ length: HASHES_WAITING_MAX }, (_, each) => check(`flood ${each % floods}`));
    const other = check('other');
    release();
    assert.equal(await other, false);
    const results = await done(flooding);
    assert.equal(results.filter((isDone) => !isDone).length, 1);
    assert.equal(results.slice(0, -floods).includes(false), false);
    assert.deepEqual(await done(first), [true, true]);
  });

  it('are refused to an account that has as many waiting as any other when 1024 wait', async () => {
    const release = holdBack();
    const each = Array.from({ length: HASHES_WAITING_MAX + HASHES_AT_ONCE }, (_, index) => check(`${index}`));
    await assert.rejects(check(`${HASHES_WAITING_MAX}`), BusyError);
    release();
    assert.deepEqual(new Set(await done(each)), new Set([true]));
  });

  it('of a tunnel with many give way to another tunnel of the account', async () => {
    const release = holdBack();
    const first = [check('one'), check('one')];
    const flooding = Array.from({ length: HASHES_WAITING_OF_ONE_MAX }, () => check('one', 'flooded'));
    const owner = check('one', '');
    release();
    assert.equal(await owner, false);
    assert.deepEqual(await done(first), [true, true]);
    assert.deepEqual(await done(flooding), [...flooding.slice(1).map(() => true), false]);
  });

  it('of accounts take turns, and so do those of the tunnels of an account', async () => {
    const order: string[] = [];
    const inLine = ['a1', 'a1', 'a1', 'a1', 'a2', 'b1', 'b1', 'c1'];
    const take = async ([account = '', tunnel = '']: string): Promise<void> => {
      await check(account, tunnel);
      order.push(account + tunnel);
    };
    await Promise.all(inLine.map(take));
    assert.deepEqual(order, ['a1', 'a1', 'a1', 'b1', 'c1', 'a2', 'b1', 'a1']);
  });
});

/** Whether each of the checks was completed, and not refused. */
async function done(checks: readonly Promise<boolean>[]): Promise<boolean[]> {
  return (await Promise.allSettled(checks)).map((result) => {
    if (result.status === 'rejected') assert.ok(result.reason instanceof BusyError);
    return result.status === 'fulfilled';
  });
}
