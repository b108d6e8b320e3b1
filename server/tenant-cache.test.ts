import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { TenantCache } from './tenant-cache.ts';

describe('TenantCache', () => {
  it('evicts the oldest entry of the tenant with the most when it is full', () => {
    const cache = new TenantCache<number>(4);
    cache.set('ann', 'a1', 1);
    for (const key of ['b1', 'b2', 'b3', 'b4', 'b5']) cache.set('bob', key, 2);
    assert.deepEqual(
      [cache.get('a1'), cache.get('b1'), cache.get('b2'), cache.get('b3')],
      [1, undefined, undefined, 2],
    );
    cache.set('ann', 'a2', 3);
    assert.deepEqual(
      [cache.get('a1'), cache.get('a2'), cache.get('b3'), cache.get('b4')],
      [1, 3, undefined, 2],
    );
  });

  it('replaces the value of a key, and can be cleared', () => {
    const cache = new TenantCache<number>(2);
    cache.set('ann', 'key', 1);
    cache.set('bob', 'key', 2);
    assert.deepEqual([cache.size, cache.get('key')], [1, 2]);
    cache.clear();
    assert.deepEqual([cache.size, cache.get('key')], [0, undefined]);
    cache.set('ann', 'key', 3);
    assert.equal(cache.get('key'), 3);
  });

  it('never evicts an entry of a tenant within its share', () => {
    const max = 12;
    const tenants = ['a', 'b', 'c', 'd'];
    const step = fc.record({ tenant: fc.constantFrom(...tenants), key: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const cache = new TenantCache<string>(max);
        /** the latest keys of each tenant, as many as are safe from eviction */
        const safe = new Map<string, string[]>(tenants.map((tenant) => [tenant, []]));
        for (const { tenant, key } of steps) {
          const name = `${tenant}${key}`;
          cache.set(tenant, name, tenant);
          const kept = [...(safe.get(tenant) ?? []).filter((other) => other !== name), name];
          safe.set(tenant, kept.slice(-max / tenants.length));
          assert.ok(cache.size <= max);
          for (const [owner, keys] of safe) for (const own of keys) assert.equal(cache.get(own), owner);
        }
      }),
    );
  });
});
