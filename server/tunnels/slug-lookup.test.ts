import assert from 'node:assert/strict';
import { LOOKUP_MISS_MS, LOOKUP_MISSES_MAX, LOOKUPS_MAX } from '../limits.ts';
import { type OwnedTunnel, StoreError, type TunnelKey } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aTunnel, anAccount } from '../testing/fixtures.ts';
import { SlugLookup } from './slug-lookup.ts';

describe('SlugLookup', () => {
  const account = anAccount();
  const web = { tunnel: aTunnel(account.id, { slug: 'web' }), account };
  let clock: FakeClock;
  let asked: string[];
  let answer: (slug: string) => Promise<OwnedTunnel | undefined>;
  let lookup: SlugLookup;

  beforeEach(() => {
    clock = new FakeClock();
    asked = [];
    answer = (slug) => Promise.resolve(slug === 'web' ? web : undefined);
    const findTunnel = (key: TunnelKey) => {
      const slug = 'slug' in key ? key.slug : '';
      asked.push(slug);
      return answer(slug);
    };
    lookup = new SlugLookup({ findTunnel }, clock);
  });

  it('asks the store once for all who want to know at the same time', async () => {
    const found = await Promise.all([lookup.find('web'), lookup.find('web'), lookup.find('web')]);
    assert.deepEqual([found, asked], [[web, web, web], ['web']]);
  });

  it('asks for nothing that can be no slug', async () => {
    for (const slug of ['', 'A', 'x', '..', 'a'.repeat(64)]) assert.equal(await lookup.find(slug), undefined);
    assert.deepEqual(asked, []);
  });

  it('believes for 5 s that there is no such tunnel, unless it is told of one', async () => {
    for (let time = 0; time < 3; time += 1) await lookup.find('none');
    assert.equal(asked.length, 1);
    lookup.forget('none');
    await lookup.find('none');
    assert.equal(asked.length, 2);
    clock.advance(LOOKUP_MISS_MS);
    await lookup.find('none');
    assert.equal(asked.length, 3);
  });

  it('does not believe an answer that is older than the word of a new tunnel', async () => {
    const late = Promise.withResolvers<undefined>();
    answer = () => late.promise;
    const early = lookup.find('new');
    lookup.forget('new');
    late.resolve(undefined);
    assert.equal(await early, undefined);
    answer = () => Promise.resolve(web);
    assert.equal(await lookup.find('new'), web);
  });

  it('remembers no more names than the limit, the latest', async () => {
    for (let name = 0; name <= LOOKUP_MISSES_MAX; name += 1) await lookup.find(`name-${name}`);
    asked = [];
    await lookup.find('name-0');
    await lookup.find(`name-${LOOKUP_MISSES_MAX}`);
    assert.deepEqual(asked, ['name-0']);
  });

  it('asks for no more at a time than the limit', async () => {
    answer = () => new Promise(() => {});
    for (let name = 0; name < LOOKUPS_MAX; name += 1) void lookup.find(`name-${name}`);
    await assert.rejects(lookup.find('more'), StoreError);
  });
});
