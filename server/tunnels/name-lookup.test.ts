import assert from 'node:assert/strict';
import { NAME_PATTERN } from '../../shared/value-rules.ts';
import type { OwnedTunnel } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aTunnel } from '../testing/fixtures.ts';
import {
  LOOKUP_BATCH,
  LOOKUP_MISS_MS,
  LOOKUP_MISSES_MAX,
  LOOKUPS_MAX,
  LOOKUPS_WAITING_MAX,
  NameLookup,
} from './name-lookup.ts';

describe('NameLookup', () => {
  const account = anAccount();
  const web = { tunnel: aTunnel(account.id, { slug: 'web' }), account };
  let clock: FakeClock;
  /** number of slugs in each query */
  let asked: string[];
  let questions: number[];
  let answer: (slugs: readonly string[]) => Promise<OwnedTunnel[]>;
  let lookup: NameLookup<OwnedTunnel>;

  function known(slugs: readonly string[]): Promise<OwnedTunnel[]> {
    return Promise.resolve(slugs.includes('web') ? [web] : []);
  }

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    questions = [];
    answer = known;
    const ask = async (slugs: readonly string[]) => {
      asked.push(...slugs);
      questions.push(slugs.length);
      return new Map((await answer(slugs)).map((owned) => [owned.tunnel.slug, owned]));
    };
    lookup = new NameLookup({ ask, isPossible: (name) => NAME_PATTERN.test(name), clock });
  });

  it('queries the store once for simultaneous lookups, and never for an invalid slug', async () => {
    for (const slug of ['', 'A', 'x', '..', 'a'.repeat(64)]) assert.equal(await lookup.find(slug), undefined);
    const found = await Promise.all([lookup.find('web'), lookup.find('web'), lookup.find('web')]);
    assert.deepEqual([found, asked], [[web, web, web], ['web']]);
  });

  it('remembers for 5 s that there is no such tunnel, unless notified of one', async () => {
    for (let time = 0; time < 3; time += 1) await lookup.find('none');
    assert.equal(asked.length, 1);
    lookup.forget('none');
    await lookup.find('none');
    assert.equal(asked.length, 2);
    clock.advance(LOOKUP_MISS_MS);
    await lookup.find('none');
    assert.equal(asked.length, 3);
  });

  it('ignores an answer that is older than the notification of a new tunnel', async () => {
    const late = Promise.withResolvers<OwnedTunnel[]>();
    answer = () => late.promise;
    const early = lookup.find('new');
    lookup.forget('new');
    late.resolve([]);
    assert.equal(await early, undefined);
    const made = { tunnel: aTunnel(account.id, { slug: 'new' }), account };
    answer = () => Promise.resolve([made]);
    assert.equal(await lookup.find('new'), made);
  });

  it('remembers the latest names up to the limit', async () => {
    for (let name = 0; name <= LOOKUP_MISSES_MAX; name += 1) await lookup.find(`name-${name}`);
    asked = [];
    await lookup.find('name-0');
    await lookup.find(`name-${LOOKUP_MISSES_MAX}`);
    assert.deepEqual(asked, ['name-0']);
  });

  /** Occupies the store with as many queries as allowed. */
  function occupy(): () => void {
    const free = Promise.withResolvers<OwnedTunnel[]>();
    answer = () => free.promise;
    for (let name = 0; name < LOOKUPS_MAX; name += 1) void lookup.find(`busy-${name}`);
    answer = known;
    return () => free.resolve([]);
  }

  it('limits concurrent queries, and combines new lookups in the meantime', async () => {
    const release = occupy();
    const found = Promise.all(['a1', 'web', 'b1', 'web'].map((slug) => lookup.find(slug)));
    assert.equal(questions.length, LOOKUPS_MAX);
    release();
    assert.deepEqual(await found, [undefined, web, undefined, web]);
    assert.deepEqual(questions.slice(LOOKUPS_MAX), [3]);
  });

  it('answers lookups after a flood of nonexistent names, within as many queries as the flood needs', async () => {
    const release = occupy();
    for (let name = 0; name < 3 * LOOKUP_BATCH; name += 1) void lookup.find(`flood-${name}`);
    const found = lookup.find('web');
    release();
    assert.equal(await found, web);
    assert.deepEqual(questions.slice(LOOKUPS_MAX), [LOOKUP_BATCH, LOOKUP_BATCH, LOOKUP_BATCH, 1]);
  });

  it('limits the number of waiting names', async () => {
    const release = occupy();
    const names = Array.from({ length: LOOKUPS_WAITING_MAX }, (_, index) => `name-${index}`);
    const waiting = names.map((name) => lookup.find(name));
    await assert.rejects(lookup.find('more'), StoreError);
    release();
    await Promise.all(waiting);
    assert.equal(await lookup.find('web'), web);
  });

  it('fails all waiting lookups if the store fails, and queries it again for the next', async () => {
    answer = () => Promise.reject(new StoreError(new Error('gone')));
    await assert.rejects(Promise.all([lookup.find('web'), lookup.find('web')]), StoreError);
    answer = known;
    assert.equal(await lookup.find('web'), web);
  });
});
